#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Derived datatypes, user-defined operations, communicators of every origin, and arguments that MPI ignores.
. "$(dirname "$0")/lib.sh"

slots='--mca coll_gpuring_slot_bytes 512'
for np in $(depth '3' '2 3 5'); do
    programs "derived datatypes" good_through_gpuring 2 $np -- --profile=types
    programs "communicators" good_through_gpuring 1 $np -- --profile=comms
    test_program "communicators of grids and sessions, $np ranks" $np -- comms
    programs "user-defined operations" all_good 1 $np -- --profile=users
    tap_check "    they fall back" seen '^# gpuring calls [0-9]+ handovers [1-9][0-9]'
    programs "ignored arguments" good_through_gpuring 2 $np -- --profile=nonsense
done
for algorithm in $(depth 'flat' 'ring chain tree flat'); do
    programs "derived datatypes, $algorithm, slots of 512 bytes" good_through_gpuring 1 5 $slots \
        --mca coll_gpuring_algorithm $algorithm -- --profile=types --max-bytes=40000
    programs "ignored arguments, $algorithm, slots of 512 bytes" good_through_gpuring 1 3 $slots \
        --mca coll_gpuring_algorithm $algorithm -- --profile=nonsense --max-bytes=40000
done
in_all && GR_HOST=0 programs "ignored arguments, without gpuring" all_good 2 3 --mca coll ^gpuring -- --profile=nonsense
# too large to be packed: 16 MiB per rank
grun 2 --mca coll_gpuring_pack_mib 15 -- packing
tap_check "data with gaps of more than pack_mib are not packed whole" all_good
tap_check "they fall back" seen '^# gpuring calls [0-9]+ handovers 12 '

tap_done
