#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that share one device: one kernel of one of them does a call of all, on the fake CUDA driver.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

stock_segments_to_work # jobs are killed
export FAKECUDA_DEVICES=1 FAKECUDA_MPS=0
leader_calls() { counted 'leader calls'; }
# all calls on devices had a leader
good_by_leader() { good_on_devices && [ "$(leader_calls)" -eq "$(device_calls)" ]; }
good_where_mapped() { good_by_leader && [ "$(counted 'zero copy calls')" -gt 0 ]; }
good_where_copied() { good_by_leader && [ "$(counted 'zero copy calls')" -eq 0 ]; }
good_by_channels() { good_on_devices && [ "$(leader_calls)" -eq 0 ]; }
avx='--mca op ^avx'

# ---- every collective, type, form and kind of memory ----

export GPURING_MEMORY=device
for np in $(depth '3 8' '2 3 4 5 8'); do
    GPURING_MEMORY=mixed on_devices "everything, $np ranks" good_by_leader "$np" $avx -- $(any_case)
done
# what the driver gives no handle of is copied
while read -r memory judge; do
    GPURING_MEMORY=$memory on_devices "everything, 2 ranks, $memory memory" "$judge" 2 $avx -- $(any_case) </dev/null
done < <(rows_of_depth '^(device|pinned)' <<END
device     all_good
managed    good_where_copied
pool       good_where_copied
vmm        good_where_copied
pinned     all_good
registered all_good
END
)
in_all && on_devices "every type with every operation" good_by_leader 3 $avx -- $(eight_in every --count=0 --beyond)

# ---- the same bits whoever leads, wherever buffers lie ----

GPURING_DELAYS=${GPURING_SEED:-$(date +%s)}
export GPURING_DELAYS
echo "# GPURING_DELAYS=$GPURING_DELAYS"
for np in $(depth 4 '2 4 5 8'); do
    FAKECUDA_DELAY=3 on_devices "sums in the order of ranks, $np ranks" good_where_mapped "$np" $avx -- leader $(depth '' 10)
done
FAKECUDA_REUSE=1 on_devices "the same, where addresses are used again at once" good_where_mapped 3 $avx -- leader
FAKECUDA_IPC=none on_devices "the same without CUDA IPC: through pinned memory" good_where_copied 3 $avx -- leader $(depth '' 10)
in_all || FAKECUDA_CHECK=0 on_devices "the same in pieces" good_where_mapped 2 $avx -- leader 9
FAKECUDA_WEAK=5 FAKECUDA_SCHED=lag:3 on_devices "the same in weak memory, a thread lags" good_where_mapped 2 $avx -- leader
in_all && FAKECUDA_MEM=64 on_devices "the same where memory is short" good_by_leader 4 $avx -- leader

# ---- order ----

on_devices "opposite orders on several communicators" good_by_leader 3 $avx -- $(eight_in orders)
on_devices "crossed" good_by_leader 4 $avx -- devices crossed
on_devices "threads" good_by_leader 2 $avx -- nbthreads $(depth 1 5)
on_devices "nonblocking" good_by_leader 2 $avx -- $(eight_in nonblocking)
on_devices "persistent" good_where_mapped 2 $avx -- $(eight_in persistent)
in_all && on_devices "communicators of every origin" good_by_leader 3 $avx -- $(eight_in comms)
FAKECUDA_REUSE=1 TEST_LIMIT=900 on_devices "communicators and their buffers: nothing grows" good_by_leader 2 $avx \
    -- churn $(depth 50 2500)
FAKECUDA_SYNC_ALLOC=1 on_devices "allocation waits for kernels that wait for other ranks" good_by_leader 3 $avx -- devices busy
FAKECUDA_REUSE=1 on_devices "the application maps other ranks' memory by CUDA IPC itself" good_by_leader 2 $avx \
    --mca coll_gpuring_cuda 1 -- devices sharing
for where in $(depth own 'own foreign'); do
    FAKECUDA_DELAY=5 on_devices "order against the default stream, $where" good_by_leader 3 $avx -- streams $where
    FAKECUDA_DELAY=5 on_devices "while a graph is captured, order as $where" good_by_leader 3 $avx -- streams $where capture
done
FAKECUDA_SYNC_ALLOC=1 FAKECUDA_DELAY=5 TEST_LIMIT=100 on_devices "nonblocking calls do not wait for what is put behind them" \
    good_where_mapped 3 $avx -- streams beside
on_devices "progress without calls" good_by_leader 3 $avx -- devices progress
on_devices "the current context" good_by_leader 2 $avx -- devices context
GPURING_MEMORY=mixed GR_HOST=1 TEST_LIMIT=600 on_devices "random programs" good_on_devices 3 $avx -- random_programs \
    --seed=$GPURING_DELAYS --count=9999 --seconds=$(depth 3 30)

# ---- when there is one ----

FAKECUDA_DEVICES=2 on_devices "several devices, some shared, no MPS: the host does it" good_by_staging 4 $small -- devices crossed
FAKECUDA_DEVICES=2 FAKECUDA_MPS=1 on_devices "several devices, some shared, MPS: kernels of all ranks" good_by_channels 4 $small \
    -- devices crossed
FAKECUDA_DEVICES=2 on_devices "a device for each rank: kernels of all ranks" good_by_channels 2 $small -- devices crossed
on_devices "one device, an algorithm is forced: kernels of all ranks" good_by_channels 2 $small \
    --mca coll_gpuring_algorithm ring -- devices crossed
on_devices "the leader is forced" good_by_leader 2 $small --mca coll_gpuring_algorithm leader -- devices crossed

# ---- a rank that resets its device, or does not come ----

FAKECUDA_DELAY=5 on_devices "the leader resets its device between calls" good_by_leader 2 $avx -- leader reset 0
FAKECUDA_DELAY=5 on_devices "another rank resets its device between calls" good_by_leader 2 $avx -- leader reset 1
on_devices "calls that differ: an error" all_good 3 $avx -- devices differ
on_devices "a rank that has come and is stopped: others lead" good_by_leader 3 $avx -- leader takeover
# ROW WHOSE-PID PATTERN [OPTIONS...] -- PROGRAM...: the pattern is seen; then that rank continues
named_then_continued() {
    local text=$1 pid="s/^# rank $2 pid \([0-9]*\)\$/\1/p" pattern=$3
    gstart "${@:4}"
    tap_check "$text: it is named" wait_for 60 seen "gpuring: rank [0-9]+ of .* waits .*, one kernel for all ranks, $pattern\$"
    kill -CONT "$(sed -n "$pid" "$out")"
    gwait
    tap_check "$text: continued, all finish right" good_by_leader
}
patience='--mca coll_gpuring_timeout 1'
named_then_continued "a rank is stopped before it comes" 1 'waits for rank 1' 3 $avx $patience -- stall stop allreduce 3 persistent
named_then_continued "the leader is stopped in its kernel" 0 'waits for that of rank 0' 2 $avx $patience -- leader stopped
gstart 3 --enable-recovery $avx $patience -- stall kill allreduce 3 persistent
tap_check "a killed rank is named" wait_for 60 seen 'gpuring: rank [0-9]+ of .* waits .*, one kernel for all ranks, waits for rank 1$'
kill_all "$job"
job=

tap_done
