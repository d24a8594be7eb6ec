#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything that gpuring_gpu can say on a machine with a GPU. Needs the program, this script and a CUDA driver; no MPI,
# nothing is downloaded. Missing tools (nvidia-smi, MPS, compute-sanitizer) cost their section only.
#     benchmarks/gpu/run.sh DIR [OUT]
# DIR is where gpuring_gpu is, OUT the folder for report.txt and *.json (default DIR/gpu-report).
# MOST (1G) is the largest size, SECONDS_EACH (120) the limit of each run. Exit status: how many runs failed.
set -u
dir=$(cd "${1:?usage: run.sh DIR [OUT]}" && pwd) || exit 99
out=${2:-$dir/gpu-report}
most=${MOST:-1G} limit=${SECONDS_EACH:-120}
program=$dir/gpuring_gpu failed=0
[ -x "$program" ] || { echo "no gpuring_gpu in $dir: make gpuring_gpu there" >&2; exit 99; }
mkdir -p "$out" || exit 99
# a hardware queue for each rank's stream, or kernels that wait for each other may stand in one
export CUDA_DEVICE_MAX_CONNECTIONS=32 CUDA_MODULE_LOADING=EAGER

section() { printf '\n== %s\n' "$*"; }

# run NAME ARGS...: the table, and with NAME other than - also its JSON
run() {
    local name=$1 rc
    shift
    echo "\$ gpuring_gpu $*"
    # shellcheck disable=SC2086 # a command with arguments, or nothing
    timeout -k 5 "$limit" $prefix "$program" "$@"
    rc=$?
    if [ $rc = 0 ] && [ "$name" != - ]; then
        timeout -k 5 "$limit" "$program" "$@" -o json >"$out/$name.json" || rc=$?
    fi
    [ $rc = 0 ] || { echo "FAILED: exit status $rc"; failed=$((failed + 1)); }
}

machine() {
    section "machine"
    uname -srm
    local what=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,mig.mode.current
    nvidia-smi --query-gpu=$what --format=csv 2>&1 || echo "no nvidia-smi"
    nvidia-smi topo -m 2>/dev/null
}

right() {
    section "right results: every collective, algorithm, odd sizes, types, operations"
    for n in 1 2 3 4 7 8; do
        run - -n $n -b 4 -m 4:4M -i 2 -x 0 -c -r $((n - 1))
    done
    run - -n 4 -b 32 -m 60k:4M -i 2 -x 0 -c --in-place
    run - -n 3 -b 3 -s 2 -S 1k -m 100:100k -i 2 -x 0 -c
    for type in int8 uint8 int16 uint16 int32 uint32 int64 uint64 float double; do
        for op in sum prod min max; do
            run - -n 3 -b 2 -m 999:64k -i 1 -x 0 -c -T $type -O $op allreduce reduce_scatter reduce
        done
    done
    section "right results with a kernel that leaves at every wait"
    run - -n 4 -b 4 -m 4k:1M -i 2 -x 0 -c --patience 1
}

one_process() {
    section "one process, N streams: the kernels' efficiency"
    for shape in "2 32" "4 32" "8 16"; do
        read -r n b <<<"$shape"
        run "ring-$n" -n "$n" -b "$b" -m "1M:$most" -a ring -s 8 -S 128k -c
    done
    section "chains, trees, flat"
    run other-4 -n 4 -b 16 -m 256k:64M -a all -c
    section "slots and channels, allreduce among 4"
    for slot in 32k 128k 512k; do
        run - -n 4 -b 32 -m 64M:64M -a ring -S $slot allreduce
    done
    for b in 4 8 16 32; do
        run - -n 4 -b $b -m 64M:64M -a ring allreduce
    done
    for s in 2 4 8; do
        run - -n 4 -b 32 -s $s -m 64M:64M -a ring allreduce
    done
}

# One at a time on a device: what waits leaves, and every hand-over may cost a slice of time.
time_sliced() {
    section "N processes, time-sliced"
    for n in 2 4; do
        run - --processes -n $n -b 4 -m 64k:1M -i 2 -x 0 -c --patience 500 -a ring
    done
}

under_mps() {
    section "N processes under MPS"
    if ! command -v nvidia-cuda-mps-control >/dev/null; then
        echo "not measured: no nvidia-cuda-mps-control"
        return
    fi
    CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d) CUDA_MPS_LOG_DIRECTORY=$out
    export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    if nvidia-cuda-mps-control -d; then
        for shape in "2 32" "4 32" "8 16"; do
            read -r n b <<<"$shape"
            run "mps-$n" --processes -n "$n" -b "$b" -m "1M:$most" -a ring -c
        done
        echo quit | nvidia-cuda-mps-control
    else
        echo "not measured: the MPS daemon does not start"
    fi
    rm -rf "$CUDA_MPS_PIPE_DIRECTORY"
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

sanitized() {
    section "compute-sanitizer"
    if ! command -v compute-sanitizer >/dev/null; then
        echo "not run: no compute-sanitizer on PATH"
        return
    fi
    for tool in memcheck racecheck synccheck; do
        prefix="compute-sanitizer --tool $tool --error-exitcode 9"
        run - -n 2 -b 2 -m 4k:64k -i 1 -x 0 -c --timeout 100
        prefix=
    done
}

prefix=
(
    machine
    section "costs"
    run costs --costs
    right
    one_process
    time_sliced
    under_mps
    sanitized
    section "$failed runs failed"
    exit "$failed"
) 2>&1 | tee "$out/report.txt"
exit "${PIPESTATUS[0]}"
