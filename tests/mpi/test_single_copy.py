# SPDX-License-Identifier: BSD-3-Clause
"""Single copy that the kernel refuses in the middle of a job: calls are right, and each process says it once at most."""

from rows import *

# Where the memory of a rank cannot be opened any more, new persistent requests are left to Open MPI, which then must not
# read it either: 4.1, and later series.
OPTIONS = "--mca btl_vader_single_copy_mechanism none --mca smsc ^cma"
SAYS = "gpuring: rank [0-9]+ of MPI_COMM_WORLD .*cannot read the memory of rank [0-9]+"
FORBIDDEN = r".*process_vm_readv: Operation not permitted\. The kernel forbids it"
UNREADABLE = r".*process_vm_readv: Bad address\. Other processes cannot read this memory"


def said(least, most, pattern):
    """That many processes say so."""
    return (good_through_gpuring, f"cannot read the memory of {pattern}",
            wants(lambda job: least <= len(job.lines(SAYS)) <= most, f"{least} to {most} lines"))


def refused(text, np, how, *judges, options="", **more):
    """how: lost rights, and the rank. seccomp: it cannot read the others, not dumpable: the others cannot read it."""
    return row(text, np, f"{options} -- refused {how} {depth(1, 4)}", *judges, **more)


SECRET = "GPURING_MEMORY=secret"
NO_SECRET = Runner(options=OPTIONS).run(1, f"{SECRET} GR_HOST=0 -- refused nothing -1 0").rc

test_rows = table(
    refused("two ranks, no right is lost", 2, "nothing -1", good_through_gpuring, lines_seen(0, SAYS)),
    refused("three ranks, seccomp on rank 1", 3, "seccomp 1", *said(1, 1, f"rank [02] {FORBIDDEN}")),
    refused("two ranks, seccomp on both", 2, "seccomp -1", *said(2, 2, f"rank [01] {FORBIDDEN}")),
    refused("two ranks, rank 0 not dumpable", 2, "dumpable 0", *said(1, 1, f"rank 0 {FORBIDDEN}")),
    refused("four ranks, seccomp on all", "| 4", "seccomp -1", *said(4, 4, f"rank {FORBIDDEN}")),
    refused("four ranks, none dumpable", "| 4", "dumpable -1", *said(4, 4, f"rank {FORBIDDEN}")),
    refused("three ranks, seccomp on all, a progress thread", "| 3", "seccomp -1", options="progress_thread=1"),
    refused("three ranks, seccomp on all, $a, short slots", 3, "seccomp -1", *said(3, 3, f"rank {FORBIDDEN}"),
            options="algorithm=$a slot_bytes=8192", a="| ring tree flat chain"),
    refused("three ranks, seccomp on all, timed steps", "| 3", "seccomp -1", *said(3, 3, f"rank {FORBIDDEN}"),
            options="step_sync=barrier"),
)
# memory that no other process may read
test_secret = table(row("secret memory", 1, "", why="the kernel has no memfd_secret, or too little memory may be locked")
                    ) if NO_SECRET else table(
    *[refused(f"{np} ranks, secret memory", f"| {np}", "nothing -1",
              *said(np, np, f"rank {UNREADABLE}"), options=SECRET) for np in (2, 3, 4)],
    refused("three ranks, secret memory on rank 0", 3, "nothing -1", *said(1, 2, f"rank 0 {UNREADABLE}"),
            wrapper=each_rank(f'[ "$OMPI_COMM_WORLD_RANK" != 0 ] || export {SECRET}')),
    row("persistent requests, secret memory", "| 3", f"{SECRET} --mca op ^avx -- eight_in persistent"),
    row("nonblocking calls, secret memory", "| 3", f"{SECRET} --mca op ^avx -- eight_in nonblocking"),
)
