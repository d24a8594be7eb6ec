# SPDX-License-Identifier: BSD-3-Clause
"""Communicators that come and go with late ranks: right results, and nothing grows."""

from rows import *

test_rows = table(
    row("communicators come and go, $np ranks", "3 | 2 4 8", "lifecycle 80"),
    row("communicators come and go, $a", 4, "algorithm=$a channels=2 -- lifecycle 60", a="tree | ring chain flat"),
    # A pool that is too small: calls on communicators without links fall back, on all ranks alike.
    row("a pool of 1 MiB: right results", 4, "pool_mib=1 -- lifecycle 40", all_good, also={
        "a pool of 1 MiB: some calls fall back": "^# gpuring calls [0-9]+ handovers [1-9]",
        "a pool of 1 MiB: the limit is named": "coll_gpuring_pool_mib"}),
)
