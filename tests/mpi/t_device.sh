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
export GPURING_MEMORY=mixed
for profile in types nonsense comms nonblocking $(depth "" persistent); do
    programs "$profile" good_on_devices $(depth 1 4) 3 $small -- --profile=$profile
done
programs "user-defined operations" all_good $(depth 1 4) 3 $small -- --profile=users
GR_HOST=1 programs "ignored arguments, host calls are ours, too" good_on_devices $(depth 1 4) 3 $small \
    --mca coll_gpuring_stage_bytes 512 -- --profile=nonsense
in_all && GPURING_MEMORY=device on_devices "many persistent requests" good_on_devices 2 $small -- persistent

tap_done
