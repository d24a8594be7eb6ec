# SPDX-License-Identifier: BSD-3-Clause
"""Situations that users of MPI libraries reported as bugs of one of them: where buffers lie and what becomes of them, what
callbacks, signals, children and threads do, processes that join, ranks in namespaces of their own, one processor for all."""

import os
import subprocess
from pathlib import Path

from rows import *

os.environ.pop("OMPI_MCA_pml", None)  # as users have it

OPTIONS = threads_apart
SLOTS = "algorithm=ring mailbox_bytes=0 slots=2 slot_bytes=512"
PYTHON = """
import ctypes, sys
mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL)
at = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
world, double, add = at("ompi_mpi_comm_world"), at("ompi_mpi_double"), at("ompi_mpi_op_sum")
mpi.MPI_Init(None, None)
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
for count in 1, 1000, 200000:
    given, got = ((ctypes.c_double * count)(*[rank.value + i for i in range(count)]) for _ in "ab")
    mpi.MPI_Allreduce(given, got, count, double, add, world)
    ranks = size.value * (size.value - 1) // 2
    assert all(got[i] == ranks + size.value * i for i in range(count)), count
mpi.MPI_Finalize()
"""
Path(WORK, "local.py").write_text(PYTHON)


def can(*command):
    return subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def namespace(kind, *options, also=None):
    """Each rank has its own."""
    wrapper = ["unshare", *options]
    return row(f"{kind} namespace for each rank", 3, "addresses", all_good, wrapper=wrapper, also=also,
               why=None if can(*wrapper) else f"{' '.join(wrapper)} is refused here")


def on_one_processor():
    if not can("taskset", "-c", "0"):
        return row("all ranks on one processor", 3, "", why="processor 0 is not ours")
    return row("all ranks on one processor, without yielding", 3, "hello_coll", launcher=["taskset", "-c", "0"],
               MPIRUN=os.environ["MPIRUN"].replace("mpi_yield_when_idle 1", "mpi_yield_when_idle 0"))


test_rows = table(
    row("$program", 3, "$program", program="buffers addresses process"),
    row("$program, ring, small slots", 3, f"{SLOTS} -- $program", program="| buffers addresses process"),
    row("$program", 3, "$program", program="callbacks", also={} if in_all else {
        "    in MPI_Finalize, too": "^# right in MPI_Finalize"}),
    row("$program, ring, small slots", 3, f"{SLOTS} -- $program", program="| callbacks", also={
        "    in MPI_Finalize, too": "^# right in MPI_Finalize"}),
    row("buffers, without single copy", "| 3", "single_copy=0 -- buffers"),
    row("children, with a progress thread", "| 3", "progress_thread=1 -- process children"),
    row("messages from threads with small stacks", 2, "verbose=2 -- process stacks"),
    # with Debian's Open MPI 5 processes of two jobs do not reach each other through some machines' eth0
    row("spawned processes, and some behind a port", 2, "--mca btl_tcp_if_include lo -- spawn"),
    namespace("a mount", "-m"),
    namespace("an IPC", "-i", also={"    and one line says what that prevents": lines_seen(
        1, "gpuring: ranks of MPI_COMM_WORLD cannot attach each other.s shared memory .separate IPC")}),
    namespace("a user", "-Ur"),  # no rank may read another one's memory, or open its files
    on_one_processor(),
    # a program that loads libmpi for itself alone
    row("libmpi loaded with RTLD_LOCAL", 3, "PROGDIR= report=summary -- python3 $work/local.py $libmpi", ended,
        libmpi=in_make("print-libmpi"), also={"    through gpuring": "^# allreduce +host +[a-z]+ +[1-9]"}),
)
