#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Nonblocking collectives: many at once, in different orders on different ranks, on communicators that are freed meanwhile,
# and going on while the program does something else.
. "$(dirname "$0")/lib.sh"

kinds=(nonblocking orders 'eight,freed --no-user-ops')
for np in $(depth 4 '2 3 4 5 8'); do
    for kind in "${kinds[@]}"; do
        programs "${kind%% *}" good_through_gpuring 1 $np -- --profile=$kind
    done
    programs "nonblocking, the eight" all_taken 1 $np -- --profile=nonblocking,eight --no-user-ops --no-comms
done
programs "freed while pending: nothing grows" all_good 1 3 -- --profile=eight,freed --no-user-ops --growth=$(depth 20 60)

# Small slots: a call is left and taken up again many times.
slots='--mca coll_gpuring_channels 2 --mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes 512'
for algorithm in $(depth 'ring' 'auto ring chain tree flat mailbox'); do
    for kind in "${kinds[@]}"; do
        programs "${kind%% *}, $algorithm, small slots" good_through_gpuring 1 3 --mca coll_gpuring_algorithm "$algorithm" $slots \
            -- --profile=$kind --max-bytes=40000
    done
done

test_program "going on during MPI_Test" 2 -- overlap
test_program "going on with a thread" 2 --mca coll_gpuring_progress_thread 1 -- overlap thread
for kind in "${kinds[@]}"; do
    programs "${kind%% *}, with a thread" good_through_gpuring 1 3 --mca coll_gpuring_progress_thread 1 -- --profile=$kind
done

tap_done
