#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every algorithm and protocol of the kernels, on the fake CUDA driver, and the benchmark that measures them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

# ---- every algorithm ----

# ALGORITHM CHANNELS SLOTS SLOT_BYTES NP
while read -r algorithm channels slots slot_bytes np; do
    [ -n "$algorithm" ] || continue
    GPURING_MEMORY=device on_devices \
        "$algorithm, $channels channels, $slots slots of $slot_bytes bytes, $np ranks" good_on_devices $np --mca op ^avx \
        --mca coll_gpuring_algorithm "$algorithm" --mca coll_gpuring_device_channels "$channels" \
        --mca coll_gpuring_device_slots "$slots" --mca coll_gpuring_device_slot_bytes "$slot_bytes" -- $(any_case) </dev/null
done < <(rows_of_depth '^(ring  1|tree  2)' <<END
ring  1 4 4096  4
tree  2 2 4096  5
flat  3 2 8192  4
chain 2 3 16384 3
tree  4 4 65536 2
ring  3 2 256   3
END
)

# ---- every protocol ----

# what is chosen, as rank 0 says it
chose() { # PATTERN
    seen "bytes on devices .*: $1, "
}
# PROTOCOL ALGORITHM NP MEMORY
while read -r protocol algorithm np memory; do
    [ -n "$protocol" ] || continue
    GPURING_MEMORY=$memory on_devices \
        "$protocol, $algorithm, $np ranks, $memory memory" good_on_devices $np $small --mca coll_gpuring_verbose 2 \
        --mca coll_gpuring_protocol $protocol --mca coll_gpuring_algorithm $algorithm -- $(any_case) </dev/null
    wanted=$protocol
    [ "$protocol" = ll128 ] && wanted='(ll|simple)' # what auto chooses: these ranks share devices
    [ "$algorithm" = auto ] || tap_check "$protocol, $algorithm: they are what was chosen" \
        chose "$algorithm \\(forced\\), $wanted, [0-9]+ threads"
done < <(rows_of_depth '^(ll     (auto|oneshot)|simple twoshot|ll128)' <<END
ll     auto    3 mixed
ll     ring    4 device
ll     tree    3 device
ll     flat    5 device
ll     oneshot 4 device
ll     twoshot 5 device
simple oneshot 3 device
simple twoshot 4 device
ll128  ring    3 device
END
)
PROGDIR=$(dirname "$BENCH") grun 3 $small --mca coll_gpuring_protocol ll128 -- gpuring_bench allreduce -d cuda -c -m 8:4096 \
    -i 2 -x 1 -B 10
tap_check "ll128 where stores may not arrive whole: said once" said_once \
    'gpuring: coll_gpuring_protocol ll128 is not possible in MPI_COMM_WORLD, where links go over PCIe'

# each of two ranks has a device of its own, and NVML says that NVLink joins them
nvml=$(cd "$FAKECUDA/../../.libs" 2>/dev/null && pwd)
if [ -e "$nvml/libnvidia-ml.so.1" ]; then
    export FAKENVML_BUSSES=16,17
    beside=$LD_LIBRARY_PATH
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$nvml
    wrapper own_only 'export CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_RANK'
    for algorithm in $(printf '%s\n' ring tree oneshot twoshot | rows_of_depth tree); do
        WRAPPER=$work/own_only GPURING_MEMORY=device on_devices \
            "ll128 over NVLink, $algorithm" good_on_devices 2 $small --mca coll_gpuring_verbose 2 \
            --mca coll_gpuring_protocol ll128 --mca coll_gpuring_algorithm $algorithm -- $(any_case)
        tap_check "ll128 over NVLink, $algorithm: it is what was chosen" \
            chose "$algorithm \\(forced\\), ll128, [0-9]+ threads"
    done
    tap_check "ll128 over NVLink: nothing to say" not_seen 'll128 is not possible'
    LD_LIBRARY_PATH=$beside
    unset FAKENVML_BUSSES
else
    tap_skip "ll128 over NVLink" "no fake NVML was built"
fi

# ---- the benchmark ----

# at least so many rows, all without errors
bench_is_right() {
    [ "$rc" -eq 0 ] && [ "$(grep -cE '^ +[0-9]+ .* 0$' "$out")" -ge "$1" ] && not_seen '^ +[0-9]+ .* [1-9][0-9]*$'
}
PROGDIR=$(dirname "$BENCH") grun 4 --mca coll_gpuring_priority 90 $small -- gpuring_bench allreduce allgather \
    reduce_scatter bcast reduce -d cuda -c -m 4:65536 -i 2 -x 1 -B 10
tap_check "gpuring_bench -d cuda -c: five collectives of all sizes are right" bench_is_right 65
PROGDIR=$(dirname "$BENCH") grun 3 $small -- gpuring_bench allreduce bcast -d cuda -c -m 64:16384 -i 2 -x 1 --persistent -B 10
tap_check "gpuring_bench -d cuda -c --persistent" bench_is_right 18

tap_done
