#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The CUDA runtime of the fake driver: each row runs one case (cases.cpp) in a process of its own, of a program for the
# default stream of all threads (cudart_cases) or of each thread (cudart_cases_ptds). Prints TAP. Environment: FAKECUDA, the
# folder of driver and runtime; SANITIZER, its flavour.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../lib.sh"
dir=${FAKECUDA:?the folder of the driver}
make_work
export FAKECUDA_SESSION=$work FAKECUDA_KERNELS=$dir/test_kernels.so LC_ALL=C
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 TSAN_OPTIONS=halt_on_error=1:exitcode=66

# Rows: programs | case | options | what stderr must say (a pattern); each ends with status 0
all_rows='both | devices | FAKECUDA_DEVICES=2 |
both | late | |
both | errors | |
both | copies | |
both | streams | |
both | streams | FAKECUDA_DELAY=1 |
both | kernels | |
both | default_stream | |
one | unsupported | | cudaMallocArray is not supported
one | no_driver | FAKECUDA_VERSION=12080 |
one | no_driver | alone |'

trim() {
    local s=$1
    s=${s#"${s%%[! ]*}"}
    echo "${s%"${s##*[! ]}"}"
}

row() { # PROGRAM CASE OPTIONS PATTERN
    local path=$dir status
    if [ "$3" = alone ]; then # the runtime without the driver
        mkdir -p "$work/alone" && cp "$dir"/libcudart.so.* "$work/alone"
        path=$work/alone
    fi
    # shellcheck disable=SC2086
    env ${3/alone/} LD_LIBRARY_PATH="$path" timeout 100 "$dir/$1" "$2" >"$work/out" 2>&1
    status=$?
    [ $status -eq 0 ] && grep -Eq "$4" "$work/out" || { [ $status -eq 0 ] && [ -z "$4" ]; }
    tap_result $? "$1 $2${3:+ ($3)}" "$work/out"
}

if [ ! -x "$dir/cudart_cases" ]; then
    echo "Bail out! $dir/cudart_cases is not built"
    exit 1
fi
while IFS='|' read -r programs name options pattern; do
    row cudart_cases "$(trim "$name")" "$(trim "$options")" "$(trim "$pattern")"
    [ "$(trim "$programs")" = one ] ||
        row cudart_cases_ptds "$(trim "$name")" "$(trim "$options")" "$(trim "$pattern")"
done <<<"$all_rows"

# What only asks for devices makes no context.
contexts() { # CASE NUMBER
    rm -f "$work/log"
    FAKECUDA_LOG=$work/log row cudart_cases "$1" "" ""
    touch "$work/log"
    [ "$(grep -c 'context device' "$work/log")" = "$2" ]
    tap_result $? "$1: contexts made: $2" "$work/log"
}
contexts late 0
contexts copies 1

# A program of nvcc's, whose kernels the driver interprets.
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
title="a program that nvcc has built"
if [ "${SANITIZER:-plain}" != plain ] || [ ! -x "$nvcc" ]; then
    tap_skip "$title" "no nvcc, or a build under a sanitizer"
elif ! "$nvcc" -x cu -c -o "$work/none.o" /dev/null >/dev/null 2>&1; then
    tap_skip "$title" "nvcc does not work with this compiler"
else
    "$nvcc" -cudart shared -o "$work/kernels" "$here/kernels.cu" >"$work/out" 2>&1 &&
        LD_LIBRARY_PATH=$dir timeout 100 "$work/kernels" >"$work/out" 2>&1
    tap_result $? "$title" "$work/out"
fi
tap_done
