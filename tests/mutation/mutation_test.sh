#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Planted faults are seen: each of some that faults.toml has, by a test that is known to see it (caught.tsv). Prints TAP, with
# that test. One in GPURING_MUTANTS of them (default 10; 1: all), by GPURING_SEED which. Environment: srcdir (default: two
# folders up), builddir (default: here; the copy of the sources and its build stay in its folder mutation).
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 99
srcdir=$(cd "${srcdir:-$here/../..}" && pwd) || exit 99
python3 -c 'import tomllib' 2>/dev/null || { echo "1..0 # SKIP no Python with tomllib (3.11)"; exit 0; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export GPURING_SEED=${GPURING_SEED:-$$}
count=0

python3 "$here/mutation.py" run --build="${builddir:-.}" --source="$srcdir" --results="$work/results" --known --first \
    --one-in="${GPURING_MUTANTS:-10}" >"$work/said" 2>&1 </dev/null
status=$?
while IFS= read -r line; do
    count=$((count + 1))
    case $line in
        'caught '*) echo "ok $count - ${line#caught  }" ;;
        *) echo "not ok $count - $line" ;;
    esac
done < <(grep -E '^(caught|missed|error)' "$work/said")
if [ $count = 0 ] || { [ $status != 0 ] && ! grep -qE '^(missed|error)' "$work/said"; }; then
    count=$((count + 1))
    echo "not ok $count - mutation.py runs to its end: exit status $status"
    tail -n 20 "$work/said" | sed 's/^/# /'
fi
echo "1..$count"
