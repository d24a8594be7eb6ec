# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced after lib.sh: reads the statistics of timed steps in the report at a job's end.

# What rank 0's report says: calls, countdowns, and how many of these were inside a call to synchronise again.
reported() {
    sed -nE '/^# step_sync/ { s/.*: ([0-9]+) calls, ([0-9]+) countdowns.*/\1 \2/; h }
             /resynchronised/ { s/^# +([0-9]+) .*/\1/; H; g; s/\n/ /p }' "$out"
}
# report_fits MODE LEAST: so many calls or more; each has a countdown at its begin, and only `barrier` more in any case
report_fits() {
    local calls countdowns again
    seen "^# step_sync $1: " && read -r calls countdowns again <<<"$(reported)" && [ "$calls" -ge "$2" ] || return 1
    case $1 in
        start) [ "$countdowns" -eq "$calls" ] ;;
        timed) [ "$countdowns" -eq $((calls + again)) ] ;;
        barrier) [ "$countdowns" -gt $((2 * calls)) ] ;;
    esac
}
# stop_in_turn PID...: each stands still for a while, one after the other, while the program makes its calls; the program
# then ends, which waits for the file $work/stopped. How many were stopped, in $stops.
stop_in_turn() {
    local pid
    stops=0
    for pid; do
        kill -STOP "$pid" || break
        sleep 0.2
        kill -CONT "$pid" || break
        sleep 0.3
        stops=$((stops + 1))
    done
    touch "$work/stopped"
}
# starts_fit MODE LEAST: the same where only starts are timed: a countdown at each begin and no other, and no step
starts_fit() {
    local calls countdowns again
    seen "^# step_sync $1: " && read -r calls countdowns again <<<"$(reported)" && [ "$calls" -ge "$2" ] &&
        [ "$countdowns" -eq "$calls" ] && seen '^#   0 timed steps'
}
