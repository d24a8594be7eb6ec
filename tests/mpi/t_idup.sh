#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Collectives that Open MPI starts from opal_progress, beside the application's blocking ones; and the tags of gpuring's
# messages, which no message of the application may have.
. "$(dirname "$0")/lib.sh"

for np in $(depth '3' '2 3 5'); do
    test_program "idup, $np ranks" $np -- idup 10
    test_program "idup, $np ranks, another thread progresses" $np -- idup 6 thread
    test_program "idup, $np ranks, progress thread" $np --mca coll_gpuring_progress_thread 1 -- idup 10
done
test_program "idup, 3 ranks, small slots" 3 --mca coll_gpuring_channels 2 --mca coll_gpuring_slots 2 \
    --mca coll_gpuring_slot_bytes 512 -- idup 4

# mtl/ofi with 20 bits of tag: what lies below them wraps round to the application's tags
if [ "$OMPI_SERIES" -lt 5 ] && "$OMPI_INFO" | grep -q 'MCA mtl: ofi'; then
    test_program "tags of 20 bits, messages for any tag" 2 --mca pml cm --mca mtl ofi --mca mtl_ofi_tag_mode ofi_tag_2 \
        --mca mtl_ofi_provider_include tcp -- wildcards 2
else
    tap_skip "tags of 20 bits, messages for any tag" "no mtl/ofi whose tag mode can be set in this Open MPI"
fi

tap_done
