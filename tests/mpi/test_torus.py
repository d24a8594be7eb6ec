# SPDX-License-Identifier: BSD-3-Clause
"""Cartesian communicators, with torus algorithms: all collectives in all forms."""

import os

from rows import *

ENV = {"GPURING_BUDGET": os.environ.get("GPURING_BUDGET", "0")}  # each collective and form once on each communicator
RINGS = "allreduce allgather allgatherv reduce_scatter reduce_scatter_block"
BUCKET = "algorithm=bucket mailbox_bytes=0"


def good_along(job):
    """All good, and all of these collectives went so, as rank 0 says it."""
    return good_through_gpuring(job) and all(
        job.lines(f"gpuring: {coll} on .*: {job.row.a} \\(forced\\)") for coll in job.row.colls.split())


test_rows = table(
    row("$grid, $a, $channels channels", "$grid", "verbose=2 algorithm=$a channels=$channels -- grids $grid", good_along,
        rows=f"""grid a channels colls
4x2   suh-shin  1 alltoall
2x2x2 bucket    6 {RINGS}
2x2x2 mst       6 bcast reduce
3x3   swing     4 allreduce
3x3   two-level 2 {RINGS} bcast reduce
|
4x2   node-tree 2 allreduce bcast reduce
2x2x2 ordered   1 alltoall
3x3   doubling  2 {RINGS}
2x2x2 swing     3 allreduce
2x2x2 suh-shin  1 alltoall
3x3   auto      2
2x2   bucket    1 {RINGS}
2x2   swing     4 allreduce
2x2   mst       2 bcast reduce
2x2   ordered   1 alltoall
2x2   suh-shin  2 alltoall
2x2   two-level 1 {RINGS} bcast reduce
2x2   node-tree 1 allreduce bcast reduce
4x2   bucket    4 {RINGS}
4x2   swing     1 allreduce
4x2   mst       1 bcast reduce
4x2   ordered   2 alltoall
3x3   bucket    2 {RINGS}
3x3   mst       4 bcast reduce
3x3   ordered   1 alltoall
3x3   node-tree 2 allreduce bcast reduce
4x4   bucket    1 {RINGS}
4x4   swing     2 allreduce
4x4   mst       1 bcast reduce
4x4   ordered   1 alltoall
4x4   suh-shin  1 alltoall
2x2   auto      1"""),
    # slots so small that a message of several blocks takes several
    row("$grid, $a, 2 slots of 1024 bytes", "$grid", "algorithm=$a slots=2 slot_bytes=1024 -- grids $grid",
        grid="2x2 | 4x2 4x4", a="bucket | swing ordered two-level node-tree"),
    # these take ranks by their numbers, and need no torus; 5 are no power of two
    row("$np ranks: $a", "5 | 4", "--mca op ^avx verbose=2 algorithm=$a -- " + ANY_CASE, good_along, a="pat | doubling", colls=f"'{RINGS}'"),
    # which torus a communicator has, by the bits of a sum along it: extents, their order, lines, and who says so
    row("the torus of a key and of a grid", 8, f"{BUCKET} -- torus_of", also={
        "a key that does not fit is told": 'has the info key gpuring_torus = "3x3", which is not possible'}),
    row("the torus of the parameter, $torus", 8, f"{BUCKET} torus=$torus -- torus_of $torus", torus="2x4 | 2x2x2"),
    # the parameter, on communicators without a grid
    row("the parameter torus", 6, "verbose=2 torus=3x2 algorithm=$a -- hello_coll", good_along, a="bucket",
        colls="'allreduce allgather reduce_scatter'"),
    # what does not suit the torus stays at auto
    row("suh-shin on 3x2 stays at auto", 6, "verbose=2 torus=3x2 algorithm=suh-shin -- hello_coll", also={
        "suh-shin on 3x2: nothing went so": r"!suh-shin \(forced\)"}),
    row("no torus: nothing went along one", 4, "verbose=2 algorithm=bucket -- hello_coll", r"!bucket \(forced\)"),
    # by itself nothing goes along a torus inside a node
    row("auto on a grid", 4, "verbose=2 -- grids 2x2", also={"auto on a grid takes none of them":
        "!: (bucket|swing|mst|ordered|suh-shin|two-level|node-tree|doubling|pat)"}),
)
