#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kernel_test in the modes of the fake driver, or under the sanitizer that it is built for. Prints TAP. Environment:
# builddir (default: here), SANITIZER (that of the build: plain, address or thread), KERNEL_MODES (names of modes, default
# all).
set -u
. "$(dirname "$0")/../../lib.sh"
make_work
builddir=${builddir:-.}

# mode: one in so many cases, by the seed: environment
more=1 # one in so many times as many
case ${SANITIZER:-plain} in
    plain)
        more=$(depth 2 1)
        modes='checked: 2:
every block alone on the device: 16: FAKECUDA_SMS=1
threads in reverse: 12: FAKECUDA_SCHED=rev
a thread lags: 12: FAKECUDA_SCHED=lag:5
threads in any order: 12: FAKECUDA_SCHED=rand:7
weak memory: 8: FAKECUDA_WEAK=11
weak memory, a thread lags: 12: FAKECUDA_WEAK=13 FAKECUDA_SCHED=lag:17
weak memory, any order, jitter: 12: FAKECUDA_WEAK=19 FAKECUDA_SCHED=rand:23 FAKECUDA_JITTER=29'
        ;;
    address) modes='ASan and UBSan: 16: KERNEL_TEST_FEW=f32_sum,f64_max,bits_bxor,f64_i32_minloc' ;;
    thread) modes='TSan: 192: KERNEL_TEST_FEW=f32_sum,f64_max' ;;
    *) echo "Bail out! SANITIZER=$SANITIZER: plain, address or thread" && exit 1 ;;
esac

while IFS= read -r row; do
    IFS=: read -r mode thin environment <<<"$row"
    if [ -n "${KERNEL_MODES:-}" ] && [[ "|$KERNEL_MODES|" != *"|$mode|"* ]]; then
        continue
    fi
    # the environment is all that follows the second colon
    read -ra settings <<<"X=1 $environment"
    libraries=$builddir/tests/fakes/cuda/lib
    if said=$(env "${settings[@]}" KERNEL_TEST_THIN=$((more * thin)) FAKECUDA_KERNELS="$libraries/traced_kernels.so" \
        LIBCUDA="$libraries/libcuda.so.1" CMOCKA_MESSAGE_OUTPUT=STDOUT timeout -k 1 "${KERNEL_MODE_LIMIT:-1800}" \
        "$builddir/tests/unit/gpu/kernel_test" 2>&1); then
        tap_ok "$mode: $(grep '^# launches' <<<"$said" | cut -c3-)"
    else
        tail -n 25 <<<"$said" | cut -c1-800 >"$work/why"
        tap_result 1 "$mode" "$work/why"
    fi
done <<<"$modes"
[ "$tap_count" -gt 0 ] || tap_result 1 "KERNEL_MODES=${KERNEL_MODES:-} names a mode"
tap_done
