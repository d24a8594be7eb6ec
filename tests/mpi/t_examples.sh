#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs of examples/, built by nvcc without gpuring, run through it on the fake driver, which interprets their
# kernels. Skipped where nvcc, or the Open MPI's mpicxx, is missing.
# Environment besides lib.sh's: srcdir.
# shellcheck disable=SC2086,SC2154 # options are words on purpose; rc and fake are the other scripts'
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

srcdir=${srcdir:?the sources}
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
mpicxx=$(dirname "$(command -v "$OMPI_INFO")")/mpicxx
[ -x "$nvcc" ] || tap_skip_all "no nvcc"
[ -x "$mpicxx" ] || tap_skip_all "no mpicxx beside ompi_info"
chosen="--mca coll gpuring --mca coll_gpuring_cuda 1 --mca coll_gpuring_report summary $small"
PROGDIR=$work

# compile NAME SOURCE [FLAGS]: as the page says, and more flags. CUDART: which runtime
compile() {
    "$nvcc" -ccbin "$mpicxx" -cudart "${CUDART:-shared}" -o "$work/$1" "$2" "${@:3}" >"$out" 2>&1
    rc=$?
    grun_line="nvcc ${*:2}"
    [ $rc -eq 0 ]
}

told() { grep -E '^[0-9]+ iterations' "$out"; }
alone= # what one rank says; all must say so, to the last digit
is_right() { [ "$rc" -eq 0 ] && seen '^[0-9]+ iterations, .*: right$'; }
is_as_alone() { is_right && [ "$(told)" = "$alone" ]; }
# The residuals were reduced on the device: one for each 10 iterations, and the error.
on_the_device() { is_as_alone && seen "^# allreduce +cuda +[a-z]+ +$(($(told | grep -oE '^[0-9]+') / 10 + 1)) "; }
says_why() { [ "$rc" -ne 0 ] && seen 'link the program to the shared one'; }
is_wrong() { [ "$rc" -ne 0 ] && seen '^[0-9]+ iterations, .*: WRONG$'; }

# jacobi TEXT JUDGE PROGRAM NP [VARIABLE=VALUE...]
jacobi() {
    local text=$1 judge=$2 program=$3 np=$4 variable
    shift 4
    (
        for variable in "$@"; do export "${variable?}"; done
        grun "$np" $chosen -- "$program" 8 1e-4
        echo "$rc" >"$work/rc"
    )
    rc=$(cat "$work/rc")
    grun_line="$program, $np ranks $*"
    tap_check "jacobi, $text" $judge
}

tap_check "jacobi is built by nvcc and $(basename "$mpicxx")" compile jacobi "$srcdir/examples/jacobi.cu"
jacobi "1 rank" is_right jacobi 1
alone=$(told)
jacobi "2 ranks on one device" on_the_device jacobi 2 FAKECUDA_DEVICES=1
jacobi "4 ranks on 2 devices" on_the_device jacobi 4 FAKECUDA_DEVICES=2
if in_all; then
    jacobi "4 ranks on one device" on_the_device jacobi 4 FAKECUDA_DEVICES=1
    jacobi "2 ranks on 2 devices" on_the_device jacobi 2 FAKECUDA_DEVICES=2
    jacobi "devices that do not reach each other" on_the_device jacobi 3 FAKECUDA_PEER=none
    jacobi "slow copies" on_the_device jacobi 3 FAKECUDA_DELAY=1
    tap_check "jacobi for per-thread default streams is built" \
        compile jacobi_own "$srcdir/examples/jacobi.cu" --default-stream per-thread
    jacobi "per-thread default streams" on_the_device jacobi_own 3 FAKECUDA_DELAY=1
    sed '/MPI_Neighbor_alltoallv/d' "$srcdir/examples/jacobi.cu" >"$work/lonely.cu"
    tap_check "jacobi without exchange is built" compile lonely "$work/lonely.cu"
    jacobi "without exchange it is wrong" is_wrong lonely 2
    CUDART=static tap_check "jacobi with the static runtime is built" compile static "$srcdir/examples/jacobi.cu"
    jacobi "with NVIDIA's runtime it ends, and the driver says why" says_why static 1
fi
tap_done
