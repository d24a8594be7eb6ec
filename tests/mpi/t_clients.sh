#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs of the distribution under gpuring: mpi4py with arrays in host memory and on the fake driver's devices, and the
# HPC Challenge benchmark. Installs nothing; missing programs are skipped.
# Environment besides lib.sh's: srcdir; MPI4PY_SUITE: where benchmarks/clients/mpi4py_suite.sh has fetched mpi4py.
# shellcheck disable=SC2086,SC2154 # options are words on purpose; rc, py and why are the other scripts'
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/clients_lib.sh"

srcdir=${srcdir:?the sources}
fake=${FAKECUDA:?the directory of the fake driver}
client=$srcdir/benchmarks/clients/mpi4py_collectives.py
export FAKECUDA_SMS=64 FAKECUDA_DEVICES=2
gpuring='--mca coll gpuring --mca coll_gpuring_report summary'
small='--mca coll_gpuring_device_channels 2 --mca coll_gpuring_device_slot_bytes 16384 --mca op ^avx'

# ---- mpi4py ----

ours='allreduce allgather allgatherv reduce_scatter reduce_scatter_block bcast reduce'
good_in() { all_good && did "$1" $ours; } # MEMORY

counts=()
in_all || counts=(--counts 1 9000) # the second is more than what goes through a mailbox, or in lines
# python TEXT JUDGE NP OPTIONS... -- ARGS...: of the client
python() {
    local text=$1 judge=$2 np=$3 options=()
    shift 3
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    installed "$np" $gpuring $small "${options[@]}" -- "$py" "$client" "${counts[@]}" "$@"
    tap_check "mpi4py: $text" $judge
}

every_row_is_wrong() { [ "$rc" -ne 0 ] && not_seen '^ok ' && seen '^not ok'; }

on_devices() {
    export LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    # where a node has a GPU, or MPI_Init finds the driver loaded, gpuring looks for device buffers by itself
    GR_HOST=0 python "arrays on devices, driver opened before MPI_Init" "good_in cuda" 3 -- --memory device --early
    GR_HOST=0 python "arrays on devices, driver opened after MPI_Init" "good_in cuda" 4 --mca coll_gpuring_cuda 1 \
        -- --memory device
    in_all && GR_HOST=0 python "arrays on devices and in host memory" "good_in cuda" 3 --mca coll_gpuring_cuda 1 -- --memory mixed
    python "a wrong element on a device is found" every_row_is_wrong 2 --mca coll_gpuring_cuda 1 \
        -- --memory device --corrupt --counts 100
}

find_python
if [ -n "$why" ]; then
    tap_skip "mpi4py" "$why"
else
    for np in $(depth 5 '2 5'); do
        python "NumPy arrays, $np ranks" "good_in host" $np -- --memory host
    done
    python "a wrong element is found" every_row_is_wrong 2 -- --corrupt --counts 100
    if [ -e "$fake/fakecuda_kernels.so" ]; then
        on_devices
    else
        tap_skip "mpi4py: arrays on devices" "no CUDA toolkit: nothing to run on devices with"
    fi
fi

# ---- mpi4py's own tests of collectives ----

# RANKS
suite_is_good() { [ "$rc" -eq 0 ] && [ "$(lines_seen '^OK')" -eq "$1" ] && not_seen '^FAILED' && did host $ours; }

suite=${MPI4PY_SUITE:-} # only where somebody has fetched it
if [ -n "$suite" ] && [ -n "$why" ]; then
    tap_skip "mpi4py's own tests" "$why"
elif [ -n "$suite" ]; then
    export PYTHONPATH=$suite/lib PYTHONDONTWRITEBYTECODE=1
    TEST_LIMIT=1200 installed 3 $gpuring -- "$py" "$(echo "$suite"/mpi4py-*/test/main.py)" -q -i test_cco
    tap_check "mpi4py's own tests" suite_is_good 3
fi

# ---- HPC Challenge: HPL, PTRANS, RandomAccess, FFT; it checks itself ----

# N NB P Q
hpcc_input() {
    printf '%s\n' HPL HPCC HPL.out 8 1 "$1" 1 "$2" 0 1 "$3" "$4" 16.0 1 2 1 4 1 2 1 1 1 1 1 0 2 64 0 0 1 8 \
        ---- 0 40 0 40
}

hpcc_is_good() {
    local told=$work/hpcc/hpccoutf.txt
    [ "$rc" -eq 0 ] && grep -q '^Success=1$' "$told" && ! grep -q 'FAILED' "$told" &&
        grep -q '^ *1 tests completed and passed residual checks' "$told" && did host allreduce bcast reduce allgather
}

if ! command -v hpcc >/dev/null; then
    tap_skip "HPC Challenge" "no hpcc (package hpcc)"
else
    np=4 rows=2 columns=2
    rm -rf "$work/hpcc"
    mkdir "$work/hpcc"
    hpcc_input 300 32 "$rows" "$columns" >"$work/hpcc/hpccinf.txt"
    installed "$np" $gpuring --wdir "$work/hpcc" -- hpcc
    tap_check "HPC Challenge, $np ranks" hpcc_is_good
fi

tap_done
