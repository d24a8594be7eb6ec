#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Collectives without kernels, and all on intercommunicators, with buffers on the fake CUDA driver's devices.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

for row in $(depth 3:mixed '2:mixed 3:device 3:managed 4:mixed 5:other'); do
    GPURING_MEMORY=${row#*:} GPURING_BUDGET=$(depth 3 6) on_devices "other collectives, ${row%:*} ranks, ${row#*:} memory" \
        good_falls_back "${row%:*}" $small -- others
done
GPURING_MEMORY=device FAKECUDA_LOG=$work/others on_devices "other collectives allocate nothing" good_falls_back 3 $small \
    -- others steady
GPURING_MEMORY=device FAKECUDA_LOG=$work/copies on_devices "each byte is copied once" good_falls_back 3 $small -- others copies
tap_check "each byte is copied once: copies were counted" not_seen 'SKIP'

# their large messages go in pieces: nearly all are large here, or some. NP MEMORY STAGE_BYTES
while read -r np memory bytes; do
    GPURING_MEMORY=$memory GPURING_BUDGET=3 on_devices "other collectives in pieces of $bytes bytes, $np ranks, $memory memory" \
        good_falls_back $np $small --mca coll_gpuring_stage_bytes $bytes -- others </dev/null
done < <(rows_of_depth '^(2|3 managed)' <<END
3 device  512
4 mixed   64
2 other   8192
3 managed 100
END
)
in_all && GPURING_MEMORY=device FAKECUDA_LOG=$work/steady_pieces on_devices "other collectives in pieces allocate nothing" \
    good_falls_back 3 $small --mca coll_gpuring_stage_bytes 512 -- others steady
GPURING_MEMORY=device FAKECUDA_LOG=$work/parcels FAKECUDA_DELAY=3 on_devices "large messages are copied in pieces, on both sides at a time" \
    good_falls_back 3 $small --mca coll_gpuring_stage_bytes 32768 -- others parcels
tap_check "large messages are copied in pieces: copies were seen" not_seen 'SKIP'

tap_done
