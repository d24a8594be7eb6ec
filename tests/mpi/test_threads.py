# SPDX-License-Identifier: BSD-3-Clause
"""Threads that call collectives at the same time on communicators of their own, and threads that wait for what
others have posted."""

from rows import *

OPTIONS = threads_apart
SMALL = "algorithm=tree channels=2 slots=2 slot_bytes=1024"
test_rows = table(
    programs("threads", "3 | 2 4", "--threads=3 --profile=eight"),
    row("threads, all forms, $np ranks", "3 | 2 4", "nbthreads 8"),
    programs("threads, tree, small slots", "| 3", f"{SMALL} -- --threads=3 --profile=eight --max-bytes=40000", seconds=2),
    row("threads, all forms, tree, small slots", 3, f"{SMALL} -- nbthreads 6"),
    row("threads, all forms, with a progress thread", 2, "progress_thread=1 -- nbthreads 6"),
)
