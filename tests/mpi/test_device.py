# SPDX-License-Identifier: BSD-3-Clause
"""Buffers on devices, on the fake CUDA driver: every collective, type, operation, form and kind of memory is right."""

from rows import *
from rows.devices import *

ENV = DEVICES | {"GPURING_MEMORY": "mixed"}
SHORT = depth(1, 4)
test_rows = table(
    row("everything, $np ranks, $memory memory", "3 | 2 5", f"GPURING_MEMORY=$memory {SMALL} -- {ANY_CASE}",
        good_on_devices, memory="device mixed"),
    row("everything, 3 ranks, $memory memory", 3, f"GPURING_MEMORY=$memory {SMALL} -- {ANY_CASE}", all_good,
        memory="vmm | managed pool pinned other registered"),
    row("every type with every operation, $np ranks", "2 | 4",
        f"GPURING_MEMORY=device {SMALL} -- eight_in every --count=0 --beyond", good_on_devices),
    programs("$profile", 3, f"{SMALL} -- --profile=$profile", good_on_devices, seconds=SHORT,
             profile="types nonsense comms nonblocking | persistent"),
    programs("user-defined operations", 3, f"{SMALL} -- --profile=users", all_good, seconds=SHORT),
    programs("ignored arguments, host calls are ours, too", 3, f"GR_HOST=1 {SMALL} stage_bytes=512 -- --profile=nonsense",
             good_on_devices, seconds=SHORT),
    row("many persistent requests", "| 2", f"GPURING_MEMORY=device {SMALL} -- persistent", good_on_devices),
)
