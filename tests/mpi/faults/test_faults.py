# SPDX-License-Identifier: BSD-3-Clause
"""Failures everywhere, a sample: calls of the component that fail (failing.py), some on one rank, some on all. Each run ends
with right results or errors, and leaves nothing behind. GPURING_SEED says which calls. All of them:
    tests/mpi/faults/failing.py all FILE host; tests/mpi/faults/failing.py table FILE"""

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

from failing import BUILD, FAKE, SOURCES, Faults, component
from rows import *


def can(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


if not can("unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"):
    pytest.skip("no namespaces: what a run leaves behind cannot be told from what others do", allow_module_level=True)
note(f"GPURING_SEED={SEED}")
chance = random.Random(SEED)
DRIVER = Path(FAKE, "libcuda.so.1").exists()
PML = can(SOURCES / "tests/hosts/hosts.sh", "possible")
UCX = PML and (BUILD / "tests/mpi/faults/.libs/gpuring_net_ucx.so").exists()
NO_MESSAGE = "set-up: no memory, or Open MPI could not send a message"
NO_LINK = "on h1, has lost a link to another node: rank 0 on h0"


def judge(did):
    """A row that any good end passes."""
    result(f"{did.config}, {did.kind} {did.k} fails on rank {did.rank} ({did.place}): {did.ended}",
           did.ended in ("right", "error", "others", "unreached"), f"{did.note} (seed {SEED})")


def must_end(ended, config, rank, fault, pattern="", **more):
    """ENDED[|ENDED]: the call must be made, and end so, with a line of the component that has the pattern."""
    text = f"{config}, {fault} fails on rank {rank}: {ended}"
    try:
        did = Faults(config, **more).one(rank, fault)
    except RuntimeError as error:
        result(text, False, str(error))
        return
    result(text, did.ended in ended.split("|") and (not pattern or re.search(f"gpuring: rank .*{pattern}", did.text)),
           "\n".join([*did.text.splitlines()[-20:], " ".join(did[:7])]))


def sample(config, number, *kinds):
    """So many calls, by chance; or with None all places, on rank 1."""
    faults = Faults(config)
    wanted = faults.by_place(kinds)
    drawn = [(chance.choice(wanted), chance.choice(["1", "all"])) for _ in range(number or 0)]
    for (kind, k), rank in drawn if number else [(call, "1") for call in wanted]:
        judge(faults.run(rank, f"{kind}:{k}"))


def test_set_up():
    """Boards for Barrier, and for Ibarrier; links; boards in groups."""
    must_end("right", "barriers", "1", "malloc@mca_coll_gpuring_args_keep", GPURING_FAULT_RESERVE="1")  # made once more
    for config, rank, fault, coll in (("barriers", "1", "isend:1", "barrier"), ("barriers", "1", "isend:6", "barrier"),
                                      ("dissemination", "1", "irecv:1", "barrier"), ("groups", "all", "isend:1", "allreduce")):
        must_end("error", config, rank, fault, f"has failed: {coll}, sequence 1: {NO_MESSAGE}")
    if UCX:
        must_end("error", "barriers-nodes", "1", "send_completion:1", NO_LINK)  # a token is lost
    if PML:
        # rank 1 receives nothing more, and Open MPI keeps what is on its way to it: its sender gives up after 10 s, of a fast
        # clock
        must_end("error|others", "pml-asks", "1", "irecv_init_data:1",
                 "on h0, has lost a link to another node: rank 2 on h1", GPURING_FAULT_CLOCK="20", FAULT_TIMEOUT="2000")


@pytest.mark.parametrize("config", ["life", "life-leader", "life-staged"] if DRIVER else [""])
def test_driver(config):
    """A call of the driver fails: each allreduce ends alike on all ranks. Every call: failing.py all FILE life driver."""
    if config:
        sample(config, depth(1, None), "driver")
    else:
        skip("a call of the driver", "no CUDA toolkit")


def test_device():
    """No code for the device, and no PTX that the driver compiles; a driver that fails from then on."""
    if not DRIVER:
        return
    must_end("right", "life", "all", "cuLibraryLoadData:1+",
             ".*cuLibraryLoadData.* Calls on device memory go through host memory")
    must_end("right", "life", "1", "cuMemHostAlloc:1+", ".*cannot set up links between devices .cuMemHostAlloc")
    must_end("right", "life-leader", "all", "cuLaunchKernel:1+")  # the host does the calls
    must_end("right", "life-leader", "all", "cuIpcOpenMemHandle:1+")  # through pinned memory
    must_end("error|others", "life", "1", "cuLaunchKernel:1+", "has failed: allreduce, sequence [0-9]+: .*cuLaunchKernel")
    if in_all:
        must_end("others", "life", "1", "driver:330+", ".*cannot set up links between devices")


# What a rank calls as often as a device is late: a query by itself, or in a bracket of the context.
WAITS = ("cuStreamQuery", "cuEventQuery", "cuCtxGetCurrent", "cuThreadExchangeStreamCaptureMode")


@pytest.mark.parametrize("algorithm, memory, most", [
    ("oneshot", "known", 9), ("leader", "fresh", 22), ("oneshot", "fresh", 20), ("leader", "known", 12)][:depth(2, 4)])
def test_cost(mpi, algorithm, memory, most):
    """Calls of the driver for an allreduce on memory that is known, or new for each: of 50 calls more, on average of both
    ranks, of which now one leads and now the other. Without what waiting takes."""
    if not DRIVER:
        return
    made = {}
    for sign, n in (-1, 10), (1, 60):
        program = f"gpuring_bench allreduce -d cuda -m 64K:64K -i {n} -x 0 -B 10" if memory == "known" else f"leader fresh {n}"
        counts = [Path(WORK, f"calls{n}.{rank}") for rank in range(2)]
        for file in counts:
            file.unlink(missing_ok=True)
        job = mpi.run(2, f"GR_HOST= FAKECUDA_SMS=64 GPURING_FAULT_COUNTS={WORK}/calls{n} GPURING_MEMORY=device "
                      "--mca coll gpuring -x GPURING_FAULT_COUNTS -x GPURING_MEMORY -x LD_LIBRARY_PATH -x FAKECUDA_SMS "
                      "FAKECUDA_MPS=1 -x FAKECUDA_MPS "
                      f"algorithm_allreduce={algorithm} -- {program}", GR_DIR=str(component("component")),
                      LD_LIBRARY_PATH=f"{FAKE}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"))
        for kind, calls in map(str.split, "".join(map(text_of, counts)).splitlines()):
            made[kind] = made.get(kind, 0) + sign * int(calls)
    waits = sum(made.get(kind, 0) for kind in WAITS)
    cost = int((made.get("driver", 0) - waits) / 100 + 0.5)
    what = f"an allreduce costs {most} calls of the driver at most: {algorithm}, memory that is {memory}"
    note(f"{cost} calls: {' '.join(f'{kind} {calls / 100}' for kind, calls in made.items() if calls)}")
    job.check(what, ended, wants(lambda job: 0 < cost <= most, f"{cost} calls"))


def test_more():
    """Barrier_init; what lies between levels of boards: then all fall back; the start of a request whose data have gaps."""
    if not in_all:
        return
    must_end("error", "barriers", "1", "malloc@mca_coll_gpuring_args_keep", "has failed: barrier: Out of resource")
    must_end("right", "groups", "1", "malloc@reserve_scratch")
    # its id is not used again
    must_end("error", "barriers", "1", "calloc@gr_neighbours_alloc:10", "GROUP FROM .* has failed: barrier")
    must_end("error", "groups", "1", "malloc@mca_coll_gpuring_scratch_get:3", "has failed: bcast, .*: out of memory")
    for fault in ["isend_init:1", "start:9"] if PML else []:
        must_end("error", "barriers-pml", "1", fault, NO_LINK)  # a token is lost
    sample("barriers", 4)
    sample("dissemination", 4)
    sample("groups", 6)
    for config in ["nodes"] * UCX + ["pml"] * PML:
        sample(f"barriers-{config}", 4)
    must_end("right", "host", "1", "malloc:1")  # the module of a communicator
    for fault in "process_vm_readv:50", "process_vm_readv:50+":  # once: the right is taken for lost; and is lost
        must_end("right", "host", "1", fault, "cannot read the memory of rank")
    judge(Faults("host").one("all", "calloc:350"))  # it is told on a communicator of the same id that was freed since
    sample("host", 8)
    if DRIVER:
        # the driver fails to say where memory lies; the module in reserve
        for fault in "cuInit:1", "cuDeviceGet:1", "cuPointerGetAttributes:20", "malloc:1":
            must_end("right", "device", "1", fault)
        judge(Faults("device").one("1", "dlopen:1"))  # the driver is there, but not for the component
        judge(Faults("device").one("1", "cuCtxPushCurrent:3"))  # it frees a buffer that the other rank's kernel writes to
        sample("device", 6)
    else:
        skip("on devices", "no CUDA toolkit")
    if UCX:
        sample("nodes", 3)
    else:
        skip("between nodes", "no UCX, or no namespaces for hosts")
