# SPDX-License-Identifier: BSD-3-Clause
"""Random legal programs of all kinds, drawn from GPURING_SEED. tools/random_programs.py runs more, and shrinks."""

import os
from pathlib import Path

from rows import *

AVX = "--mca op ^avx"  # which saturates sums of small integers in 4.1.4
SHORT = depth(1, 3)  # seconds
test_rows = table(
    programs("programs", "2 5 | 3", "", seconds=SHORT),
    programs("calls that repeat", 3, "--profile=eight,again", seconds=SHORT),
    programs("calls that repeat, many ranks", "| 9", "progress_thread=1 -- --profile=eight,again", seconds=3),
    programs("without mailboxes", "| 4", "mailbox_bytes=0 -- ", seconds=3),
    programs("small slots", 3, "slots=2 slot_bytes=512 channels=2 mailbox_bytes=0 -- --max-bytes=40000", seconds=SHORT),
    programs("with a thread", 3, "progress_thread=1 -- ", seconds=SHORT),
    programs("three threads", "| 3", "--threads=3", seconds=3),
    programs("two threads, and one of gpuring's", 2, "progress_thread=1 -- --threads=2", seconds=SHORT),
    # what the program would find: an allreduce whose output is written to afterwards, and one that no other rank calls
    row("a wrong result is found, and named", 2, f"{AVX} -- random_programs --seed=1 --count=3 --plant=wrong",
        "^FAILED seed 1 .* rank [01]: .* should be .*: step [0-9]"),
    row("a call that does not end is found, and named", 2,
        f"{AVX} -- random_programs --seed=1 --count=3 --limit=2 --plant=hang", "^HANGS seed 1 .* rank 1: step [0-9]+, "),
)


def test_tool(mpi):
    """What fails is shrunk to one step."""
    if in_all:
        tool = [f"{os.environ['srcdir']}/tools/random_programs.py", f"--build={os.environ['builddir']}", "--seed=1"]
        job = Job([*tool, "--count=1", "--ranks=2", "--mca=", "--", "--plant=wrong"], mpi.env | {"TEST_LIMIT": "1200"})
        job.wait().check("the tool leaves one step of a program that fails", lambda job: job.rc == 1,
                         lines_seen(1, "^    thread 0: [0-9]+: "))


# ---- buffers on devices ----

if Path(os.environ["FAKECUDA"], "libcuda.so.1").exists():
    from rows.devices import *

    ON = " ".join(f"{k}={v}" for k, v in DEVICES.items()) + " GPURING_MEMORY=mixed device_channels=2 device_slot_bytes=16384"
    test_devices = table(
        programs("host memory and devices", 2, f"{ON} -- ", good_on_devices, seconds=depth(2, 4)),
        programs("host memory and devices, host calls are ours, too", 3, f"{ON} GR_HOST=1 -- ", good_on_devices,
                 seconds=depth(2, 4)),
        # one that kernels read beyond the end of its staged buffers: 59770 MPI_LONG_INT, the last without its gap
        row("the last element of a staged buffer has its whole extent", 3, f"{ON} GR_HOST=1 {AVX} -- random_programs "
            "--seed=71846549 --count=1 --no-neighbors --no-inter", good_on_devices),
    )
else:
    test_devices = table(
        row("host memory and devices", 2, "", why="no CUDA toolkit: nothing to run on devices with"))
