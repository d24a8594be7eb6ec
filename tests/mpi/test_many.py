# SPDX-License-Identifier: BSD-3-Clause
"""Many ranks: links that would need much memory are not made for small calls. Few ranks, with a bound of 0, stand for
many."""

from rows import *

MEMORY = "^count coll_gpuring_handover_memory [1-9]"
LEFT = good_through_gpuring, MEMORY
test_rows = table(
    row("4 ranks, links of one rank each: right, and what needs more falls back", 4,
        "setup_mib=0 mailbox_bytes=0 -- many 1", *LEFT),
    row("3 ranks, flat is asked for", 3, "setup_mib=0 mailbox_bytes=0 algorithm_allreduce=flat -- many 1", *LEFT, also={
        "    and a line names the parameter, once": lines_seen(
            1, "gpuring: flat for allreduce on MPI_COMM_WORLD needs 512 KiB .* coll_gpuring_setup_mib = 0 MiB")}),
    row("4 ranks, default bound: nothing falls back", 4, "mailbox_bytes=0 verbose=2 -- many 4", good_through_gpuring,
        f"!{MEMORY}", also={
        "    and each set-up says what it needs": "gpuring: set-up of pairwise on MPI_COMM_WORLD: "
        "up to 3 links and 5 messages of a rank, 769 KiB per rank"}),
    row("3 ranks, many communicators at a time: no call falls back", 3, f"limits alive {depth(1500, 6000)}",
        good_through_gpuring, "^# gpuring calls [0-9]* handovers 0"),
    row("64 ranks", "| 64", "many 4"),
)
