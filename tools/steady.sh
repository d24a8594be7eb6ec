#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs tests many times beside busy processes, to find those that fail sometimes. Each run is a line of FILE and is not
# repeated, so several calls of limited time can fill one FILE. Exit status: 0 all passed, 1 a run failed, 3 out of time.
#     tools/steady.sh suite --results=FILE [OPTIONS]           ./check, 3 times beside 4 busy processes
#     tools/steady.sh tests --results=FILE [OPTIONS] [TEST...] these tests (default: timed_tests in tests.am, which depend on
#                                                              time, threads or chance), 100 times beside 8, with other seeds
#     tools/steady.sh report --results=FILE                    runs, failures and failing seeds of each test
# OPTIONS: --runs=N, --busy=N: other numbers; --first=N: first seed (1); --seconds=N: start no run after this time; --jobs=N:
# run N different tests at a time (1); --builddir=DIR (build). TEST is make's name of a test (tests/mpi/test_idup.py).
# Lines of FILE, separated by tabs: test (check: the suite), seed, busy processes, passed or failed, seconds. Logs of failures
# are in FILE.logs/
. "$(dirname "$0")/build.sh"

what=${1:-} results='' runs='' busy='' jobs=1 first=1 limit='' wanted=()
for arg in "${@:2}"; do
    parse_option "$arg" || case $arg in
        --results=?*) results=$(realpath "${arg#*=}") ;;
        --runs=[0-9]*) runs=${arg#*=} ;;
        --busy=[0-9]*) busy=${arg#*=} ;;
        --jobs=[1-9]*) jobs=${arg#*=} ;;
        --first=[0-9]*) first=${arg#*=} ;;
        --seconds=[0-9]*) limit=${arg#*=} ;;
        tests/*) wanted+=("$arg") ;;
        *) fail "unknown option $arg; see the head of tools/steady.sh" ;;
    esac
done
case $what in
    suite) : "${runs:=3}" "${busy:=4}" ;;
    tests) : "${runs:=100}" "${busy:=8}" ;;
    report) ;;
    *) sed -n '3,13s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
[ -n "$results" ] || fail "--results=FILE is missing"
touch "$results"

report() {
    awk -F'\t' '
        { name = $1 " beside " $3; runs[name]++; seconds[name] += $5 }
        $4 == "failed" { failed[name]++; seeds[name] = seeds[name] " " $2; bad = 1 }
        END { for (n in runs)
                  printf "%-55s %4d runs %4d failed %6d s%s\n", n, runs[n], failed[n], seconds[n],
                      seeds[n] ? "  seeds" seeds[n] : "" | "sort"
              close("sort")
              exit bad }' "$results"
}

# in_make ARGUMENT...
in_make() { make -s --no-print-directory -C "$builddir" "$@"; }

# run NAME GROUP SEED: one run, unless FILE has it already
run() {
    local name=$1 group=$2 t0=$SECONDS outcome=passed log=$results.logs/${1//\//_}.$3
    ! grep -q "^$name"$'\t'"$3"$'\t'"$busy"$'\t' "$results" || return 0
    [ -z "$limit" ] || [ "$SECONDS" -lt "$limit" ] || exit 3
    if [ "$group" = suite ]; then
        GPURING_SEED=$3 "$top/check" --builddir="$builddir"
    else
        GPURING_SEED=$3 in_make check-TESTS TESTS="$name" check_PROGRAMS= TEST_SUITE_LOG="test-suite-$BASHPID.log"
    fi >"$log" 2>&1 </dev/null || outcome=failed
    printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$3" "$busy" $outcome $((SECONDS - t0)) | tee -a "$results"
    [ $outcome = failed ] || rm "$log"
}

others=()
end_others() { [ ${#others[@]} = 0 ] || kill "${others[@]}" 2>/dev/null || true; }

if [ "$what" = report ]; then
    report
    exit
fi
# shellcheck disable=SC2086 # environment variables that tests read
unset LD_LIBRARY_PATH ${!GPURING_@} ${!FAKECUDA_@}
set_up all programs-core programs-device programs-mpi
mkdir -p "$results.logs"
if [ "$what" = suite ]; then
    list='suite check'
else
    list=$(in_make list-timed)
    [ ${#wanted[@]} = 0 ] || list=$(grep -wF "$(printf '%s\n' "${wanted[@]}")" <<<"$list") || fail "there is no such test"
fi
trap end_others EXIT
for ((k = 0; k < busy; k++)); do
    (trap - EXIT; while :; do :; done) &
    others+=($!)
done
python3 "$top/tools/short_slices.py" $$
workers=()
for ((job = 0; job < jobs; job++)); do
    (
        trap - EXIT
        for ((seed = first; seed < first + runs; seed++)); do
            while read -r group name; do run "$name" "$group" "$seed"; done < <(sed -n "$((job + 1))~${jobs}p" <<<"$list")
        done
    ) &
    workers+=($!)
done
status=0
for worker in "${workers[@]}"; do wait "$worker" || status=$?; done
rm -f "$builddir"/test-suite-*.log
[ $status = 0 ] || exit $status
report
