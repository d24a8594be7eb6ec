#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Calls that do not match: all ranks get an error and no wrong result, and a line names both calls.
. "$(dirname "$0")/lib.sh"

boards="--mca coll_gpuring_algorithm mailbox --mca coll_gpuring_timeout 5 --mca coll_gpuring_timeout_abort 1"

# Rank 1 names its call and that of rank 0, which hears of it.
names_both() { # COMMUNICATOR CALL EXPECTED OTHER-CALL
    seen "gpuring: rank 1 of $1 has failed: $2, sequence 8: expects $3 of rank 0, which calls $4\."
}
told() { seen "gpuring: rank 0 of $1: rank 1 has failed \\($2"; }

for np in $(depth 3 '2 3 9'); do
    test_program "on boards, $np ranks" $np $boards -- mismatch
    tap_check "bcast of other sizes, $np ranks: both are named" names_both 'bcast, fewer' \
        bcast '360 bytes, root 0' 'bcast: 400 bytes, root 0'
    tap_check "bcast of other sizes, $np ranks: the root is told" told 'bcast, fewer' 'bcast, .*360 bytes'
    tap_check "allreduce and barrier, $np ranks: both are named" names_both 'allreduce, barrier' \
        barrier '1 bytes' 'allreduce: 400 bytes'
done
for np in $(depth 10 '10 17'); do
    test_program "on boards of groups, $np ranks" $np $boards -- mismatch 40
done

# All are too large for boards. In slots with copies, and where messages are fetched from the sender.
slots="--mca coll_gpuring_mailbox_bytes 0 --mca coll_gpuring_timeout 5 --mca coll_gpuring_timeout_abort 1"
for single_copy in 0 1; do
    test_program "through slots, 3 ranks, single copy $single_copy" 3 $slots --mca coll_gpuring_single_copy $single_copy \
        -- mismatch 100000 same
    tap_check "single copy $single_copy: both are named" names_both 'bcast, fewer' \
        bcast '360000 bytes, root 0' 'bcast: 400000 bytes, root 0'
done

# One waits for a post, the other one for links: nothing of the one's call reaches the other.
stock_segments_to_work
gstart 2 --mca coll_gpuring_timeout 1 -- mismatch 100 wait
each_says_its_own() {
    seen 'gpuring: rank 0 of .* waits .* in allreduce, .*: 400 bytes, ' &&
        seen 'gpuring: rank 1 of .* waits .* in allreduce, .*: 4000000 bytes, '
}
tap_check "a small and a large allreduce: each rank says what it waits in" wait_for 60 each_says_its_own
kill_all "$job"
job=

tap_done
