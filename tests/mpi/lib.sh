# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2013,SC2206,SC2207 # options are words on purpose
# Sourced by the test scripts: TAP lines, and running MPI programs with the component.
#
#   MPIRUN       the launcher and its options, without -np
#   PROGDIR      the compiled programs of this directory
#   GR_DIR       the directory with mca_coll_gpuring.so
#   OMPI_INFO    ompi_info of the same Open MPI
#   OMPI_SERIES  4, 5 or 6
#   TEST_LIMIT   seconds that one program may take (default 300)
#   GPURING_STOP 1: end at the first failed row

MPIRUN=${MPIRUN:-mpirun --oversubscribe --mca mpi_yield_when_idle 1}
PROGDIR=${PROGDIR:?the directory of the compiled programs}
GR_DIR=${GR_DIR:?the directory of mca_coll_gpuring.so}
OMPI_INFO=${OMPI_INFO:-ompi_info}
OMPI_SERIES=${OMPI_SERIES:-4}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1

. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
if [ "${OMPI_LOADS:-}" = no ]; then # PyPI's: where a test sets this for ranks, mpirun does not add its own folder
    LD_LIBRARY_PATH="$(dirname "$(in_make print-libmpi)")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export LD_LIBRARY_PATH
fi
make_work
out=$work/out       # what the last program wrote
rc=0                # and its exit status; 124: it ran out of time
job=                # a started program that was not waited for

# ---- rows ----

tap_check() { # TEXT COMMAND...: ok when the command succeeds; else shows the last program's output
    local text=$1
    shift
    if "$@"; then
        tap_ok "$text"
    else
        tap_not_ok "$text"
        { echo "failed: $*"; echo "exit status $rc of: ${grun_line:-nothing}"; } | tap_diag
        # what MPI said comes first, what the program found last
        if [ "$(wc -l <"$out")" -le 80 ]; then
            cat "$out"
        else
            head -n 30 "$out"
            echo ...
            tail -n 50 "$out"
        fi | tap_diag
        [ -z "${GPURING_STOP:-}" ] || tap_done
    fi
}

only_in_all() { in_all || tap_done; } # the rows below

# ---- processes ----

# This process and all below it, in one line.
descendants() {
    local child
    echo "$1"
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do descendants "$child"; done
}

# Stops this process and all below it, each before its children are listed, so that it starts no more of them.
stop_all() {
    local child
    kill -STOP "$1" 2>/dev/null
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do stop_all "$child"; done
}

# SIGKILL to a job that we started and all that it started.
kill_all() {
    local pids
    stop_all "$1"
    pids=$(descendants "$1" | tr '\n' ' ')
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null
    wait "$1" 2>/dev/null
}

cleanup() {
    [ -z "$job" ] || kill_all "$job"
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# Waits up to SECONDS for COMMAND to succeed.
wait_for() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

# ---- running ----

# For scripts that kill jobs: Open MPI's own segments, which it then leaves behind, go where we clean up.
stock_segments_to_work() {
    if [ "$OMPI_SERIES" -ge 5 ]; then
        MPIRUN="$MPIRUN --mca btl_sm_backing_directory $work"
    else
        MPIRUN="$MPIRUN --mca btl_vader_backing_directory $work"
    fi
}

# Options that load the component; PMIx of series 5 must not see the path.
component_options() {
    if [ "$OMPI_SERIES" -ge 5 ]; then
        echo "-x OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$GR_DIR --mca mca_base_component_show_load_errors 0"
    else
        echo "--mca mca_base_component_path SYSTEM_DEFAULT:$GR_DIR"
    fi
}

# The command line in line[]: NP [OPTIONS...] -- PROGRAM [ARGS...]. GR_HOST=0 leaves host buffers to others.
# WRAPPER: a command that each rank runs the program through. PROGDIR empty: PROGRAM is one of PATH, or a path.
make_line() {
    local np=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    line=($MPIRUN $(component_options) --mca coll_gpuring_host "${GR_HOST:-1}" "${options[@]}" -np "$np" \
          $WRAPPER "${PROGDIR:+$PROGDIR/}$1" "${@:2}")
    grun_line=${line[*]}
}

# Runs to the end; output in $out, status in $rc. Messages come behind what the program printed, since the launcher may put
# one of them into the middle of a line.
grun() {
    make_line "$@"
    rc=0
    timeout -k 5 "${TEST_LIMIT:-300}" "${line[@]}" >"$out" 2>"$work/messages" || rc=$?
    cat "$work/messages" >>"$out"
}

# wrapper NAME LINE: a program for WRAPPER, which does LINE at each rank and then runs what it is given
wrapper() {
    printf '#!/bin/sh\n%s\nexec "$@"\n' "$2" >"$work/$1"
    chmod +x "$work/$1"
}

# Starts in the background; gwait waits for it.
gstart() {
    make_line "$@"
    : >"$out"
    timeout -k 5 "${TEST_LIMIT:-300}" "${line[@]}" >"$out" 2>&1 &
    job=$!
}

gwait() {
    rc=0
    wait "$job" || rc=$?
    job=
}

# ---- judging ----

seen() { grep -qaE -- "$1" "$out"; }              # a line of the output matches
not_seen() { ! seen "$1"; }
lines_seen() { grep -caE -- "$1" "$out"; }

# Calls that rank 0's gpuring carried out, as the program said at its end.
calls_counted() {
    local n
    n=$(sed -n 's/^# gpuring calls \([0-9]*\) handovers.*/\1/p' "$out" | tail -n 1)
    echo "${n:-0}"
}

# counted WORDS: the number behind these words in what the last program said of its calls
counted() {
    local n
    n=$(sed -n "s/^# gpuring $1 \\([0-9]*\\)\$/\\1/p" "$out" | tail -n 1)
    echo "${n:-0}"
}

# The program ended well and every one of its TAP lines is good.
all_good() {
    local plan ok
    plan=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$out" | tail -n 1)
    ok=$(lines_seen '^ok [0-9]+ - ')
    [ "$rc" -eq 0 ] && [ -n "$plan" ] && [ "$plan" -gt 0 ] && [ "$ok" -eq "$plan" ] && not_seen '^not ok'
}

has_ulfm() { [ "$OMPI_SERIES" -ge 5 ] && "$OMPI_INFO" | grep -qi 'FT Checkpoint\|ftmpi\|Fault Tolerance support: yes'; }
survived() { [ "$(lines_seen '^ok [0-9] - ')" -eq 4 ] && not_seen '^not ok'; } # ulfm's ranks
# Of random programs of the eight: no call fell back. Those without elements are not counted.
all_taken() {
    local asked
    asked=$(sed -n 's/^# [0-9]* programs from .*, \([0-9]*\) collective calls.*/\1/p' "$out")
    all_good && seen '^# gpuring calls [0-9]+ handovers 0 ' && [ "$(calls_counted)" -ge $((asked * 2 / 3)) ]
}
good_through_gpuring() { all_good && [ "$(calls_counted)" -gt 0 ]; }
good_without_gpuring() { all_good && [ "$(calls_counted)" -eq 0 ]; }

# programs TEXT JUDGE SECONDS NP [OPTIONS...] -- [OPTIONS...]: random programs, of other seeds in each row; what fails is
# named with its seed. Open MPI's op/avx saturates small integers (4.1.4).
programs() {
    local text=$1 judge=$2 seconds=$3 np=$4 options=() beyond=--beyond
    shift 4
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    [[ "${options[*]}" = *'--mca op '* ]] || options+=(--mca op '^avx')
    [ "${GR_HOST:-1}" = 1 ] || beyond= # gpuring does not carry out all of its eight collectives
    seed=$((${seed:-${GPURING_SEED:-$(date +%s)}} + 10000))
    TEST_LIMIT=$((seconds + 600)) grun "$np" "${options[@]}" -- random_programs --seed=$seed --count=9999 \
        --seconds="$seconds" --limit="${TEST_LIMIT:-120}" $beyond "$@"
    tap_check "$text, $np ranks, from seed $seed on" "$judge"
    sed -n 's/^# \([0-9]* programs from .*\)/# \1/p' "$out"
}

# The words of a command line that runs random programs of the eight, of further profiles: eight_in PROFILES [OPTIONS...]
eight_in() {
    local beyond=--beyond
    [ "${GR_HOST:-1}" = 1 ] || beyond= # as above
    echo "random_programs --count=9999 --seconds=$(depth 1 3) $beyond --no-user-ops --profile=eight,$*"
}

# The same of blocking calls of any type, operation, size and root, in place or not, some hundred of them at least, and before
# them the cases of the profiles every (type with every operation) and big (4 MiB): any_case [PROFILES]
any_case() { eight_in "blocking${1:+,$1}" --seconds=1 --least=8; }

# One test: the program must be all good, through gpuring; a single rank needs nobody.
test_program() { # TEXT NP [OPTIONS...] -- PROGRAM [ARGS...]
    local text=$1 np=$2 judge=good_through_gpuring
    shift
    [ "$np" -gt 1 ] || judge=all_good
    grun "$@"
    tap_check "$text" $judge
}
