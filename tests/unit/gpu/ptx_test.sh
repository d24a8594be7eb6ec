#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The kernels as they ship: the PTX of the image, interpreted by the fake driver, against the host's steps, bit for bit,
# in the driver's modes. Then mutants of that PTX, each of which must be caught. Prints TAP. Environment: builddir
# (default: here), PTX_ROWS (a pattern of rows' names, default all).
set -u
. "$(dirname "$0")/../../lib.sh"
make_work
builddir=${builddir:-.}
libraries=$builddir/tests/fakes/cuda/lib
image=$builddir/kernels.fatbin
text=$(find "$builddir/kernels" -name '*.ptx' 2>/dev/null | sort | tail -n 1)
ulimit -c 0

# kernel_test with these settings; what it says goes to $work/said
run() {
    env KERNEL_IMAGE="$image" LIBCUDA="$libraries/libcuda.so.1" CMOCKA_MESSAGE_OUTPUT=STDOUT "$@" \
        timeout -k 1 "${KERNEL_MODE_LIMIT:-1800}" "$builddir/tests/unit/gpu/kernel_test" >"$work/said" 2>&1
}

run FAKECUDA_PTX=1 KERNEL_TEST_EACH=1 KERNEL_TEST_ONLY='none*'
if grep -q 'an image without PTX' "$work/said"; then
    tap_skip_all "the image has machine code only"
fi

wanted() {
    # shellcheck disable=SC2053 # a pattern
    [[ $1 == ${PTX_ROWS:-*} ]]
}

# name: settings
rows="each kernel: KERNEL_TEST_EACH=1 KERNEL_TEST_ONLY=every_kernel*
any case: KERNEL_TEST_THIN=$(depth 60 30)
weak memory: KERNEL_TEST_THIN=30 FAKECUDA_WEAK=11
a thread lags: KERNEL_TEST_THIN=40 FAKECUDA_SCHED=lag:5
threads in reverse: KERNEL_TEST_THIN=40 FAKECUDA_SCHED=rev
weak memory, any order, jitter: KERNEL_TEST_THIN=40 FAKECUDA_WEAK=19 FAKECUDA_SCHED=rand:23 FAKECUDA_JITTER=29"

while IFS= read -r row; do
    name=${row%%: *}
    read -ra settings <<<"FAKECUDA_PTX=1 ${row#*: }"
    wanted "$name" || continue
    if run "${settings[@]}"; then
        tap_ok "$name: $(grep -a '^# launches' "$work/said" | cut -c3-)"
    else
        tail -n 25 "$work/said" | cut -c1-800 >"$work/why"
        tap_result 1 "$name" "$work/why"
    fi
done < <(rows_of_depth '^any case:' <<<"$rows")

# Mutants: what is changed | how (sed) | settings | what is said. The seed is fixed: each is known to be caught by it.
mutants='nothing | | FAKECUDA_WEAK=11 |
an acquire less | s/ld\.acquire\.sys/ld.relaxed.sys/ | FAKECUDA_WEAK=11 | byte [0-9]+ of [0-9]+ is .*, on the host|rank [0-9]+ channel [0-9]+ 
a release less | s/st\.release\.sys/st.relaxed.sys/ | FAKECUDA_WEAK=11 | byte [0-9]+ of [0-9]+ is .*, on the host|rank [0-9]+ channel [0-9]+ 
barriers less | s/barrier\.sync 0;// | FAKECUDA_SCHED=lag:5 | .
a release for the device only | s/st\.release\.sys/st.release.gpu/ | | a scope below .sys on memory that others reach PTX line
the abort word read for the device only | s/ld\.relaxed\.sys\.global\.u64/ld.relaxed.gpu.global.u64/ | | a scope below .sys on memory that others reach PTX line
operands exchanged | s/sub\.s64 ([^,]*), ([^,]*), ([^;]*);/sub.s64 \1, \3, \2;/ | | .
an unknown instruction | s/barrier\.sync 0;/barrier.sink 0;/ | | PTX line [0-9]+: not known: barrier.sink 0;'

trim() {
    sed -E 's/^ +//; s/ +$//' <<<"$1"
}

mutant() {
    local name=$1 change=$2 options=$3 said=$4 status
    sed -E "$change" "$text" >"$work/mutant.ptx"
    if [ -n "$change" ] && cmp -s "$text" "$work/mutant.ptx"; then
        tap_result 1 "mutant: $name: nothing to change"
        return
    fi
    # shellcheck disable=SC2086
    { (run FAKECUDA_PTX="$work/mutant.ptx" GPURING_SEED=5 KERNEL_TEST_FEW=f32_sum KERNEL_TEST_STOP=1 KERNEL_TEST_THIN=3 \
        KERNEL_TEST_ONLY='counts*' KERNEL_TEST_LIMIT=60 FAKECUDA_TIMEOUT=60 $options); } 2>/dev/null
    status=$?
    if [ -z "$change" ]; then
        tap_result $status "mutant: $name: passes" "$work/said"
        return
    fi
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -aEq "$said" "$work/said"
    tap_result $? "mutant: $name: caught" "$work/said"
}

if [ -z "$text" ]; then
    tap_skip mutants 'the build kept no PTX in kernels/'
else
    while IFS='|' read -r name change options said; do
        name=$(trim "$name")
        wanted "mutant: $name" || continue
        mutant "$name" "$(trim "$change")" "$(trim "$options")" "$(trim "$said")"
    done <<<"$mutants"
fi
[ "$tap_count" -gt 0 ] || tap_result 1 "PTX_ROWS=${PTX_ROWS:-} names a row"
tap_done
