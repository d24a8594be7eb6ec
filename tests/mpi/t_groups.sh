#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Small messages among more ranks than share one mailbox: groups of ranks, and grids for Alltoall. A rank that does not come is
# named, and one that dies ends the job.
. "$(dirname "$0")/lib.sh"

in_groups() { # LEVELS ROWS COLUMNS: right, and calls on all ranks went so
    good_through_gpuring && seen ": mailbox in groups on $1 levels" &&
        seen "alltoall on .*: mailbox in $2 rows of $3" && seen '^count coll_gpuring_algorithm_mailbox [1-9]'
}

# RANKS LEVELS ROWS COLUMNS
while read -r np levels rows columns; do
    grun "$np" --mca coll_gpuring_verbose 2 -- groups $(depth 1 3) </dev/null
    tap_check "$np ranks: $levels levels, $rows x $columns" in_groups "$levels" "$rows" "$columns"
done < <(rows_of_depth '^16 ' <<<'10 2 2 5
16 2 4 4
17 2 1 17
40 2 5 8
64 2 8 8
80 3 8 10')

forms_taken() { good_through_gpuring && seen '^count coll_gpuring_algorithm_mailbox [1-9]'; }
for np in $(depth 12 '12 20'); do
    grun "$np" -- barrier "$work/flags" 1
    tap_check "barrier, $np ranks" forms_taken
done
grun 12 --mca coll_gpuring_mailbox_bytes 0 -- groups 1
tap_check "12 ranks, no mailboxes" good_through_gpuring
only_in_all
test_program "12 ranks, a progress thread" 12 --mca coll_gpuring_progress_thread 1 -- groups 2
test_program "12 ranks, mailboxes of 64 bytes" 12 --mca coll_gpuring_mailbox_bytes 64 -- groups 2
test_program "storms of small messages, 12 ranks" 12 -- smallring 1

# ranks 0, 4, ... lead groups of 4; the stopped one is the second of the first
stopped() { seen 'gpuring: rank 0 of .* waits.* barrier.* sequence.* mailbox, level 0, step 1 \(take\), waits for rank 1'; }
gstart 12 --mca coll_gpuring_timeout 5 -- barrier "$work/flags" stop
tap_check "a rank that does not come is named" wait_for 120 stopped
tap_check "    and the leader of another group waits for the first" wait_for 60 seen \
    'gpuring: rank 4 of .* waits.* barrier.* mailbox, level 1, step 0 \(take\), waits for rank 0'
kill -CONT "$(sed -n 's/^# rank 1 pid \([0-9]*\)$/\1/p' "$out")"
gwait
tap_check "    and the barrier ends when it comes" good_through_gpuring

stock_segments_to_work
named() { seen 'gpuring: rank 0 of .* waits.* allreduce.* mailbox, level 0, step 1 \(take\), waits for rank 1'; }
gstart 12 --mca coll_gpuring_timeout 5 -- stall stop allreduce 3 nonblocking
tap_check "nonblocking, a rank that does not come is named" wait_for 120 named
kill -CONT "$(sed -n 's/^# rank 1 pid \([0-9]*\)$/\1/p' "$out")"
gwait
tap_check "    and all finish right when it comes" good_through_gpuring
gstart 12 --enable-recovery --mca coll_gpuring_timeout 5 -- stall kill allreduce
tap_check "a killed rank is named" wait_for 120 named
kill_all "$job"
job=

tap_done
