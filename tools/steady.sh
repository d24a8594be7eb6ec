#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Do tests pass always, beside other work? What was run is a line of the results; it is not run again, so that one file can
# be filled by many calls, each of a limited time. Exit status: 0 all passed, 1 something failed, 3 the time was over.
#     tools/steady.sh suite --results=FILE [OPTIONS]           ./check, 3 times beside 4 busy processes
#     tools/steady.sh tests --results=FILE [OPTIONS] [TEST...] each test with time, threads or chance in it (timed_tests in
#                                                              tests.am), or these, 100 times beside 8, each with another seed
#     tools/steady.sh report --results=FILE                    of each test: runs, failures and their seeds
# OPTIONS: --runs=N, --busy=N instead of these numbers; --first=N: the first seed (1), the others follow; --seconds=N: begin
# nothing more after so long; --jobs=N: run N different tests at a time (1), which are then beside each other, too;
# --builddir=DIR (build). Tests are named as make has them (tests/mpi/t_idup.sh).
# Lines of FILE, with tabs: test (check: the suite), seed, busy processes, passed or failed, seconds. Logs of failures: FILE.logs/
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
    *) sed -n '3,14s/^# \{0,1\}//p' "$0"; exit 2 ;;
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

# run NAME GROUP SEED: one run, unless there is a line of it
run() {
    local name=$1 group=$2 t0=$SECONDS verdict=passed log=$results.logs/${1//\//_}.$3
    ! grep -q "^$name"$'\t'"$3"$'\t'"$busy"$'\t' "$results" || return 0
    [ -z "$limit" ] || [ "$SECONDS" -lt "$limit" ] || exit 3
    if [ "$group" = suite ]; then
        GPURING_SEED=$3 "$top/check" --builddir="$builddir"
    else
        GPURING_SEED=$3 in_make check-TESTS TESTS="$name" check_PROGRAMS= TEST_SUITE_LOG="test-suite-$BASHPID.log"
    fi >"$log" 2>&1 </dev/null || verdict=failed
    printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$3" "$busy" $verdict $((SECONDS - t0)) | tee -a "$results"
    [ $verdict = failed ] || rm "$log"
}

others=()
end_others() { [ ${#others[@]} = 0 ] || kill "${others[@]}" 2>/dev/null || true; }

if [ "$what" = report ]; then
    report
    exit
fi
# shellcheck disable=SC2086 # variables of the environment that tests go by
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
