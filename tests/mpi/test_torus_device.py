# SPDX-License-Identifier: BSD-3-Clause
"""Cartesian communicators with buffers on devices, on the fake CUDA driver: all collectives in all forms by the
algorithms that run along a torus, whose steps kernels read from tables."""

from rows import *
from rows.devices import *
from rows.timed import *

# each collective and form once on each communicator
ENV = DEVICES | {"GPURING_MEMORY": "device", "GPURING_BUDGET": "0"}
RINGS = "allreduce allgather allgatherv reduce_scatter reduce_scatter_block"
SAYS = "--mca op ^avx verbose=2"
SLOTS = f"{SAYS} device_slot_bytes=16384"
TORUS = f"{SMALL} torus=2x2"


def chosen(job):
    """What went so on devices, as rank 0 says it."""
    said = r"gpuring: {} on .* on devices .*: {} \(forced\), {}"
    end = getattr(job.row, "protocol", "") and f"{job.row.protocol},"
    return all(job.lines(said.format(coll, job.row.a, end)) for coll in job.row.colls.split())


def bench_along(algorithm):
    """Rows of a size without errors, by the algorithm."""
    return lines_seen(11, f"^ +[0-9]+ .* {algorithm} +0$")


test_rows = table(
    row("$grid, $a, $channels channels", "$grid", f"{SLOTS} algorithm=$a device_channels=$channels -- grids $grid",
        good_on_devices, chosen, rows=f"""grid a channels colls
2x2   swing     4 allreduce
|
2x2   mst       2 bcast reduce
2x2   suh-shin  2 alltoall
2x2   two-level 1 {RINGS} bcast reduce
2x2   node-tree 1 allreduce bcast reduce
2x2   bucket    1 {RINGS}
2x2   ordered   1 alltoall
4x2   bucket    4 {RINGS}
4x2   mst       1 bcast reduce
4x2   suh-shin  1 alltoall
2x2x2 swing     3 allreduce
2x2x2 mst       6 bcast reduce
2x2x2 ordered   1 alltoall
3x3   bucket    2 {RINGS}
3x3   swing     4 allreduce
3x3   ordered   1 alltoall
3x3   two-level 2 {RINGS} bcast reduce
3x3   node-tree 2 allreduce bcast reduce
3x3   doubling  2 {RINGS}
3x3   pat       2 {RINGS}
2x2   pairwise  2 alltoall
3x2   ring      3 {RINGS}"""),
    # Kernels that begin together: inside a node that is all that any mode of step timing does.
    row("$grid, step_sync $mode", "$grid", f"{SLOTS} step_sync=$mode report=summary -- grids $grid", good_on_devices,
        grid="2x2 | 4x2 2x2x2 3x3 4x4", mode="timed | start barrier",
        also={"$grid, step_sync $mode: a countdown each": starts_fit(20)}),
    # slots so small that a message of several blocks takes several, and a call several slices
    row("2x2, $a, 2 slots of 512 bytes", 4, f"{SAYS} device_slot_bytes=512 algorithm=$a device_slots=2 -- grids 2x2",
        good_on_devices, a="| bucket swing mst ordered two-level node-tree"),
    # each protocol; in lines each block of a message takes a slot
    row("2x2, $a, $protocol", 4, f"{SLOTS} algorithm=$a protocol=$protocol -- grids 2x2", good_on_devices, quick=False,
        also={"2x2, $a, $protocol: they are what was chosen": chosen}, rows="""protocol a colls
ll     bucket    allgather
ll     swing     allreduce
ll     mst       bcast
simple mst       reduce
ll     ordered   alltoall
ll     two-level reduce
ll     node-tree allreduce"""),
    # zero copy where channels have different peers
    row("2x2, $a, zero copy", 4, f"{SAYS} device_slot_bytes=4096 algorithm=$a protocol=simple zero_copy=0 device_channels=4 "
        "-- grids 2x2", good_on_devices, quick=False, rows="""a coll
bucket    allgather
swing     allreduce
mst       bcast
node-tree allreduce""", also={"2x2, $a, zero copy: it is what was chosen": of_row(
            lambda v: seen(rf"gpuring: {v.coll} on .*: {v.a} \(forced\), simple, .* zero copy"))}),
    # tables last as long as requests and communicators do, and nothing is made for a call
    row("persistent, bucket", "| 4", f"{TORUS} algorithm=bucket -- eight_in persistent", good_on_devices),
    row("nonblocking, swing", "| 4", f"{TORUS} algorithm_allreduce=swing -- eight_in nonblocking", good_on_devices),
    row("calls after the first ones allocate nothing", "| 4",
        f"FAKECUDA_LOG=$work/steady {TORUS} algorithm=bucket -- devices steady", good_on_devices),
    row("communicators come and go", "| 4", f"FAKECUDA_REUSE=1 {TORUS} algorithm=bucket -- churn 40", good_on_devices),
    row("links in pinned host memory", "| 4", f"FAKECUDA_IPC=none {TORUS} algorithm=bucket -- devices crossed",
        good_on_devices),
    row("memory of all kinds, mst", "| 4", f"GPURING_MEMORY=mixed {TORUS} algorithm=mst -- {ANY_CASE}",
        good_on_devices),
    # the benchmark says what ran
    row("gpuring_bench -d cuda -c: swing", "| 4", f"{TORUS} algorithm_allreduce=swing algorithm_alltoall=suh-shin -- "
        "gpuring_bench allreduce alltoall -d cuda -c -m 64:65536 -i 2 -x 1 -B 10", ended, bench_along("swing"),
        also={"gpuring_bench -d cuda -c: suh-shin": (ended, bench_along("suh-shin"))}),
    # what does not suit the torus stays at auto
    row("suh-shin on 3x2 stays at auto", "| 6", f"{SLOTS} torus=3x2 algorithm=suh-shin -- {ANY_CASE}",
        good_on_devices, also={"suh-shin on 3x2: nothing went so": r"!suh-shin \(forced\)"}),
    # by itself nothing goes along a torus
    row("auto on a grid", "| 4", f"{SLOTS} -- grids 2x2", good_on_devices, also={"auto on a grid takes none of them":
        "!: (bucket|swing|mst|ordered|suh-shin|two-level|node-tree|doubling|pat)"}),
)
