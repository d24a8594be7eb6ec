#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The kernels on a real CUDA driver and device (./check --gpu). Prints TAP; one skipped test where there is no device.
# Needs gpuring_gpu and nothing else: no MPI, nothing downloaded. With a fake libcuda.so.1 on LD_LIBRARY_PATH it runs on
# that. Environment: builddir, or GPURING_GPU: the program; GPU_LIMIT: seconds that one run may take (120);
# GPU_MOST: largest size of the timed runs (256M on a device that nvidia-smi knows, else 1M).

program=${GPURING_GPU:-${builddir:-.}/gpuring_gpu}
limit=${GPU_LIMIT:-120}
. "$(dirname "$0")/../../lib.sh"
make_work
# shellcheck disable=SC2317 # called by the trap
clean_up() {
    [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ] || echo quit | nvidia-cuda-mps-control >/dev/null
    rm -rf "$work"
}
unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
trap clean_up EXIT
trap 'exit 1' INT TERM

show() { sed 's/^/# /' "$work/out" "$work/err"; }

# gpu ARGS...: runs it; $work/out and $work/err have what it said
# shellcheck disable=SC2086 # prefix is a command with arguments, or nothing
gpu() {
    local queues="env CUDA_DEVICE_MAX_CONNECTIONS=32" # one for each rank's stream in this process
    [[ " $* " != *" --processes "* ]] || queues=      # too much for several processes under MPS
    timeout -k 5 "$limit" $queues $prefix "$program" "$@" >"$work/out" 2>"$work/err"
}

# right TEXT ARGS...: the run ends with status 0, all results right
right() {
    local text=$1
    shift
    if gpu "$@"; then
        tap_ok "$text"
    else
        echo "# exit status $? of: gpuring_gpu $*"
        show | head -n 40
        tap_not_ok "$text"
    fi
}

# number JSON-KEY: its smallest value in the JSON output
number() { grep -o "\"$1\": [-0-9.e+]*" "$work/out" | sed 's/.*: //' | sort -g | head -n 1; }

# above TEXT KEY LEAST: that value is known and above LEAST
above() {
    local value
    value=$(number "$2")
    if [ -n "$value" ] && awk "BEGIN { exit !($value > $3) }"; then
        tap_ok "$1 ($2 $value)"
    else
        tap_not_ok "$1: $2 is '$value', wanted more than $3"
    fi
}

right_results() {
    for n in 1 2 3 4 7 8; do
        right "$n ranks, every collective and algorithm" -n $n -b 2 -S 4k -s 2 -m 4:64k -i 1 -x 0 -c -r $((n - 1))
    done
    for protocol in ll ll128; do
        right "$protocol, every collective and algorithm" -n 5 -b 2 -s 2 -m 4:16k -i 2 -x 0 -c --protocol $protocol
        right "$protocol, leaving at every wait" -n 3 -b 2 -s 2 -m 4k:16k -i 1 -x 0 -c --protocol $protocol --patience 1
    done
    right "zero copy, every collective and algorithm" -n 5 -b 2 -S 4k -s 2 -m 4:64k -i 2 -x 1 -c --zero-copy
    right "zero copy, in place" -n 4 -b 3 -S 4k -m 60:60k -i 2 -x 0 -c --in-place --zero-copy
    right "zero copy, leaving at every wait" -n 3 -b 2 -S 2k -s 2 -m 16k:64k -i 2 -x 0 -c --zero-copy --patience 1
    right "in place" -n 4 -b 3 -S 4k -m 60:60k -i 1 -x 0 -c --in-place
    for type in int8 uint8 int16 uint16 int32 uint32 int64 uint64 float double; do
        for op in sum prod min max; do
            right "$type $op" -n 3 -b 1 -S 2k -m 999:999 -i 1 -x 0 -c -T $type -O $op allreduce reduce_scatter
        done
    done
    right "a kernel that leaves at every wait" -n 4 -b 2 -S 2k -s 2 -m 16k:64k -i 1 -x 0 -c --patience 1
}

wrong_results_are_seen() {
    GPURING_BENCH_CORRUPT=1 gpu -n 2 -b 1 -m 4k:4k -i 1 -x 0 -c allreduce
    [ $? = 1 ]
    tap_result $? "a wrong element is found"
}

costs() {
    right "costs" --costs -o json
    for key in pointer_hit_ns pointer_other_ns pointer_host_ns put_us launch_us again_us; do
        above "  $key is measured" $key 0
    done
    show
}

# What a ring reaches of the copy rate of the same run. A bound that only something broken misses.
efficiency() {
    local least=$1
    for shape in $shapes; do
        n=${shape%x*} b=${shape#*x}
        right "one process, $n ranks, rings" -n "$n" -b "$b" -m "$most:$most" -a ring -c -i 5 -x 1 -o json
        above "  efficiency with the FIFO in memory" efficiency_fifo_in_memory "$least"
        show
    done
}

processes() {
    for n in 2 4; do
        right "$n processes, links by CUDA IPC" --processes -n $n -b 2 -S 16k -m 64k:256k -i 1 -x 0 -c
        show
    done
    right "processes, zero copy" --processes -n 3 -b 2 -S 4k -m 4k:64k -i 1 -x 0 -c --zero-copy
    if ! command -v nvidia-cuda-mps-control >/dev/null; then
        tap_skip "processes under MPS" "no nvidia-cuda-mps-control"
        return
    fi
    CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps
    export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    mkdir "$work/mps"
    if nvidia-cuda-mps-control -d >"$work/mps.out" 2>&1; then
        right "4 processes under MPS" --processes -n 4 -b 32 -m 1M:"$most" -c -a ring
        show
        echo quit | nvidia-cuda-mps-control >/dev/null
    else
        tap_skip "processes under MPS" "its daemon does not start"
    fi
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

sanitized() {
    for tool in memcheck racecheck synccheck; do
        if command -v compute-sanitizer >/dev/null; then
            prefix="compute-sanitizer --tool $tool --error-exitcode 9"
            right "compute-sanitizer $tool" -n 2 -b 2 -S 4k -m 4k:16k -i 1 -x 0 -c --timeout 100
            prefix=
        else
            tap_skip "compute-sanitizer $tool" "not on PATH"
        fi
    done
}

prefix=
if ! gpu -n 1 -b 1 -m 4:4 -i 1 -x 0 -c bcast; then
    if grep -q 'needs a CUDA driver\|built without device buffers' "$work/err"; then
        tap_skip "kernels on a real device" "$(head -n 1 "$work/err")"
        tap_done
    fi
fi
if nvidia-smi -L >"$work/smi" 2>/dev/null; then
    sed 's/^/# /' "$work/smi"
    most=${GPU_MOST:-256M} least=0.2 shapes='2x32 4x32 8x16'
else
    echo "# nvidia-smi knows no device: a fake driver, whose times say nothing"
    most=${GPU_MOST:-1M} least=0 shapes='2x2 4x2'
fi
right_results
wrong_results_are_seen
costs
efficiency $least
processes
sanitized
tap_done
