#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Same inputs, ranks and parameters: same bits, in one job and in separate ones, whatever the timing, and in the
# blocking, nonblocking and persistent forms.
. "$(dirname "$0")/lib.sh"

hash_of() { sed -n 's/^# hash //p' "$out"; }
is_hash() { [ -n "$1" ] && [ "$1" = "$(hash_of)" ]; }

# each job has delays of its own
export GPURING_DELAYS=${GPURING_SEED:-$(date +%s)}
echo "# GPURING_SEED=$GPURING_DELAYS"
export GPURING_SEED=4711
job_of() { # NP [OPTIONS...] -- PROGRAM...
    GPURING_DELAYS=$((GPURING_DELAYS + 1))
    grun "$@"
}
for np in $(depth '3' '2 3 5 8'); do
    test_program "same bits within a job, $np ranks" $np -- determinism 6
    first=$(hash_of)
    for run in $(depth 2 '2 3'); do
        job_of $np -- determinism 3
        tap_check "same bits in job $run, $np ranks" is_hash "$first"
    done
done
for algorithm in $(depth 'flat' 'ring chain tree flat mailbox'); do
    test_program "same bits within a job, $algorithm" 5 --mca coll_gpuring_algorithm $algorithm \
        --mca coll_gpuring_channels 2 --mca coll_gpuring_slot_bytes 4096 -- determinism 6
    first=$(hash_of)
    job_of 5 --mca coll_gpuring_algorithm $algorithm --mca coll_gpuring_channels 2 \
        --mca coll_gpuring_slot_bytes 4096 -- determinism 3
    tap_check "same bits in job 2, $algorithm" is_hash "$first"
done

tap_done
