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
