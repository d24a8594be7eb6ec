#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Barriers: a rank that has not entered holds all others back, in all forms and ways; a rank that does not come is named.
. "$(dirname "$0")/lib.sh"

forms_taken() { # WHAT: each form was done by gpuring, and in this way
    good_through_gpuring && [ "$(lines_seen ': gpuring took [1-9]')" -ge 2 ] && seen "^count coll_gpuring_algorithm_$1 [1-9]" &&
        seen '^count coll_gpuring_calls_barrier [1-9]'
}

for np in $(depth '2 3 4 7' '2 3 4 5 7 8 12'); do
    grun "$np" -- barrier "$work/flags" $(depth 1 4)
    tap_check "barrier, $np ranks: mailboxes" forms_taken mailbox
done
# as with too many ranks for mailboxes
grun 5 --mca coll_gpuring_mailbox_bytes 0 -- barrier "$work/flags" 1
tap_check "barrier, 5 ranks, no mailboxes: dissemination" forms_taken dissemination
grun 4 --mca coll_gpuring_algorithm_barrier dissemination --mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes 256 \
    -- barrier "$work/flags" 1
tap_check "barrier, 4 ranks, dissemination, small slots" forms_taken dissemination
test_program "barrier, 3 ranks, a thread" 3 --mca coll_gpuring_progress_thread 1 -- barrier "$work/flags" 1

GR_HOST=0 grun 3 -- barrier "$work/flags" 1
tap_check "coll_gpuring_host 0: left to others" good_without_gpuring
grun 4 --mca coll_gpuring_pool_mib 1 --mca coll_gpuring_slot_bytes 1048576 --mca coll_gpuring_mailbox_bytes 0 \
    --mca coll_gpuring_setup_mib 64 \
    -- barrier "$work/flags" 1
tap_check "no shared memory for links: right all the same" all_good
tap_check "    and blocking barriers fall back" seen '^count coll_gpuring_handover_setup [1-9]'

stopped() { seen "gpuring: rank 0 of .* waits.* barrier.* sequence.* waits for rank 1"; }
# a second would be too short on a busy machine: who polls seldom is not taken to wait
gstart 3 --mca coll_gpuring_timeout 5 -- barrier "$work/flags" stop
tap_check "a rank that does not come is named" wait_for 60 stopped
kill -CONT "$(sed -n 's/^# rank 1 pid \([0-9]*\)$/\1/p' "$out")"
gwait
tap_check "    and the barrier ends when it comes" good_through_gpuring

# where some rank may have a GPU, calls with buffers begin with an agreement; barriers among them do not
fake=${FAKECUDA:?the directory of the fake driver}
if [ -e "$fake/libcuda.so.1" ]; then
    export LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKECUDA_SMS=64 FAKECUDA_DEVICES=2
    grun 3 -- barrier "$work/flags" 1
    tap_check "barrier, 3 ranks with GPUs: mailboxes" forms_taken mailbox
    grun 3 --mca coll_gpuring_mailbox_bytes 0 -- barrier "$work/flags" 1
    tap_check "barrier, 3 ranks with GPUs: dissemination" forms_taken dissemination
fi

tap_done
