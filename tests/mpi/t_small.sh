#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Small messages: storms of them among ranks of which some are slow, and no allocation in a warm call.
. "$(dirname "$0")/lib.sh"

for np in $(depth 5 '2 3 4 5 8'); do
    test_program "storms of small messages, $np ranks" $np -- smallring $((np < 5 ? 2 : 1))
done
for algorithm in $(depth mailbox 'ring chain tree flat mailbox'); do
    test_program "storms of small messages, $algorithm, small slots" 3 --mca coll_gpuring_algorithm $algorithm \
        --mca coll_gpuring_channels 2 --mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes 512 -- smallring 1
done
for np in $(depth 3 '2 9'); do
    test_program "calls that are nearly alike, $np ranks" $np -- alike
done
for np in $(depth 2 '2 3'); do
    test_program "no allocations, $np ranks" $np -- nomalloc
done
for algorithm in $(depth 'chain mailbox' 'ring chain tree flat mailbox'); do
    test_program "no allocations, $algorithm" 3 --mca coll_gpuring_algorithm $algorithm -- nomalloc 200
done

tap_done
