# SPDX-License-Identifier: BSD-3-Clause
"""Collectives that Open MPI starts from opal_progress, beside the application's blocking ones; and the tags of gpuring's
messages, which no message of the application may have."""

from rows import *

NO_OFI = None if OMPI_SERIES < 5 and "MCA mtl: ofi" in ompi_info() else (
    "no mtl/ofi whose tag mode can be set in this Open MPI")
test_rows = table(
    row("idup, $np ranks", "3 | 2 5", "idup 10"),
    row("idup, $np ranks, another thread progresses", "3 | 2 5", "idup 6 thread"),
    row("idup, $np ranks, progress thread", "3 | 2 5", "progress_thread=1 -- idup 10"),
    row("idup, 3 ranks, small slots", 3, "channels=2 slots=2 slot_bytes=512 -- idup 4"),
    # mtl/ofi with 20 bits of tag: what lies below them wraps round to the application's tags
    row("tags of 20 bits, messages for any tag", 2, "--mca pml cm --mca mtl ofi --mca mtl_ofi_tag_mode ofi_tag_2 "
        "--mca mtl_ofi_provider_include tcp -- wildcards 2", why=NO_OFI),
)
