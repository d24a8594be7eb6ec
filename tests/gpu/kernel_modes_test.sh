#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kernel_test in the modes of the fake driver. Prints TAP. Environment: builddir (default: here), KERNEL_MODES (names of
# modes, default all).
set -u
builddir=${builddir:-.}
count=0

# mode: flavour: one in so many cases, by the seed: environment
modes='checked: plain: 2:
every block alone on the device: plain: 16: FAKECUDA_SMS=1
threads in reverse: plain: 12: FAKECUDA_SCHED=rev
a thread lags: plain: 12: FAKECUDA_SCHED=lag:5
threads in any order: plain: 12: FAKECUDA_SCHED=rand:7
weak memory: plain: 8: FAKECUDA_WEAK=11
weak memory, a thread lags: plain: 12: FAKECUDA_WEAK=13 FAKECUDA_SCHED=lag:17
weak memory, any order, jitter: plain: 12: FAKECUDA_WEAK=19 FAKECUDA_SCHED=rand:23 FAKECUDA_JITTER=29
ASan and UBSan: asan: 16: KERNEL_TEST_FEW=f32_sum,f64_max,bits_bxor,f64_i32_minloc
TSan: tsan: 32: KERNEL_TEST_FEW=f32_sum,f64_max'

while IFS= read -r row; do
    IFS=: read -r mode flavour thin environment <<<"$row"
    if [ -n "${KERNEL_MODES:-}" ] && [[ "|$KERNEL_MODES|" != *"|$mode|"* ]]; then
        continue
    fi
    # the environment is all that follows the third colon
    read -ra settings <<<"X=1 $environment"
    flavour=${flavour# }
    run=("$builddir/tests/gpu/kernel_test")
    [ "$flavour" = plain ] || run=("$builddir/tests/gpu/kernel_test_$flavour")
    # ThreadSanitizer of gcc 12 does not start where the kernel spreads addresses widely
    if [ "$flavour" = tsan ] && setarch -R true 2>/dev/null; then
        run=(setarch -R "${run[@]}")
    fi
    count=$((count + 1))
    libraries=$builddir/tests/gpu/$flavour
    if said=$(env "${settings[@]}" KERNEL_TEST_THIN="${thin# }" FAKECUDA_KERNELS="$libraries/kernels.so" \
        LIBCUDA="$libraries/libcuda.so.1" CMOCKA_MESSAGE_OUTPUT=STDOUT timeout -k 1 "${KERNEL_MODE_LIMIT:-600}" \
        "${run[@]}" 2>&1); then
        echo "ok $count - $mode: $(grep '^# launches' <<<"$said" | cut -c3-)"
    else
        echo "not ok $count - $mode"
        tail -n 25 <<<"$said" | cut -c1-800 | sed 's/^/# /'
    fi
done <<<"$modes"
echo "1..$count"
