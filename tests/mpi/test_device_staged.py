# SPDX-License-Identifier: BSD-3-Clause
"""The host executor on device buffers, which are copied piece by piece while its steps run."""

from rows import *
from rows.devices import *

ENV = DEVICES | {"GPURING_MEMORY": "device"}
# no device memory for links, and no device that ranks share: all collectives come here
APART = "FAKECUDA_DEVICES=16 FAKECUDA_RATE=100"
# buffers lie on the next device, too: two are each rank's alone
TWO_EACH = each_rank("export CUDA_VISIBLE_DEVICES=$((2 * OMPI_COMM_WORLD_RANK)),$((2 * OMPI_COMM_WORLD_RANK + 1))")
PIECES = f"{SMALL} device_pool_mib=1 stage_bytes=2048"
ROUNDS = depth(2, 6)
test_rows = table(
    row("in pieces: $a, $channels channels, slots of $bytes bytes, $n ranks, $memory memory", "$n",
        f"{APART} GPURING_MEMORY=$memory {SMALL} device_pool_mib=1 stage_bytes=1024 algorithm=$a "
        f"channels=$channels slot_bytes=$bytes -- {ANY_CASE} --max-bytes={depth(40000, 1 << 30)}", good_by_staging,
        wrapper=TWO_EACH, rows="""a channels bytes n memory
ring  1 4096  4 device
tree  2 1024  3 mixed
|
flat  3 2048  3 other
tree  2 1024  5 mixed
chain 2 16384 3 device
auto  4 65536 2 managed"""),
    row("in pieces: nonblocking", "| 3", f"GPURING_MEMORY=mixed {APART} {PIECES} -- eight_in nonblocking", good_by_staging,
        wrapper=TWO_EACH),
    row("in pieces: persistent", 2, f"FAKECUDA_RATE=100 {PIECES} -- eight_in persistent", good_by_staging),
    row("in pieces: each byte is copied once, nothing is allocated", 3,
        f"FAKECUDA_LOG=$work/pieces {SMALL} stage_bytes=262144 -- staged {ROUNDS}", good_by_staging),
    row("stage_bytes 0: the same, each buffer at once", "| 3",
        f"FAKECUDA_LOG=$work/whole GPURING_PIECES=1 {SMALL} stage_bytes=0 -- staged", good_by_staging),
    # rank 0 has its buffers in host memory: it is told that others have not, and cuts its calls as they do
    row("in pieces and segments: rank 0 has its buffers in host memory", depth(2, 3),
        f"FAKECUDA_LOG=$work/mixed FAKECUDA_DELAY={depth(0, 9)} {SMALL} cuda=1 stage_bytes=262144 -- staged {ROUNDS}",
        good_by_staging, wrapper=each_rank("[ $OMPI_COMM_WORLD_RANK != 0 ] || export GPURING_MEMORY=host")),
)
