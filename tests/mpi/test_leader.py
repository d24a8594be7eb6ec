# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that share one device: one kernel of one of them does a call of all, on the fake CUDA driver."""

import re

from rows import *
from rows.devices import *

OPTIONS = stock_segments  # jobs are killed
ENV = DEVICES | {"FAKECUDA_DEVICES": "1", "FAKECUDA_MPS": "0", "GPURING_MEMORY": "device",
                 "GPURING_DELAYS": str(SEED)}
note(f"GPURING_DELAYS={SEED}")
NO_IPC = lines_seen(1, "gpuring: no other process can map the device memory of rank 0 of .* in one container")
UUID = "66616b65-6375-6461-0000-0000000000"  # the fake driver's, but for the device's number
OWN = each_rank("export CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_RANK")


def leader_calls(job):
    return counted(job, "leader calls")


def good_by_leader(job):
    """All calls on devices had a leader."""
    return good_on_devices(job) and leader_calls(job) == device_calls(job)


def good_where_mapped(job):
    return good_by_leader(job) and counted(job, "zero copy calls") > 0


def good_where_copied(job):
    return good_by_leader(job) and counted(job, "zero copy calls") == 0


def good_by_channels(job):
    return good_on_devices(job) and leader_calls(job) == 0


def led(text, np, line, judge=good_by_leader, **more):
    """A row whose program has Open MPI's op without AVX."""
    options, _, program = f" {line}".rpartition(" -- ")
    return row(text, np, f"{options} --mca op ^avx -- {program}", judge, **more)


test_rows = table(
    # ---- every collective, type, form and kind of memory ----
    led("everything, $np ranks", "3 | 2 4 5 8", "GPURING_MEMORY=mixed -- " + ANY_CASE),
    led("everything, 2 ranks, $memory memory", 2, "GPURING_MEMORY=$memory -- " + ANY_CASE, all_good,
        memory="device pinned | registered"),
    # what the driver gives no handle of is copied
    led("everything, 2 ranks, $memory memory", 2, "GPURING_MEMORY=$memory -- " + ANY_CASE, good_where_copied,
        memory="| managed pool vmm"),
    led("every type with every operation", "| 3", "eight_in every --count=0 --beyond"),
    # ---- the same bits whoever leads, wherever buffers lie ----
    led("sums in the order of ranks, $np ranks", "3 | 2 4 5 8", f"FAKECUDA_DELAY=3 -- leader {depth('', 10)}",
        good_where_mapped),
    led("the same, where addresses are used again at once", 3, "FAKECUDA_REUSE=1 -- leader", good_where_mapped),
    # where handles are given in vain, a leader's own buffers are not copied
    *[led(f"{text}: through pinned memory", np, f"FAKECUDA_IPC={ipc} -- leader {depth('', 10)}", judge,
          also={f"{text}: said once": NO_IPC}) for text, np, ipc, judge in [
              ("the same without CUDA IPC", depth(2, 3), "none", good_where_copied),
              ("the same where nobody opens handles", 2, "unopened", good_by_leader)]],
    led("the same in pieces", 2, "FAKECUDA_CHECK=0 -- leader 9", good_where_mapped) if not in_all else [],
    led("the same in weak memory, a thread lags", "| 2", "FAKECUDA_WEAK=5 FAKECUDA_SCHED=lag:3 -- leader", good_where_mapped),
    led("the same where memory is short", "| 4", "FAKECUDA_MEM=64 -- leader"),
    # ---- order ----
    led("opposite orders on several communicators", 3, "eight_in orders"),
    led("crossed", 4, "devices crossed"),
    led("threads", 2, f"{threads_apart} -- nbthreads {depth(1, 5)}"),
    led("nonblocking", 2, "eight_in nonblocking"),
    led("persistent", 2, "eight_in persistent", good_where_mapped),
    led("communicators of every origin", "| 3", "eight_in comms"),
    led("communicators and their buffers: nothing grows", 2, f"FAKECUDA_REUSE=1 TEST_LIMIT=900 -- churn {depth(50, 2500)}"),
    led("allocation waits for kernels that wait for other ranks", 3, "FAKECUDA_SYNC_ALLOC=1 -- devices busy"),
    led("the application maps other ranks' memory by CUDA IPC itself", 2, "FAKECUDA_REUSE=1 cuda=1 -- devices sharing"),
    led("order against the default stream, $where", 3, "FAKECUDA_DELAY=5 -- streams $where", where="own | foreign"),
    led("while a graph is captured, order as $where", 3, "FAKECUDA_DELAY=5 -- streams $where capture",
        where="own | foreign"),
    led("nonblocking calls do not wait for what is put behind them", 3,
        "FAKECUDA_SYNC_ALLOC=1 FAKECUDA_DELAY=5 TEST_LIMIT=100 -- streams beside", good_where_mapped),
    led("progress without calls", 3, "devices progress"),
    led("the current context", 2, "devices context"),
    led("random programs", "| 3", f"GPURING_MEMORY=mixed GR_HOST=1 TEST_LIMIT=600 -- random_programs --seed={SEED} "
        f"--count=9999 --seconds={depth(1, 30)}", good_on_devices),
    # ---- when there is one ----
    row("several devices, some shared, no MPS: the host does it", 4, f"FAKECUDA_DEVICES=2 {SMALL} -- devices crossed",
        good_by_staging),
    row("several devices, some shared, MPS: kernels of all ranks", 4,
        f"FAKECUDA_DEVICES=2 FAKECUDA_MPS=1 {SMALL} -- devices crossed", good_by_channels),
    row("a device for each rank: kernels of all ranks", 2, f"FAKECUDA_DEVICES=2 {SMALL} -- devices crossed",
        good_by_channels),
    # ---- a batch system numbers devices for each rank: ranks that share one know it by its UUID ----
    led("one device, each rank has another ordinal for it", 3, "FAKECUDA_DEVICES=2 -- devices crossed",
        wrapper=each_rank("export CUDA_VISIBLE_DEVICES=$([ $OMPI_COMM_WORLD_RANK = 1 ] && echo 1,0 || echo 0)")),
    led("one MIG instance", 2, f"FAKECUDA_DEVICES=4 FAKECUDA_MIG=2 CUDA_VISIBLE_DEVICES=MIG-{UUID}02 -- devices crossed"),
    # all are device 0 to their ranks
    row("a device for each rank, which sees no other: kernels of all ranks", 2,
        f"FAKECUDA_DEVICES=2 {SMALL} -- devices crossed", good_by_channels, wrapper=OWN),
    row("a MIG instance of one GPU for each rank: kernels of all ranks", 2,
        f"FAKECUDA_DEVICES=2 FAKECUDA_MIG=2 {SMALL} -- devices crossed", good_by_channels, wrapper=OWN),
    row("one device, an algorithm is forced, no MPS: the host does it", 2, f"{SMALL} algorithm=ring -- devices crossed",
        good_by_staging),
    row("one device, an algorithm is forced, MPS: kernels of all ranks", 2,
        f"FAKECUDA_MPS=1 {SMALL} algorithm=ring -- devices crossed", good_by_channels),
    row("the leader is forced", 2, f"{SMALL} algorithm=leader -- devices crossed", good_by_leader),
    # ---- a rank that resets its device, or does not come ----
    led("the leader resets its device between calls", 2, "FAKECUDA_DELAY=5 -- leader reset 0"),
    led("another rank resets its device between calls", 2, "FAKECUDA_DELAY=5 -- leader reset 1"),
    led("calls that differ: an error", 3, "devices differ", all_good),
    led("a rank that has come and is stopped: others lead", 3, "leader takeover"),
)
WAITS = "gpuring: rank [0-9]+ of .* waits .*, one kernel for all ranks, waits for"
PATIENCE = "--mca op ^avx timeout=1"


def test_stopped_before_it_comes(mpi):
    job = mpi.start(3, f"{PATIENCE} -- stall stop allreduce 3 persistent")
    job.check("a rank is stopped before it comes: it is named", f"{WAITS} rank 1$", within=60)
    job.resume(1).check("a rank is stopped before it comes: continued, all finish right", good_by_leader)


def test_stopped_in_its_kernel(mpi):
    job = mpi.start(2, f"{PATIENCE} -- leader stopped")
    job.check("the leader is stopped in its kernel: it is named", f"{WAITS} that of rank [01]$", within=60)
    for leader in re.findall("that of rank ([01])$", job.text, re.MULTILINE)[:1]:
        job.resume(leader).check("the leader is stopped in its kernel: continued, all finish right", good_by_leader)


def named_by_both(job):
    """All but one rank, the one that they name."""
    named = set(re.findall(r"gpuring: rank ([0-9]+) of .* waits for that of rank ([0-9]+)$", job.text, re.MULTILINE))
    return len(named) == 2 and len({leader for _, leader in named}) == 1 and not any(r == leader for r, leader in named)


def test_killed(mpi):
    job = mpi.start(3, f"--enable-recovery {PATIENCE} -- stall kill allreduce 3 persistent")
    job.check("a killed rank is named", f"{WAITS} rank 1$", within=60)
    job.kill()


def test_killed_in_its_kernel(mpi):
    job = mpi.start(3, f"--enable-recovery {PATIENCE} -- leader killed")
    job.check("the leader is killed in its kernel: both others name it", named_by_both, within=60)
    job.kill()
