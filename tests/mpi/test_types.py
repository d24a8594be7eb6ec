# SPDX-License-Identifier: BSD-3-Clause
"""Derived datatypes, user-defined operations, communicators of every origin, and arguments that MPI ignores."""

from rows import *

NP = "3 | 2 5"
SLOTS = "slot_bytes=512 algorithm=$a -- --max-bytes=40000"
A = "flat | ring chain tree"
test_rows = table(
    programs("derived datatypes", NP, "--profile=types", seconds=2),
    programs("communicators", NP, "--profile=comms", seconds=2),
    programs("communicators of a session", NP, "--profile=eight --session --no-comms",
             why=None if OMPI_SERIES >= 5 else "sessions come with Open MPI 5"),
    programs("user-defined operations", NP, "--profile=users", all_good, also={
        "    they fall back": "^# gpuring calls [0-9]+ handovers [1-9][0-9]"}),
    programs("ignored arguments", NP, "--profile=nonsense", seconds=2),
    programs("derived datatypes, $a, slots of 512 bytes", 5, f"{SLOTS} --profile=types", a=A),
    programs("ignored arguments, $a, slots of 512 bytes", 3, f"{SLOTS} --profile=nonsense", a=A),
    programs("ignored arguments, without gpuring", "| 3", "GR_HOST=0 --mca coll ^gpuring -- --profile=nonsense", all_good,
             seconds=2),
    # too large to be packed: 16 MiB per rank
    row("data with gaps of more than pack_mib are not packed whole", 2, "pack_mib=15 -- packing", all_good, also={
        "they fall back": "^# gpuring calls [0-9]+ handovers 12 "}),
)
