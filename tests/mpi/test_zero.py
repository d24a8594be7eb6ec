# SPDX-License-Identifier: BSD-3-Clause
"""Zero copy: kernels store results in other ranks' receive buffers, on the fake CUDA driver."""

from rows import *
from rows.devices import *

ENV = DEVICES | {"GPURING_MEMORY": "device"}
ZERO = f"{SMALL} protocol=simple zero_copy=0"
ROUNDS = depth(30, 2500)


def zero_calls(job):
    """Calls for which this process had others' buffers mapped."""
    return counted(job, "zero copy calls")


def past_slots(job):
    return good_on_devices(job) and zero_calls(job) > 0


def through_slots(job):
    return all_good(job) and zero_calls(job) == 0


test_rows = table(
    # ---- every collective, algorithm, form and kind of memory ----
    row("everything, $np ranks, $memory memory", "3 | 2 5",
        f"GPURING_MEMORY=$memory {ZERO} -- {ANY_CASE} --seconds={depth(0.4, 2)}", past_slots,
        memory="mixed | device"),
    # what the driver gives no handle of goes through slots
    row("everything, 3 ranks, $memory memory", "| 3", f"GPURING_MEMORY=$memory {ZERO} -- {ANY_CASE}", through_slots,
        memory="managed pinned registered pool vmm"),
    row("everything, 3 ranks, other memory", 3, f"GPURING_MEMORY=other {ZERO} -- {ANY_CASE}", all_good),
    row("$a, 4 ranks", 4, f"{ZERO} algorithm=$a -- {ANY_CASE} --seconds={depth(0.4, 2)}", past_slots,
        a="tree | ring chain flat twoshot"),
    row("$profile", 3, f"{ZERO} -- eight_in $profile", past_slots, profile="persistent | types nonblocking comms"),
    # ---- buffers that come and go ----
    row(f"{2 * ROUNDS} communicators and their buffers: nothing grows", 2,
        f"FAKECUDA_REUSE=1 TEST_LIMIT=900 {ZERO} -- churn {ROUNDS}", past_slots),
    row("addresses are used again at once", 3,
        f"FAKECUDA_REUSE=1 {ZERO} -- {ANY_CASE} --seconds={depth(0.5, 2)}", past_slots),
    row("calls after the first ones allocate nothing", 3, f"FAKECUDA_LOG=$work/steady {ZERO} -- devices steady", past_slots),
    # ---- order ----
    row("order against the default stream", "| 3", f"FAKECUDA_DELAY=5 {ZERO} -- streams own", past_slots),
    row("opposite order, four ranks on one device, more channels than SMs", "| 4",
        "FAKECUDA_DEVICES=1 FAKECUDA_SMS=2 --mca op ^avx protocol=simple zero_copy=0 device_channels=8 device_slot_bytes=4096 "
        "-- devices crossed", past_slots),
    row("weak memory, a thread lags", "| 3", f"FAKECUDA_WEAK=5 FAKECUDA_SCHED=lag:3 {ZERO} -- devices crossed", past_slots),
    row("weak memory, any order, jitter", "| 3",
        f"FAKECUDA_WEAK=9 FAKECUDA_SCHED=rand:4 FAKECUDA_JITTER=2 {ZERO} -- devices crossed", past_slots),
    # ---- where it cannot be, or is not wanted ----
    row("no CUDA IPC", 3, f"FAKECUDA_IPC=none {ZERO} -- devices crossed", through_slots),
    row("devices that do not reach each other", 4, f"FAKECUDA_PEER=none {ZERO} -- devices crossed", all_good),
    row("zero_copy -1", 3, "--mca op ^avx protocol=simple zero_copy=-1 -- devices crossed", through_slots),
    row("rank 0 has its buffers in host memory", 3, f"{ZERO} cuda=1 -- devices single", good_on_devices,
        wrapper=each_rank("[ $OMPI_COMM_WORLD_RANK != 0 ] || GPURING_MEMORY=host")),
    # from 1 MiB on, which is said
    row("by default, calls of 1 MiB and more", 2,
        "verbose=2 protocol=simple -- gpuring_bench allreduce -d cuda -c -m 524288:1048576 -i 1 -x 1 -B 10", ended,
        ", 1048576 bytes on devices.*zero copy", "!, 524288 bytes on devices.*zero copy"),
)


def test_stopped(mpi):
    job = mpi.start(3, f"{ZERO} timeout=1 -- stall stop allgather 3 persistent")
    job.check("a stopped rank is named where kernels wait",
              r"gpuring: rank [02] of .* waits .*on devices, channel.*waits for rank( [02])* 1\b", within=60)
    job.resume().check("continued, all finish right", good_on_devices)
