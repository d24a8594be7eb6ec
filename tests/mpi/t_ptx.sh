#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Collectives on device buffers with the PTX of the component's image, which the fake driver interprets
# (tests/fakes/cuda/README.md): the kernels that ship, between processes. Then mutants of it: flags that other processes
# reach, at a scope below .sys. Environment: BENCH, gpuring_bench; and see lib.sh.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

ulimit -c 0
export FAKECUDA_PTX=1 FAKECUDA_LOG=$work/log
interpreted() { grep -q "kernel gr_kernel_$1 is interpreted" "$FAKECUDA_LOG"; }

# at least so many rows, all without errors
bench_is_right() {
    [ "$rc" -eq 0 ] && [ "$(grep -cE '^ +[0-9]+ .* 0$' "$out")" -ge "$1" ] && not_seen '^ +[0-9]+ .* [1-9][0-9]*$'
}

for coll in allreduce allgather reduce_scatter bcast reduce; do
    PROGDIR=$(dirname "$BENCH") grun 3 --mca coll_gpuring_priority 90 $small -- gpuring_bench $coll -d cuda -c -m 4:65536 \
        -i 1 -x 0 -B 10
    seen 'an image without PTX' && tap_skip_all "the component's image has machine code only"
    tap_check "$coll: right" bench_is_right 13
done
tap_check "they were interpreted" interpreted f32_sum

# PROTOCOL ALGORITHM NP SETTINGS
while read -r protocol algorithm np settings; do
    [ -n "$protocol" ] || continue
    # shellcheck disable=SC2163 # its name is in it
    [ -z "$settings" ] || export "$settings"
    GPURING_MEMORY=device on_devices "$protocol, $algorithm, $np ranks${settings:+, $settings}" good_on_devices $np $small \
        --mca coll_gpuring_protocol $protocol --mca coll_gpuring_algorithm $algorithm -- $(any_case) </dev/null
    [ -z "$settings" ] || unset "${settings%%=*}"
done < <(rows_of_depth '^(simple auto|ll     oneshot)' <<END
simple auto    3 FAKECUDA_WEAK=3
ll     oneshot 2 FAKECUDA_SCHED=lag:4
ll     ring    3 FAKECUDA_WEAK=5
simple twoshot 4 FAKECUDA_SCHED=rand:3
simple tree    4
simple flat    3
simple chain   3
END
)
if in_all; then
    GPURING_MEMORY=device on_devices "every type with every operation" good_on_devices 2 $small -- $(eight_in every --count=0 --beyond)
fi

# ---- mutants ----

text=$(find "$FAKECUDA/../../../../kernels" -name '*.ptx' 2>/dev/null | sort | tail -n 1)
# WHAT PROTOCOL CHANGE
mutant() {
    sed -E "$3" "$text" >"$work/mutant.ptx"
    if cmp -s "$text" "$work/mutant.ptx"; then
        tap_not_ok "$1: nothing to change"
        return
    fi
    FAKECUDA_PTX=$work/mutant.ptx PROGDIR=$(dirname "$BENCH") grun 2 --mca coll_gpuring_priority 90 $small \
        --mca coll_gpuring_protocol $2 --mca coll_gpuring_algorithm ring -- gpuring_bench allreduce -d cuda -c -m 4096:4096 \
        -i 1 -x 0 -B 10
    tap_check "$1: caught" caught
}
caught() { [ "$rc" -ne 0 ] && [ "$rc" -ne 124 ] && seen 'a scope below .sys on memory that others reach PTX line'; }

if [ -z "$text" ]; then
    tap_skip mutants 'the build kept no PTX'
else
    mutant 'a counter read for the device only' simple 's/ld\.acquire\.sys/ld.acquire.gpu/'
    mutant 'a line of LL read for the device only' ll 's/ld\.relaxed\.sys\.global\.v2/ld.relaxed.gpu.global.v2/'
    mutant 'a line of LL stored for the device only' ll 's/st\.relaxed\.sys\.global\.v2/st.relaxed.gpu.global.v2/'
fi

tap_done
