#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_gpuring_step_sync: right results in every mode, on tori and off them, with late and stopped ranks, and a report.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/timed_lib.sh"

slots=(--mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes 2048)
while read -r torus mode; do
    test_program "$mode on $torus" $((${torus//x/*})) --mca coll_gpuring_step_sync "$mode" --mca coll_gpuring_torus "$torus" \
        --mca coll_gpuring_mailbox_bytes 0 --mca coll_gpuring_report summary -- timed "$torus" 3 </dev/null
    tap_check "$mode on $torus: the report says so" report_fits "$mode" 20
done < <(rows_of_depth '^2x2  ' <<END
2x2   start
2x2   barrier
2x2   timed
2x2x2 timed
END
)

# Real grids, with reorder, as rings and lines, their rows and columns (MPI_Cart_sub), and by the info key: all collectives in
# all forms, each once, each by what runs along a torus. Without timing: test_torus.py.
export GPURING_BUDGET=0
along=()
for coll in allreduce:swing allgather:bucket reduce_scatter:bucket bcast:mst reduce:mst alltoall:ordered; do
    along+=(--mca "coll_gpuring_algorithm_${coll%:*}" "${coll#*:}")
done
went_along() { local way; for way; do seen "^# [a-z_]+ +host +$way " || return 1; done; }
for grid in $(depth 2x2 '2x2 4x2 2x2x2 3x3 4x4'); do
    for mode in $(depth 'barrier timed' 'start barrier timed'); do
        test_program "$mode on the grid $grid" $((${grid//x/*})) --mca coll_gpuring_step_sync $mode "${along[@]}" \
            --mca coll_gpuring_channels 2 --mca coll_gpuring_mailbox_bytes 0 --mca coll_gpuring_report summary -- grids $grid
        tap_check "$mode on the grid $grid: the report says so" report_fits $mode 60
        tap_check "$mode on the grid $grid: along the torus" went_along swing bucket mst ordered
    done
done

# Persistent requests have timers of their own: started in orders that differ from rank to rank, more of them than links.
for mode in $(depth timed 'barrier timed'); do
    test_program "$mode, persistent requests" 3 --mca coll_gpuring_step_sync $mode --mca coll_gpuring_mailbox_bytes 0 \
        --mca coll_gpuring_report summary -- persistent types
    tap_check "$mode, persistent requests: the report says so" report_fits $mode 500
done

# Barriers are those of each call's own time line: an Allreduce along a ring of 4 has 7 ticks for each slice, and one of
# 2^15 bytes is 4 slices of a slot of 2 KiB per block, one of 2^16 8. 5 more of each are 5 x 7 x (4 + 8) countdowns more.
count_barriers() { # ITERATIONS
    PROGDIR=$(dirname "$BENCH") grun 4 --mca coll_gpuring_step_sync barrier --mca coll_gpuring_report summary \
        --mca coll_gpuring_single_copy 0 --mca coll_gpuring_algorithm_allreduce ring "${slots[@]}" \
        -- gpuring_bench allreduce -m 32k:64k -i "$1" -x 0 -B 10
    counted=$(reported | cut -d' ' -f2)
}
count_barriers 5
few=${counted:-0}
count_barriers 10
tap_check "barrier: as many as each call's slices and ticks" [ $((${counted:-0} - few)) -eq 420 ]

for mode in $(depth timed 'start barrier timed'); do
    test_program "$mode, small slots, mailboxes, two channels" 4 --mca coll_gpuring_step_sync $mode "${slots[@]}" \
        --mca coll_gpuring_channels 2 -- timed 4 $(depth 1 3)
    test_program "$mode, 3 ranks, each algorithm's own links" 3 --mca coll_gpuring_step_sync $mode \
        --mca coll_gpuring_algorithm tree "${slots[@]}" -- timed 3 $(depth 1 3)
done
test_program "timed, copied through slots" 4 --mca coll_gpuring_step_sync timed --mca coll_gpuring_single_copy 0 \
    --mca coll_gpuring_torus 2x2 --mca coll_gpuring_mailbox_bytes 0 -- timed 2x2 $(depth 1 3)
test_program "timed, with a progress thread" 3 --mca coll_gpuring_step_sync timed --mca coll_gpuring_progress_thread 1 \
    --mca coll_gpuring_mailbox_bytes 0 -- timed 3 $(depth 1 3)

# Unless it is asked for, nothing is timed.
test_program "none is the default" 4 --mca coll_gpuring_report summary -- timed 2x2 1
tap_check "none is the default: no countdowns" not_seen '^# step_sync'

# As JSON, beside the rows of the collectives.
grun 4 --mca coll_gpuring_step_sync timed --mca coll_gpuring_mailbox_bytes 0 --mca coll_gpuring_report "json:$work/r.json" \
    -- timed 2x2 1
tap_check "the report as JSON" grep -qE '\{"step_sync": "timed", "calls": [1-9].*"start_skew_us": .*"misses": .*"pauses"' \
    "$work/r.json"
tap_check "the report as JSON can be read" python3 -c "import json, sys; json.load(open(sys.argv[1]))" "$work/r.json"

only_in_all

# A rank that is stopped and goes on: its pid is that of the last process of the job.
gstart 4 --mca coll_gpuring_step_sync timed --mca coll_gpuring_mailbox_bytes 0 --mca coll_gpuring_torus 2x2 \
    -- timed 2x2 6 "$work/stopped"
rank_pid() { pid=$(descendants "$job" | while read -r p; do
    [ "$(cat /proc/"$p"/comm 2>/dev/null)" != timed ] || echo "$p"; done | tail -n 1); [ -n "$pid" ]; }
wait_for 60 rank_pid
wait_for 60 seen '^# GPURING_SEED'
stop_in_turn "$pid" "$pid" "$pid" "$pid"
gwait
tap_check "a rank that is stopped and goes on" good_through_gpuring
tap_check "it was stopped" [ $stops -eq 4 ]

tap_done
