#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Derived datatypes, user-defined operations, and communicators of every origin. Calls with user-defined operations fall
# back, so that program need not have calls done by gpuring.
. "$(dirname "$0")/lib.sh"

for np in $(depth '3' '1 2 3 5'); do
    test_program "derived datatypes, $np ranks" $np -- types
    test_program "communicators, $np ranks" $np --mca op ^avx -- comms
    grun $np -- userops
    tap_check "user-defined operations, $np ranks" all_good
    # some communicators and results are made by operations of MPI's
    [ $np -eq 1 ] || tap_check "they fall back" seen '^# gpuring calls [0-9]{1,2} handovers [0-9]{3}'
done
for algorithm in $(depth '' 'ring chain tree flat'); do
    test_program "derived datatypes, $algorithm, slots of 512 bytes" 5 --mca coll_gpuring_algorithm $algorithm \
        --mca coll_gpuring_slot_bytes 512 -- types
done
# arguments that MPI does not look at: nonsense there
for np in $(depth 3 '2 3'); do
    test_program "ignored arguments, $np ranks" $np -- ignored
done
test_program "ignored arguments, flat, slots of 512 bytes" 3 --mca coll_gpuring_algorithm flat \
    --mca coll_gpuring_slot_bytes 512 -- ignored
grun 3 --mca coll ^gpuring -- ignored stock
tap_check "ignored arguments, without gpuring" all_good
# too large to be packed: 16 MiB per rank
grun 2 --mca coll_gpuring_pack_mib 15 -- packing
tap_check "data with gaps of more than pack_mib are not packed whole" all_good
tap_check "they fall back" seen '^# gpuring calls [0-9]+ handovers 12 '

tap_done
