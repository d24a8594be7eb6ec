# SPDX-License-Identifier: BSD-3-Clause
"""Persistent collectives: made in one order, started in any, also when there are not enough links for all."""

from rows import *

PROFILE = "--profile=persistent"
test_rows = table(
    programs("persistent", "5 | 2 3 4 8", PROFILE, seconds=2),
    programs("persistent, the eight", "5 | 2 3 4 8", f"{PROFILE},eight --no-user-ops --no-comms", all_taken),
    row("many requests, and types freed once they are made, $np ranks", "5 | 2 3 4 8", "persistent types"),
    programs("persistent, $a, small slots", 4,
             f"algorithm=$a channels=2 slots=2 slot_bytes=512 -- {PROFILE},types --max-bytes=40000", seconds=2,
             a="tree | auto ring chain flat mailbox"),
    row("a program's first request, of one byte", 3, "verbose=2 -- persistent first", all_good,
        "gpuring: bcast on MPI_COMM_WORLD"),
    row("a pool of 1 MiB: right results", 4, "pool_mib=1 -- persistent", all_good),
    programs("persistent, with a thread", "| 3", f"progress_thread=1 -- {PROFILE}", seconds=2),
)
