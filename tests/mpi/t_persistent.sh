#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Persistent collectives: made in one order, started in any, also when there are not enough links for all.
. "$(dirname "$0")/lib.sh"

for np in $(depth '2 5' '2 3 4 5 8'); do
    test_program "persistent, $np ranks" $np -- persistent $(depth $((np < 5 ? 1 : 0)) $((np < 5 ? 2 : 1)))
    tap_check "persistent, $np ranks: gpuring takes each of the eight" [ "$(lines_seen ': gpuring took [1-9]')" -eq 8 ]
done
test_program "persistent, types freed once it is made" 3 -- persistent $(depth 0 1) types

slots=(--mca coll_gpuring_channels 2 --mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes 512)
for algorithm in $(depth 'tree' 'auto ring chain tree flat mailbox'); do
    test_program "persistent, $algorithm, small slots" 4 --mca coll_gpuring_algorithm $algorithm "${slots[@]}" \
        -- persistent $(depth 0 1)
done

grun 4 --mca coll_gpuring_pool_mib 1 -- persistent 1
tap_check "a pool of 1 MiB: right results" all_good
test_program "persistent, with a thread" 3 --mca coll_gpuring_progress_thread 1 -- persistent $(depth 0 1)

tap_done
