# SPDX-License-Identifier: BSD-3-Clause
"""Shared memory: none remains, however a job ends; one line reports that there is none; and what an application does to its
own descriptors and limits harms nothing. The test has an IPC namespace and a /dev/shm of its own. Open MPI's segments are
elsewhere."""

import ctypes
import os
import subprocess
import time
from pathlib import Path

import pytest

from rows import *

OPTIONS = stock_segments
MOUNT = "mount --make-rprivate / && mount -t tmpfs -o size=256k tmpfs /dev/shm"
CLONE_NEWNS, CLONE_NEWIPC = 0x00020000, 0x08000000
OWN = (ctypes.CDLL(None).unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0
       and subprocess.run(["sh", "-c", MOUNT], stderr=subprocess.DEVNULL, check=False).returncode == 0)
NP = 4
NO_FALLBACK = {"    and no call falls back": "^# gpuring calls [1-9][0-9]* handovers 0"}
NONE_LEFT = "gpuring: no shared memory left"


def segments():
    """Lines of them, with the mode in the third column."""
    return Path("/proc/sysvipc/shm").read_text().splitlines()[1:]


def nothing_left(job):
    """In the machine's own namespace others have segments, too."""
    return not OWN or not segments() + os.listdir("/dev/shm")


def all_marked(job):
    """For removal."""
    return not OWN or bool(segments()) and all(int(line.split()[2], 8) & 0o1000 for line in segments())


test_ends = table(row("a job that ends well", NP, "lifecycle 20", also={"nothing is left of it": nothing_left}))


def test_killed(mpi):
    job = mpi.start(NP, "stall loop")
    job.check("a job in the middle of its calls", "^# looping", within=60)
    job.check("its segments go with it", all_marked, within=60)
    job.check("    and it still runs", lambda job: job.process.poll() is None)
    job.kill()
    job.check("killed: nothing is left", nothing_left, within=60)


@pytest.mark.parametrize("delay", depth([0.6, 1.0], [0.4, 0.6, 0.8, 1.0, 1.3]))
def test_set_up(mpi, delay):
    job = mpi.start(NP, "lifecycle 1000")
    time.sleep(delay)
    job.kill()
    job.check(f"killed after {delay} s, while setting up: nothing is left", nothing_left, within=60)


@pytest.mark.parametrize("end", ["kill", "exit", "abort", "crash"])
def test_one_ends(mpi, end):
    job = mpi.start(NP, f"stall {end}")
    job.wait_for(60, "^# rank 1 stalls")
    job.wait().check(f"one rank ends by {end}: so does the job", failed)
    job.check(f"one rank ends by {end}: nothing is left", nothing_left, within=60)


test_rows = table(
    row("all descriptors closed, and others opened", 2, "limits descriptors", also=NO_FALLBACK),
    row("no file may be written", 2, "limits files", also=NO_FALLBACK),
    row("a rank without address space", 3, "limits addresses", also={
        "    and one line says so": lines_seen(1, f"{NONE_LEFT} .*ulimit")}),
    # with none left Open MPI's own collectives end some jobs
    row("a rank that may make $left mappings more", 2, "limits mappings $left", left="2 4 | 8 12 16 18 20 30 40"),
)


def test_little(mpi):
    if not OWN:
        skip("little shared memory", "no namespaces for us (unshare -m -i)")
        return
    pages = Path("/proc/sys/kernel/shmall")  # of this namespace
    pages.write_text("64")
    job = mpi.run(NP, "slots=16 -- hello_coll")
    job.check("shared memory of 64 pages: right results", all_good)
    job.check("    and one line says so", lines_seen(1, NONE_LEFT))
    job.check("    and what to do", f"{NONE_LEFT} .*(kernel.shmall|coll_gpuring_slot)")
    job.check("    and the calls fall back", "^# gpuring calls 0 handovers [1-9]")
    job.check("nothing is left", nothing_left)
    mpi.run(NP, "slots=16 -- lifecycle 20").check("shared memory of 64 pages: communicators come and go", all_good)
    pages.write_text("1000000")
    mpi.run(NP, "slots=16 -- hello_coll").check("a small /dev/shm, and enough memory", good_through_gpuring)
