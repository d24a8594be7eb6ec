# SPDX-License-Identifier: BSD-3-Clause
"""Small messages among more ranks than share one mailbox: groups of ranks, and grids for Alltoall. A rank that does not come
is named, and one that dies ends the job."""

from rows import *

MAILBOX = "^count coll_gpuring_algorithm_mailbox [1-9]"
test_rows = table(
    row("$np ranks: $levels levels, $x x $y", "$n", f"verbose=2 -- groups {depth(1, 3)}", good_through_gpuring, MAILBOX,
        of_row(lambda v: seen(f": mailbox in groups on {v.levels} levels")),
        of_row(lambda v: seen(f"alltoall on .*: mailbox in {v.x} rows of {v.y}")), rows="""n levels x y
16 2 4 4
|
10 2 2 5
17 2 1 17
40 2 5 8
64 2 8 8
80 3 8 10"""),
    row("barrier, $np ranks", "12 | 20", "barrier $work/flags 1", good_through_gpuring, MAILBOX),
    row("12 ranks, no mailboxes", 12, "mailbox_bytes=0 -- groups 1"),
    row("12 ranks, a progress thread", "| 12", "progress_thread=1 -- groups 2"),
    row("12 ranks, mailboxes of 64 bytes", "| 12", "mailbox_bytes=64 -- groups 2"),
    row("storms of small messages, 12 ranks", "| 12", "smallring 1"),
    # an Ialltoall like one before it, in the op of another collective
    row("12 ranks, calls that are done again", 12,
        "random_programs --seed=1 --count=3 --profile=eight,again --no-comms --max-bytes=300"),
)


def test_late(mpi):
    if not in_all:
        return
    # ranks 0, 4, ... lead groups of 4; the stopped one is the second of the first
    first = r"mailbox, level 0, step 1 \(take\), waits for rank 1"
    job = mpi.start(12, f"timeout=5 -- barrier {WORK}/flags stop")
    job.check("a rank that does not come is named", f"gpuring: rank 0 of .* waits.* barrier.* sequence.* {first}", within=120)
    job.check("    and the leader of another group waits for the first",
              r"gpuring: rank 4 of .* waits.* barrier.* mailbox, level 1, step 0 \(take\), waits for rank 0", within=60)
    job.resume().check("    and the barrier ends when it comes", good_through_gpuring)
    job = mpi.start(12, f"{stock_segments} timeout=5 -- stall stop allreduce 3 nonblocking")
    named = f"gpuring: rank 0 of .* waits.* allreduce.* {first}"
    job.check("nonblocking, a rank that does not come is named", named, within=120)
    job.resume().check("    and all finish right when it comes", good_through_gpuring)
    job = mpi.start(12, f"{stock_segments} --enable-recovery timeout=5 -- stall kill allreduce")
    job.check("a killed rank is named", named, within=120)
    job.kill()
