#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Persistent collectives: made in one order, started in any, also when there are not enough links for all.
. "$(dirname "$0")/lib.sh"

profile='--profile=persistent'
for np in $(depth 5 '2 3 4 5 8'); do
    programs "persistent" good_through_gpuring 2 $np -- $profile
    programs "persistent, the eight" all_taken 1 $np -- $profile,eight --no-user-ops --no-comms
    test_program "many requests, and types freed once they are made, $np ranks" $np -- persistent types
done
slots='--mca coll_gpuring_channels 2 --mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes 512'
for algorithm in $(depth 'tree' 'auto ring chain tree flat mailbox'); do
    programs "persistent, $algorithm, small slots" good_through_gpuring 2 4 --mca coll_gpuring_algorithm $algorithm $slots \
        -- $profile,types --max-bytes=40000
done

grun 4 --mca coll_gpuring_pool_mib 1 -- persistent
tap_check "a pool of 1 MiB: right results" all_good
in_all && programs "persistent, with a thread" good_through_gpuring 2 3 --mca coll_gpuring_progress_thread 1 -- $profile

tap_done
