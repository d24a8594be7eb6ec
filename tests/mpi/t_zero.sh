#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Zero copy: kernels store results in other ranks' receive buffers, on the fake CUDA driver.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

simple="--mca op ^avx --mca coll_gpuring_protocol simple"
zero="$small --mca coll_gpuring_protocol simple --mca coll_gpuring_zero_copy 0"

# calls for which this process had others' buffers mapped
zero_calls() { counted 'zero copy calls'; }
good_past_slots() { good_on_devices && [ "$(zero_calls)" -gt 0 ]; }
good_through_slots() { all_good && [ "$(zero_calls)" -eq 0 ]; }

# ---- every collective, algorithm, form and kind of memory ----

for np in $(depth 3 '2 3 5'); do
    for memory in $(depth mixed 'device mixed'); do
        GPURING_MEMORY=$memory on_devices "everything, $np ranks, $memory memory" \
            good_past_slots $np $zero -- $(any_case) --seconds=2
    done
done
# MEMORY JUDGE: what the driver gives no handle of goes through slots
while read -r memory judge; do
    GPURING_MEMORY=$memory on_devices "everything, 3 ranks, $memory memory" "$judge" 3 $zero -- $(any_case) </dev/null
done < <(rows_of_depth '^other' <<END
managed    good_through_slots
pinned     good_through_slots
registered good_through_slots
pool       good_through_slots
vmm        good_through_slots
other      all_good
END
)
for algorithm in $(depth tree 'ring chain tree flat twoshot'); do
    GPURING_MEMORY=device on_devices "$algorithm, 4 ranks" good_past_slots 4 $zero \
        --mca coll_gpuring_algorithm $algorithm -- $(any_case) --seconds=2
done
for profile in $(depth persistent 'types nonblocking persistent comms'); do
    GPURING_MEMORY=device on_devices "$profile" good_past_slots 3 $zero -- $(eight_in $profile)
done

# ---- buffers that come and go ----

export GPURING_MEMORY=device
rounds=$(depth 100 2500)
FAKECUDA_REUSE=1 TEST_LIMIT=900 on_devices "$((2 * rounds)) communicators and their buffers: nothing grows" good_past_slots 2 $zero \
    -- churn "$rounds"
FAKECUDA_REUSE=1 on_devices "addresses are used again at once" good_past_slots 3 $zero -- $(any_case) --seconds=$(depth 1 2)
FAKECUDA_LOG=$work/steady on_devices "calls after the first ones allocate nothing" good_past_slots 3 $zero -- devices steady

# ---- order ----

in_all && FAKECUDA_DELAY=5 on_devices "order against the default stream" good_past_slots 3 $zero -- streams own
in_all && FAKECUDA_DEVICES=1 FAKECUDA_SMS=2 on_devices "opposite order, four ranks on one device, more channels than SMs" \
    good_past_slots 4 $simple --mca coll_gpuring_zero_copy 0 --mca coll_gpuring_device_channels 8 --mca coll_gpuring_device_slot_bytes 4096 -- devices crossed
in_all && FAKECUDA_WEAK=5 FAKECUDA_SCHED=lag:3 on_devices "weak memory, a thread lags" good_past_slots 3 $zero -- devices crossed
in_all && FAKECUDA_WEAK=9 FAKECUDA_SCHED=rand:4 FAKECUDA_JITTER=2 on_devices "weak memory, any order, jitter" good_past_slots 3 \
    $zero -- devices crossed

# ---- where it cannot be, or is not wanted ----

FAKECUDA_IPC=none on_devices "no CUDA IPC" good_through_slots 3 $zero -- devices crossed
FAKECUDA_PEER=none on_devices "devices that do not reach each other" all_good 4 $zero -- devices crossed
on_devices "zero_copy -1" good_through_slots 3 $simple --mca coll_gpuring_zero_copy -1 -- devices crossed
wrapper host_on_rank_0 '[ $OMPI_COMM_WORLD_RANK != 0 ] || GPURING_MEMORY=host'
WRAPPER=$work/host_on_rank_0 on_devices "rank 0 has its buffers in host memory" good_on_devices 3 $zero \
    --mca coll_gpuring_cuda 1 -- devices single

# from 1 MiB on, which is said
PROGDIR=$(dirname "$BENCH") grun 2 --mca coll_gpuring_verbose 2 --mca coll_gpuring_protocol simple -- gpuring_bench allreduce \
    -d cuda -c -m 524288:1048576 -i 1 -x 1 -B 10
straight='zero copy'
from_one_mib() { [ "$rc" -eq 0 ] && seen ", 1048576 bytes on devices.*$straight" && not_seen ", 524288 bytes on devices.*$straight"; }
tap_check "by default, calls of 1 MiB and more" from_one_mib

# ---- a rank that does not come ----

gstart 3 $zero --mca coll_gpuring_timeout 1 -- stall stop allgather 3 persistent
named() { grep -aE "gpuring: rank [02] of .* waits .*on devices, channel" "$out" | grep -qaE 'waits for rank( [02])* 1\b'; }
tap_check "a stopped rank is named where kernels wait" wait_for 60 named
kill -CONT "$(sed -n 's/^# rank 1 pid \([0-9]*\)$/\1/p' "$out")"
gwait
tap_check "continued, all finish right" good_on_devices

tap_done
