#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring_bench -d cuda and gpuring_together -d cuda under mpirun, on the fake driver: results, formats, refusals.
# Prints TAP. Environment: srcdir, builddir, GR_DIR, MPIRUN, BENCH as for the other tests; FAKECUDA: where plain/ has
# the fake libcuda.so.1 and its kernels (builddir/tests/fakecuda/plain).

# shellcheck disable=SC2154,SC2317 # tmp is from ok.sh; the tests are called through ok
MPIRUN=${MPIRUN:-mpirun --oversubscribe --mca mpi_yield_when_idle 1}
BENCH=${BENCH:-./gpuring_bench}
fake=${FAKECUDA:-${builddir:-.}/tests/fakecuda}/plain
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
if [ "${OMPI_SERIES:-4}" -ge 5 ]; then # PMIx of series 5 must not see the path
    MPIRUN="$MPIRUN -x OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:${GR_DIR:-component}"
else
    MPIRUN="$MPIRUN --mca mca_base_component_path SYSTEM_DEFAULT:${GR_DIR:-component}"
fi

if [ ! -e "$fake/libcuda.so.1" ]; then
    echo "ok 1 - device buffers # SKIP no fake driver in $fake (built with the CUDA toolkit's headers)"
    echo "1..1"
    exit 0
fi
. "$(dirname "$0")/ok.sh"

# program NP COMMAND...: on the fake driver, with gpuring
program() {
    local np=$1
    shift
    # shellcheck disable=SC2086 # MPIRUN is a command with arguments
    LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 100 $MPIRUN --mca coll_gpuring_priority 90 \
        -np "$np" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}

bench() { # NP ARGS...
    local np=$1
    shift
    program "$np" "$BENCH" -d cuda "$@"
}

json() { # EXPRESSION about the output, d
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$tmp/out" "$1"
}

no_errors() { # NP ARGS...: every row says 0 errors, and where it ran
    bench "$@" -i 2 -x 1 -B 10 -c -o csv &&
        awk -F, 'NR > 1 { rows++; bad += $NF != "0" || $4 != "cuda" } END { exit !(rows > 0 && bad == 0) }' "$tmp/out"
}

# complains PATTERN: there is one line of ours, and it has PATTERN
complains() {
    [ "$(grep -c '^gpuring_[a-z]*: ' "$tmp/err")" -eq 1 ] && grep '^gpuring_[a-z]*: ' "$tmp/err" | grep -q -e "$1"
}

json_names_the_device() {
    bench 2 allreduce -m 64:128 -i 2 -x 1 -c -o json &&
        json 'd["device"] == "cuda" and all(r["errors"] == 0 for r in d["results"])' &&
        json 'd["B"]["source"] == "measured" and "CUDA IPC" in d["B"]["how"] and d["B"]["GBs"] > 0'
}

table_names_the_device() { bench 2 bcast -m 64:64 -i 2 -B 10 -c && grep -q 'device cuda' "$tmp/out"; }

sees_corruption() {
    GPURING_BENCH_CORRUPT=1 bench 2 allreduce reduce -m 64:64 -i 2 -B 10 -c -o csv
    [ $? -eq 1 ] && [ "$(awk -F, 'NR > 1 && $NF == 2' "$tmp/out" | wc -l)" -eq 2 ]
}

together() {
    program 2 "${BENCH%bench}together" -d cuda -m 8:8 -k 1,4 -i 20 -c &&
        [ "$(awk '!/^#/ && $NF == 0' "$tmp/out" | wc -l)" -eq 2 ]
}

# An MPI that takes device buffers itself is not refused anything.
refuses_without_gpuring() {
    MPIRUN="$MPIRUN --mca coll ^gpuring" bench 2 bcast -m 4:4
    [ $? -eq 2 ] && complains "takes no device buffers"
}

refuses_sendrecv() {
    bench 2 sendrecv -m 4:4
    [ $? -eq 2 ] && complains "'sendrecv' needs an MPI with CUDA support"
}

no_device_anywhere() {
    CUDA_VISIBLE_DEVICES='' bench 2 bcast -m 4:4
    [ $? -eq 2 ] && complains "^gpuring_bench: -d: 'cuda' needs a CUDA driver and a device: .*NO_DEVICE; allowed: host"
}

# (Open MPI 5's btl/smcuda hangs where one rank of two has no device, also without gpuring)
no_device_at_rank_1() {
    # shellcheck disable=SC2016 # expanded by the ranks' shells
    program 2 --mca btl ^smcuda sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export CUDA_VISIBLE_DEVICES=; exec "$@"' sh \
        "$BENCH" bcast -d cuda -m 4:4
    [ $? -eq 2 ] && complains "rank 1: -d: 'cuda' needs a CUDA driver"
}

no_driver() {
    mkdir -p "$tmp/none" && echo "not a library" >"$tmp/none/libcuda.so.1"
    fake=$tmp/none bench 2 bcast -m 4:4
    [ $? -eq 2 ] && complains "needs a CUDA driver and a device: .*libcuda.so.1"
}

two_devices() { FAKECUDA_DEVICES=2 FAKECUDA_PEER=all no_errors 3 allreduce bcast -m 1k:8k; }

host_is_as_ever() {
    program 2 "$BENCH" bcast -m 4:4 -i 2 -B 10 -c -o json && json 'd["device"] == "host"'
}

ok "no driver: one line" no_driver
ok "no device: one line" no_device_anywhere
ok "no device at one rank: it is named" no_device_at_rank_1
if program 1 "$BENCH" sendrecv -d cuda -m 4:4 -i 1 -B 10; then
    echo "# this Open MPI takes device buffers itself: nothing to refuse"
else
    ok "refuses what no one takes" refuses_without_gpuring
    ok "refuses sendrecv" refuses_sendrecv
fi
ok "host buffers" host_is_as_ever
ok "JSON, and B is measured between devices" json_names_the_device
ok "table" table_names_the_device
for np in 1 2 4; do
    ok "all, $np ranks" no_errors $np all -m 4:40k -r $((np - 1))
done
for form in "--in-place" "--nonblocking" "--persistent" "--persistent --in-place"; do
    # shellcheck disable=SC2086 # several options
    ok "all, $form" no_errors 3 all $form -m 1k:8k -r 1
done
for case in "int8 sum" "uint16 max" "int32 bxor" "uint64 prod" "double min"; do
    # shellcheck disable=SC2086 # a type and an operation
    set -- $case
    ok "allreduce and reduce_scatter, $case" no_errors 3 allreduce reduce_scatter -T "$1" -O "$2" -m 64:8k
done
ok "two devices" two_devices
ok "a wrong element is found" sees_corruption
ok "gpuring_together" together

done_testing
