# SPDX-License-Identifier: BSD-3-Clause
"""The eight collectives with all types, operations and sizes, for 1 to 8 ranks, and with every algorithm, number of channels
and size of slots. Open MPI's op/avx saturates small integers, which wrap in C."""

import re
from pathlib import Path

from rows import *

# more than 2^31 elements, or bytes where counts are int
small = int(re.search(r"^MemAvailable: *(\d+)", Path("/proc/meminfo").read_text(), re.M)[1]) < 14 << 20
test_rows = table(
    row("everything, $np ranks", "3 | 1 2 4 5 6 7 8", f"--mca op ^avx -- {EVERY_CASE}"),
    # all pairs of the first four, and every number of ranks with several of each
    row("algorithm $a, $channels channels, $slots slots of $bytes bytes, $n ranks", "$n", "--mca op ^avx algorithm=$a "
        f"channels=$channels slots=$slots slot_bytes=$bytes -- {ANY_CASE}", rows="""a channels slots bytes n
auto  2 4 65536 3
ring  1 4 4096  5
flat  1 2 4096  3
|
ring  2 2 65536 7
chain 3 2 4096  8
auto  1 2 4096  8
auto  3 2 65536 5
ring  3 4 4096  2
chain 1 2 65536 4
chain 2 4 4096  6
tree  1 4 65536 7
tree  2 2 4096  4
tree  3 4 65536 6
flat  2 4 65536 8
flat  3 2 4096  4
ring  3 2 256   3
tree  2 2 256   5
chain 1 2 320   2"""),
    row("large calls, $np ranks", "| 2", "pack_mib=16384 -- large", why="less than 14 GiB are free" if small else None,
        also={"    none falls back": "^# gpuring calls [0-9]+ handovers 0 "}),
)
