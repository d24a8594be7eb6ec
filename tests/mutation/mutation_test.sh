#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Planted faults are caught: each of some, by the test that caught it before (caught.tsv). Prints TAP,
# with that test. One in GPURING_MUTANTS of them (default 14; 1: all), by GPURING_SEED which.
# Environment: srcdir (default: two folders up), builddir (default: here; the copy of the sources and
# its build stay in its folder mutation).
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 99
. "$here/../lib.sh"
srcdir=$(cd "${srcdir:-$here/../..}" && pwd) || exit 99
make_work
export GPURING_SEED=${GPURING_SEED:-$$}

python3 "$here/mutation.py" measure --build="${builddir:-.}" --source="$srcdir" --results="$work/results" \
    --known --one-in="${GPURING_MUTANTS:-14}" >"$work/said" 2>&1 </dev/null
status=$?
while IFS= read -r line; do
    case $line in
        'caught '*) tap_ok "${line#caught }" ;;
        *) tap_not_ok "$line" ;;
    esac
done < <(grep -E '^(caught|missed) |: fails: ' "$work/said")
if [ "$tap_count" = 0 ] || { [ "$status" != 0 ] && ! grep -qE '^missed |: fails: ' "$work/said"; }; then
    tap_result 1 "mutation.py runs to its end: exit status $status" "$work/said"
fi
tap_done
