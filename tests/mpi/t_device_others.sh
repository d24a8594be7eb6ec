#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Collectives without kernels, and all on intercommunicators, with buffers on the fake CUDA driver's devices.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

while read -r np memory bytes; do
    GPURING_MEMORY=$memory programs "other collectives, $memory memory, messages over $bytes bytes in pieces" good_falls_back \
        $(depth 2 5) "$np" $small --mca coll_gpuring_stage_bytes $bytes -- --profile=others </dev/null
done < <(rows_of_depth '^(3 mixed|2|3 managed)' <<END
3 mixed   65536
2 mixed   65536
3 device  512
4 mixed   64
2 other   8192
3 managed 100
5 other   65536
END
)
export GPURING_MEMORY=device
on_devices "MPI_Reduce_local" all_good 1 -- others local
on_devices "MPI_Reduce_local in pieces" all_good 1 --mca coll_gpuring_stage_bytes 512 -- others local
FAKECUDA_LOG=$work/others on_devices "other collectives allocate nothing" good_falls_back 3 $small -- others steady
FAKECUDA_LOG=$work/copies on_devices "each byte is copied once" good_falls_back 3 $small -- others copies
tap_check "each byte is copied once: copies were counted" not_seen 'SKIP'
FAKECUDA_LOG=$work/parcels FAKECUDA_DELAY=3 on_devices "large messages are copied in pieces, on both sides at a time" \
    good_falls_back 3 $small --mca coll_gpuring_stage_bytes 32768 -- others parcels

tap_done
