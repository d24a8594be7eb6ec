# SPDX-License-Identifier: BSD-3-Clause
"""Small messages: storms of them among ranks of which some are slow, and no allocation in a warm call."""

from rows import *

test_rows = table(
    row("storms of small messages, $np ranks", "3 | 2 4", f"smallring {depth(1, 2)}"),
    row("storms of small messages, $np ranks", "| 5 8", "smallring 1"),
    row("storms of small messages, $a, small slots", 3,
        "algorithm=$a channels=2 slots=2 slot_bytes=512 -- smallring 1", a="| mailbox ring chain tree flat"),
    row("calls that are nearly alike, $np ranks", "3 9 | 2 16", "alike"),
    row("no allocations, $np ranks", "2 | 3", f"nomalloc {depth(200, 1000)}"),
    row("no allocations, $a", 3, "algorithm=$a -- nomalloc 200", a="chain mailbox | ring tree flat"),
)
