# SPDX-License-Identifier: BSD-3-Clause
"""Device memory: only first calls allocate it, none leaks, and calls work without CUDA IPC, without peer access, and out of
memory."""

from rows import *
from rows.devices import *

ENV = DEVICES | {"GPURING_MEMORY": "device"}
ROUNDS = depth(30, 5000)  # in each of two windows or more
CROSSED = f"{SMALL} -- devices crossed"
UNMAPPED = lines_seen(1, r"gpuring: rank [0-9]+ of .* cannot map the device memory of rank [0-9]+ \(")
NO_IPC = lines_seen(1, "gpuring: no other process can map the device memory of rank [0-9]+ of .* whole GPUs")
OWN = each_rank("export CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_RANK")


def by_each_once(pattern):
    """Said, and by no process twice: ranks hear of it in communicators that they are members of."""
    def holds(job):
        said = [line.split("gpuring:")[0] for line in job.lines(pattern)]
        return 0 < len(said) == len(set(said))
    return wants(holds, f"lines of processes that differ {pattern!r}")


UNSEEN = by_each_once(r"gpuring: rank [0-9]+ of .* does not see the device of rank [0-9]+, .*\(cuIpcOpenMemHandle: "
                      "CUDA_ERROR_INVALID_DEVICE.*all devices of the job")


def said_once(text, np, options, line, program="devices crossed", **more):
    """A row without CUDA IPC between ranks. On all communicators together one line says what can be done."""
    return row(text, np, f"{options} {SMALL} -- {program}", good_on_devices, also={f"{text}: said once": line}, **more)


test_rows = table(
    row("calls after the first ones allocate nothing", 3, f"FAKECUDA_LOG=$work/steady {SMALL} -- devices steady",
        good_on_devices),
    # addresses are used again at once
    row(f"{2 * ROUNDS} communicators and their buffers: nothing grows", 2,
        f"FAKECUDA_REUSE=1 TEST_LIMIT=900 {SMALL} -- churn {ROUNDS}", good_on_devices),
    row("the same with buffers of a pool", 3, f"FAKECUDA_REUSE=1 GPURING_MEMORY=pool {SMALL} -- churn {depth(20, 300)}",
        good_on_devices),
    row("where allocation waits for kernels", "| 3", f"FAKECUDA_SYNC_ALLOC=1 {CROSSED}", good_on_devices),
    row("allocation waits for kernels that wait for other ranks", 3, f"FAKECUDA_SYNC_ALLOC=1 {SMALL} -- devices busy",
        good_on_devices),
    row("memory of another device's pools and mappings, with access and without", 3,
        f"FAKECUDA_LOG=$work/granted {SMALL} -- devices granted", good_on_devices),
    # zero copy maps what it uses; with addresses that are used again, or the driver under test shows nothing
    row("the application maps other ranks' memory by CUDA IPC itself", 2, f"FAKECUDA_REUSE=1 {SMALL} cuda=1 -- devices sharing",
        good_on_devices),
    # ---- what is not there ----
    said_once("no CUDA IPC: links in pinned host memory", 3, "FAKECUDA_IPC=none", NO_IPC),
    said_once("devices that do not reach each other: the same", 4, "FAKECUDA_PEER=none", UNMAPPED),
    said_once("handles that nobody opens: the same", 3, "FAKECUDA_IPC=unopened", UNMAPPED),
    said_once("communicators of other lowest ranks", "| 4", "FAKECUDA_IPC=none", NO_IPC, "eight_in comms"),
    row("everything, links in pinned host memory", 3, f"FAKECUDA_IPC=none {SMALL} -- {ANY_CASE}", good_on_devices),
    row("the same links, used again", "| 2", f"FAKECUDA_IPC=none {SMALL} -- persistent", good_on_devices),
    row("everything, memory of a device that is out of reach", "2 | 3",
        f"FAKECUDA_PEER=none GPURING_MEMORY=mixed {SMALL} -- {ANY_CASE}", good_on_devices),
    row("device memory is full: staged", 3, f"FAKECUDA_MEM=2 {CROSSED}", good_by_staging, also={
        "device memory is full: said once": lines_seen(1, "gpuring: the device of rank [0-9]+ of .* has no memory left")}),
    row("the bound of device memory is reached: staged", 3, f"device_pool_mib=1 {CROSSED}", good_by_staging, also={
        "the bound of device memory: said once": lines_seen(1, "gpuring: .*coll_gpuring_device_pool_mib")}),
    # buffers in host memory at rank 0, on devices at the others: all calls are device calls
    row("rank 0 has its buffers in host memory", 3, f"{SMALL} cuda=1 -- devices single", good_on_devices,
        wrapper=each_rank("[ $OMPI_COMM_WORLD_RANK != 0 ] || GPURING_MEMORY=host")),
    row("an intercommunicator is freed while a call on it is under way", 2,
        f"GLIBC_TUNABLES=glibc.malloc.perturb=85 TEST_LIMIT=60 {SMALL} -- devices inter", all_good),
    # each rank sees one device, and that is device 0 to it: two of them share the second
    row("each rank sees its own device only", 4, f"{SMALL} -- {ANY_CASE}", good_on_devices,
        wrapper=each_rank("export CUDA_VISIBLE_DEVICES=$((OMPI_COMM_WORLD_RANK % 2))")),
    # ---- a batch system gives each rank a device ----
    said_once("control groups", 3, "FAKECUDA_DEVICES=3 FAKECUDA_IPC=seen", UNSEEN, ANY_CASE, wrapper=OWN),
    said_once("MIG instances of a GPU", 3, "FAKECUDA_DEVICES=4 FAKECUDA_MIG=4", UNSEEN, ANY_CASE, wrapper=OWN),
)
