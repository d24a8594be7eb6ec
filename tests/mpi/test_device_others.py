# SPDX-License-Identifier: BSD-3-Clause
"""Collectives without kernels, and all on intercommunicators, with buffers on the fake CUDA driver's devices."""

from rows import *
from rows.devices import *

ENV = DEVICES | {"GPURING_MEMORY": "device"}
test_rows = table(
    programs("other collectives, $memory memory, messages over $bytes bytes in pieces", "$n",
             f"GPURING_MEMORY=$memory {SMALL} stage_bytes=$bytes -- --profile=others", good_falls_back,
             seconds=depth(2, 5), rows="""n memory bytes
3 mixed   65536
2 mixed   65536
2 other   8192
3 managed 100
|
3 device  512
4 mixed   64
5 other   65536"""),
    row("MPI_Reduce_local", 1, "others local", all_good),
    row("MPI_Reduce_local in pieces", 1, "stage_bytes=512 -- others local", all_good),
    row("other collectives allocate nothing", 3, f"FAKECUDA_LOG=$work/others {SMALL} -- others steady", good_falls_back),
    row("each byte is copied once", 3, f"FAKECUDA_LOG=$work/copies {SMALL} -- others copies", good_falls_back,
        also={"each byte is copied once: copies were counted": "!SKIP"}),
    row("large messages are copied in pieces, on both sides at a time", 3,
        f"FAKECUDA_LOG=$work/parcels FAKECUDA_DELAY=3 {SMALL} stage_bytes=32768 -- others parcels", good_falls_back),
)
