# SPDX-License-Identifier: BSD-3-Clause
"""Calls that do not match: all ranks get an error and no wrong result, and a line names both calls."""

from rows import *

ABORT = "timeout=5 timeout_abort=1"
BOARDS = f"algorithm=mailbox {ABORT} --"


def names_both(communicator, call, expected, other):
    """Rank 1 names its call and that of rank 0, which hears of it."""
    return f"gpuring: rank 1 of {communicator} has failed: {call}, sequence 8: expects {expected} of rank 0, " \
        rf"which calls {other}\."


test_rows = table(
    row("on boards, $np ranks", "3 | 2 9", f"{BOARDS} mismatch", also={
        "bcast of other sizes, $np ranks: both are named":
            names_both("bcast, fewer", "bcast", "360 bytes, root 0", "bcast: 400 bytes, root 0"),
        "bcast of other sizes, $np ranks: the root is told":
            r"gpuring: rank 0 of bcast, fewer: rank 1 has failed \(bcast, .*360 bytes",
        "allreduce and barrier, $np ranks: both are named":
            names_both("allreduce, barrier", "barrier", "1 bytes", "allreduce: 400 bytes")}),
    row("on boards of groups, $np ranks", "10 | 17", f"{BOARDS} mismatch 40"),
    # All are too large for boards. In slots with copies, and where messages are fetched from the sender.
    row("through slots, 3 ranks, single copy $on", 3, f"mailbox_bytes=0 {ABORT} single_copy=$on -- mismatch 100000 same",
        on="0 1", also={"single copy $on: both are named":
            names_both("bcast, fewer", "bcast", "360000 bytes, root 0", "bcast: 400000 bytes, root 0")}),
)


def test_wait(mpi):
    """One waits for a post, the other one for links: nothing of the one's call reaches the other."""
    job = mpi.start(2, f"{stock_segments} timeout=1 -- mismatch 100 wait")
    job.check("a small and a large allreduce: each rank says what it waits in",
              "gpuring: rank 0 of .* waits .* in allreduce, .*: 400 bytes, ",
              "gpuring: rank 1 of .* waits .* in allreduce, .*: 4000000 bytes, ", within=60)
    job.kill()
