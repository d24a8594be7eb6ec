#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The host executor on device buffers, which are copied piece by piece while its steps run.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

# no device memory for links, and no device that ranks share: all collectives come here. ALGORITHM CHANNELS SLOT_BYTES NP MEMORY
while read -r algorithm channels slot_bytes np memory; do
    [ -n "$algorithm" ] || continue
    FAKECUDA_DEVICES=8 FAKECUDA_RATE=100 GPURING_MEMORY=$memory GPURING_MATRIX=random GPURING_BUDGET=1 on_devices \
        "in pieces: $algorithm, $channels channels, slots of $slot_bytes bytes, $np ranks, $memory memory" good_by_staging \
        $np $small --mca coll_gpuring_device_pool_mib 1 --mca coll_gpuring_stage_bytes 1024 \
        --mca coll_gpuring_algorithm "$algorithm" --mca coll_gpuring_channels "$channels" \
        --mca coll_gpuring_slot_bytes "$slot_bytes" -- matrix </dev/null
done < <(rows_of_depth '^(ring|tree|flat)' <<END
ring  1 4096  4 device
tree  2 1024  5 mixed
flat  3 2048  3 other
chain 2 16384 3 device
auto  4 65536 2 managed
END
)
pieces='--mca coll_gpuring_device_pool_mib 1 --mca coll_gpuring_stage_bytes 2048'
in_all && GPURING_MEMORY=mixed FAKECUDA_DEVICES=8 FAKECUDA_RATE=100 on_devices "in pieces: nonblocking" good_by_staging \
    3 $small $pieces -- $(eight_in nonblocking)
GPURING_MEMORY=device FAKECUDA_RATE=100 on_devices "in pieces: persistent" good_by_staging 2 $small $pieces -- $(eight_in persistent)

GPURING_MEMORY=device FAKECUDA_LOG=$work/pieces on_devices "in pieces: each byte is copied once, nothing is allocated" \
    good_by_staging 3 $small --mca coll_gpuring_stage_bytes 262144 -- staged $(depth 2 6)
in_all && GPURING_MEMORY=device FAKECUDA_LOG=$work/whole GPURING_PIECES=1 on_devices "stage_bytes 0: the same, each buffer at once" \
    good_by_staging 3 $small --mca coll_gpuring_stage_bytes 0 -- staged

# rank 0 has its buffers in host memory: it is told that others have not, and cuts its calls as they do
wrapper host_on_0 '[ $OMPI_COMM_WORLD_RANK != 0 ] || export GPURING_MEMORY=host'
WRAPPER=$work/host_on_0 GPURING_MEMORY=device FAKECUDA_LOG=$work/mixed FAKECUDA_DELAY=$(depth 0 9) on_devices \
    "in pieces and segments: rank 0 has its buffers in host memory" good_by_staging 3 $small --mca coll_gpuring_cuda 1 \
    --mca coll_gpuring_stage_bytes 262144 -- staged $(depth 2 6)

tap_done
