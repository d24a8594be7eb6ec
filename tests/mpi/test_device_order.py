# SPDX-License-Identifier: BSD-3-Clause
"""Order of calls and the application's work on streams, in contexts and in graph captures."""

from rows import *
from rows.devices import *

ENV = DEVICES | {"GPURING_MEMORY": "device"}
LATE = f"FAKECUDA_DELAY=5 {SMALL} -- streams"
PIECES = "device_pool_mib=1 stage_bytes=2048"
test_rows = table(
    row("order against the default stream", "| 3", f"{LATE} own", good_on_devices),
    row("order against another device's default stream", 3, f"{LATE} elsewhere", good_on_devices),
    row("the same, out of reach", "| 3", f"FAKECUDA_PEER=none {LATE} elsewhere", good_on_devices),
    row("order in a context of the application's", 3, f"{LATE} foreign", good_on_devices),
    row("nonblocking calls do not wait for what is put behind them", 3, f"{LATE} beside", good_on_devices),
    row("the same of staged calls, in pieces", 3, f"FAKECUDA_DELAY=6 {SMALL} {PIECES} -- streams beside", good_by_staging),
    row("while a graph is captured, order as $where", 3, f"{LATE} $where capture", good_on_devices,
        where="elsewhere | own foreign"),
    row("first calls of several threads at the same time", 2, f"{SMALL} -- devices threads", good_on_devices),
    row("progress without calls", 3, f"{SMALL} -- devices progress", good_on_devices),
    row("the current context", 2, f"{SMALL} -- devices context", good_on_devices),
    row("opposite order, four ranks on one device, more channels than SMs", "| 4",
        "FAKECUDA_DEVICES=1 FAKECUDA_SMS=2 device_channels=8 device_slot_bytes=4096 -- devices crossed", good_on_devices),
    row("weak memory, a thread lags", 3, f"FAKECUDA_WEAK=5 FAKECUDA_SCHED=lag:3 {SMALL} -- devices crossed",
        good_on_devices),
    row("weak memory, any order, jitter", "| 3",
        f"FAKECUDA_WEAK=9 FAKECUDA_SCHED=rand:4 FAKECUDA_JITTER=2 {SMALL} -- devices crossed", good_on_devices),
)
