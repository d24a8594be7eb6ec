#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers on devices, on the fake CUDA driver: every collective, type, operation, form and kind of memory is right.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

for np in $(depth 5 '2 3 5'); do
    for memory in device mixed; do
        GPURING_MEMORY=$memory GPURING_MATRIX=random GPURING_BUDGET=1 on_devices "everything, $np ranks, $memory memory" \
            good_on_devices $np $small -- matrix
    done
done
for memory in $(depth 'managed pool vmm' 'managed pinned pool other vmm registered'); do
    GPURING_MEMORY=$memory GPURING_MATRIX=random GPURING_BUDGET=1 on_devices "everything, 3 ranks, $memory memory" \
        all_good 3 $small -- matrix
done
for np in $(depth 2 '2 4'); do
    GPURING_MEMORY=device GPURING_MATRIX=types on_devices "every type with every operation, $np ranks" good_on_devices $np \
        $small -- matrix
done
in_all && GPURING_MEMORY=mixed on_devices "types with gaps" all_good 2 $small -- types # without: t_random has such types
for memory in $(depth mixed 'device mixed'); do
    GR_HOST=1 GPURING_MEMORY=$memory on_devices "ignored arguments, $memory memory" good_on_devices 3 $small -- ignored
done
in_all && GR_HOST=1 GPURING_MEMORY=mixed on_devices "ignored arguments, in pieces of 512 bytes" good_on_devices 3 $small \
    --mca coll_gpuring_stage_bytes 512 -- ignored
GPURING_MEMORY=mixed on_devices "communicators of every origin" good_on_devices 3 $small -- comms
GPURING_MEMORY=mixed on_devices "user-defined operations" all_good 3 $small -- userops
GPURING_MEMORY=mixed on_devices "nonblocking" good_on_devices 2 $small -- nonblocking $(depth 0 5)
GPURING_MEMORY=device on_devices "persistent" good_on_devices 2 $small -- persistent $(depth 0 3)

tap_done
