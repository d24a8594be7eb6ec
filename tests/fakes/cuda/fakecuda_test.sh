#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The fake driver keeps the promises of its README: each row runs one case (cases_*.c) in a process of its own with
# some options, and says how it must end. Prints TAP. Environment: FAKECUDA, the folder of the driver; SANITIZER, its
# flavour (plain, address or thread).
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../lib.sh"
dir=${FAKECUDA:-$here/lib}
flavour=${SANITIZER:-plain}
make_work
export FAKECUDA_SESSION=$work FAKECUDA_TIMEOUT=200 LC_ALL=C
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allow_user_segv_handler=0 TSAN_OPTIONS=halt_on_error=1:exitcode=66
ulimit -c 0

# Rows: case | options | how it ends: a status, or the end's words | what stderr must say (a pattern)
# abort: SIGABRT after a line that names the fault; segv: the host touched what it must not; trap: SIGILL or SIGTRAP
plain_rows='contexts | FAKECUDA_DEVICES=2 | 0 |
peers | FAKECUDA_DEVICES=4 FAKECUDA_PEER=pairs | 0 |
callbacks | | 0 |
mapped_again | FAKECUDA_DEVICES=2 | abort | so far so good.*access outside every allocation
mapped_again | FAKECUDA_DEVICES=2 GIVE_ACCESS=1 | 0 |
pool_access | FAKECUDA_DEVICES=2 | abort | so far so good.*access outside every allocation
pool_access | FAKECUDA_DEVICES=2 GIVE_ACCESS=1 | 0 |
at_exit | | 42 |
poisoned | | 0 |
host_reads_device | | segv |
host_reads_past_pinned | | segv | so far so good
host_reads_freed | | segv | so far so good
free_wrongly | | 0 |
copies | | 0 |
kernel_past_end | | abort | so far so good.*kernel load_word block 0 thread 0: access outside every allocation
kernel_before_begin | | abort | access outside every allocation
kernel_host_memory | | abort | access outside every allocation
kernel_misaligned_word | | abort | kernel load_word block 0 thread 0: misaligned access
kernel_misaligned_vector | | abort | kernel load_vector block 0 thread 3: misaligned access
kernel_freed_memory | | abort | access outside every allocation
kernel_freed_memory | FAKECUDA_CHECK=0 | segv |
kernel_peer_memory | FAKECUDA_DEVICES=2 | abort | so far so good.*access outside every allocation
nic_late | FAKECUDA_DEVICES=2 | 0 |
nic_late | FAKECUDA_DEVICES=2 FAKECUDA_NIC=late:7 | 0 |
nic_modes | | 0 |
nic_modes | FAKECUDA_NIC=unflushed | 0 |
nic_modes | FAKECUDA_NIC=ordered | 0 |
nic_modes | FAKECUDA_NIC=none | abort | so far so good.*no device memory that it reaches
nic_past_end | | abort | so far so good.*writes 300 bytes at .* no device memory that it reaches
legacy_order | | 0 |
legacy_order | FAKECUDA_DELAY=1 | 0 |
non_blocking | | 0 |
missing_order | FAKECUDA_DELAY=1 | 0 |
sync_memops | FAKECUDA_DELAY=2 | 0 |
staged | | 0 |
events | | 0 |
capture_prohibits | | 0 |
capture_closes_legacy | | 0 |
alloc_beside_kernel | | 0 |
alloc_beside_kernel | FAKECUDA_SYNC_ALLOC=1 FAKECUDA_TIMEOUT=3 | abort | no progress .* \[0-0\] running/spinning; \[1-31\] at barrier
first_launch_beside_kernel | | 0 |
first_launch_beside_kernel | FAKECUDA_SYNC_ALLOC=1 FAKECUDA_TIMEOUT=3 | abort | no progress before FAKECUDA_TIMEOUT
loaded_launch_beside_kernel | FAKECUDA_SYNC_ALLOC=1 | 0 |
bad_launches | | 0 |
barrier_after_exit | | abort | __syncthreads after a thread of the block has exited
barriers_mixed | | abort | different kinds of __syncthreads met
warp_masks_differ | | abort | a warp operation with different masks
warp_lane_missing | | abort | no thread can ever run again.* at warp op; \[5-5\] exited
shift_too_far | | trap | so far so good
deep_stack | | segv |
no_barrier | FAKECUDA_SCHED=fwd | 0 | ^1 neighbours
no_barrier | FAKECUDA_SCHED=rev | 0 | ^543 neighbours
residency | FAKECUDA_SMS=3 | 0 |
hostage | FAKECUDA_SMS=2 | 0 |
hostage | FAKECUDA_SMS=1 FAKECUDA_TIMEOUT=3 | abort | kernel wait_for block 0: no progress before FAKECUDA_TIMEOUT
ipc | | 0 |
ipc_freed | | abort | memory that its process has freed
ipc_replaced | FAKECUDA_REUSE=1 | 0 |
shared_device | FAKECUDA_SMS=1 | 0 |
hand_over | | 0 |
hand_over | FAKECUDA_WEAK=1 | 0 |
hand_over | FAKECUDA_WEAK=2 FAKECUDA_SCHED=lag:3 FAKECUDA_JITTER=9 | 0 |
hand_over | HAND_OVER_BUG=1 FAKECUDA_SCHED=lag:1 | 1 | not so
hand_over | HAND_OVER_BUG=1 FAKECUDA_WEAK=1 | 1 | not so
hand_over | HAND_OVER_BUG=2 FAKECUDA_WEAK=1 | 1 | not so
hand_over | HAND_OVER_BUG=3 FAKECUDA_WEAK=1 | 1 | not so
hand_over | HAND_OVER_BUG=4 | 1 | not so
ptx_atomics | | 0 |
ptx_atomics | FAKECUDA_SCHED=rand:3 FAKECUDA_WEAK=5 FAKECUDA_JITTER=1 | 0 |
ptx_hand_word | | 0 |
ptx_hand_word | FAKECUDA_WEAK=3 | 0 |
ptx_hand_word | FAKECUDA_WEAK=3 PTX_BUG=1 | 1 | words of 50 are others
ptx_hand_word | FAKECUDA_WEAK=3 PTX_BUG=2 | 1 | words of 50 are others
ptx_hand_word | FAKECUDA_WEAK=3 PTX_BUG=3 | 0 |
ptx_hand_word | PTX_PINNED=1 | 0 |
ptx_hand_word | PTX_PINNED=1 PTX_BUG=3 | abort | a scope below .sys on memory that others reach PTX line
ptx_hand_line | FAKECUDA_JITTER=3 | 0 |
ptx_calls | | 0 |
ptx_warps | | 0 |
ptx_warps | FAKECUDA_SCHED=rand:4 | 0 |
ptx_past_shared | | abort | so far so good.*kernel past_end block 0 thread [0-3]: access outside the block.s shared memory PTX line
ptx_past_global | | abort | so far so good.*kernel past_end block 0 thread 2: access outside every allocation at .* PTX line'

# What a kernel's body is | how it ends | what it must say. Its first line is the 12th of the PTX.
bodies='st.global.u32 [%rd1], %r1; | 0 | ^7 $
st.u32 [%rd1], %r1; | 0 | ^7 $
{ .reg .pred p; setp.eq.u32 p, %r1, 8; @!p st.global.u32 [%rd1], %r1; @p st.global.u32 [%rd1], 9; } | 0 | ^7 $
frob.u32 %r1, %r2; | abort | PTX line 12: not known: frob.u32 %r1, %r2;
add.wide.u32 %r1, %r2, %r1; | abort | PTX line 12: not known: add.wide.u32 %r1, %r2, %r1;
ld.global.v3.u32 {%r1, %r2, %r3}, [%rd1]; | abort | PTX line 12: operand of another kind: ld.global.v3.u32
add.u32 %r1, %r2; | abort | PTX line 12: operands: add.u32 %r1, %r2;
add.u32 %r1, %r2, %nobody; | abort | PTX line 12: operand of another kind: add.u32 %r1, %r2, %nobody;
bra elsewhere; | abort | PTX line 12: no label elsewhere
.tex .u32 t; | abort | PTX line 12: not known: .tex
call away; | abort | kernel body block 0 thread 0: a call of away, which is not defined PTX line 12
bar.sync 1, 32; | abort | a barrier other than that of all threads is not known PTX line 12
trap; | abort | kernel body block 0 thread 0: trap PTX line 12
st.release.gpu.global.u32 [%rd1], %r1; | 0 | ^7 $
shl.b32 %r1, %r1, 32; st.global.u32 [%rd1], %r1; | 0 | ^0 $
shr.s32 %r1, -9, 32; st.global.u32 [%rd1], %r1; | 0 | ^4294967295 $
prmt.b32 %r1, 0x80, 0, 0x8888; st.global.u32 [%rd1], %r1; | 0 | ^4294967295 $
bfi.b32 %r1, 5, 0xffff, 4, 8; st.global.u32 [%rd1], %r1; | 0 | ^61535 $
mad.wide.s32 %rd2, -2, %r1, 4; shr.s64 %rd2, %rd2, 32; st.global.u32 [%rd1], %rd2; | 0 | ^4294967295 $
st.global.u8 [%rd1], 200; ld.global.s8 %r2, [%rd1]; shr.s32 %r2, %r2, 7; st.global.u32 [%rd1], %r2; | 0 | ^4294967295 $
{ .reg .pred p, q; .reg .f32 f; mov.f32 f, 0f7FC00000; setp.ltu.f32 p, f, f; setp.lt.or.f32 q, f, f, !p; @q trap; @p st.global.u32 [%rd1], %r1; } | 0 | ^7 $
{ .reg .pred p; mov.u32 %r2, %laneid; setp.lt.u32 p, %r2, 31; vote.sync.all.pred p, p, -1; @!p st.global.u32 [%rd1], %r1; } | 0 | ^7 $
{ .reg .pred p; mov.u32 %r2, %tid.x; setp.lt.u32 p, %r2, 31; bar.red.and.pred p, 0, p; @!p st.global.u32 [%rd1], %r1; } | 0 | ^7 $
st.global.u32 [%rd1+2], %r1; | abort | kernel body block 0 thread 0: misaligned access at .* PTX line 12'

address_rows='copies | | 0 |
events | | 0 |
contexts | FAKECUDA_DEVICES=2 | 0 |
local_overrun | | abort | AddressSanitizer
ptx_atomics | | 0 |
ptx_calls | | 0 |
kernel_past_end | | abort | access outside every allocation'

thread_rows='copies | | 0 |
legacy_order | | 0 |
hand_over | HAND_OVER_THREADS=32 | 0 |
hand_over | HAND_OVER_THREADS=32 HAND_OVER_BUG=1 | 66 | data race
hand_over | HAND_OVER_THREADS=32 HAND_OVER_BUG=2 | 66 | data race
hand_over | HAND_OVER_THREADS=32 HAND_OVER_BUG=3 | 66 | data race
events | | 0 |'

trim() {
    local s=$1
    s=${s#"${s%%[! ]*}"}
    echo "${s%"${s##*[! ]}"}"
}

ended() {
    case $1 in 134) echo abort ;; 132 | 133) echo trap ;; 139 | 138) echo segv ;; *) echo "$1" ;; esac
}

row() {
    local name=$1 options=$2 expected=$3 pattern=$4 status end
    # shellcheck disable=SC2086
    { (exec env $options FAKECUDA_KERNELS="$dir/test_kernels.so" timeout 300 "$dir/cases" "$name") >"$work/out" 2>&1; } 2>/dev/null
    status=$?
    end=$(ended $status)
    echo "ended with $end, not $expected; must say: $pattern" >"$work/why"
    [ "$end" = "$expected" ] && { [ -z "$pattern" ] || tr '\n' ' ' <"$work/out" | grep -Eq "$pattern"; }
    tap_result $? "$flavour: $name${options:+ ($options)}${PTX_BODY:+: $PTX_BODY}" "$work/why" "$work/out"
}

rows() {
    while IFS='|' read -r name options expected pattern; do
        row "$(trim "$name")" "$(trim "$options")" "$(trim "$expected")" "$(trim "$pattern")"
    done <<<"$1"
}

body_rows() {
    while IFS='|' read -r body expected pattern; do
        PTX_BODY=$(trim "$body") row ptx_body '' "$(trim "$expected")" "$(trim "$pattern")"
    done <<<"$1"
}

# A program that only asks for devices creates no context; one that uses a device leaves lines.
log() {
    row "$1" "FAKECUDA_LOG=$work/$1.log" 0 ''
    touch "$work/$1.log"
    [ "$(grep -cE "$3" "$work/$1.log")" = "$2" ]
    tap_result $? "FAKECUDA_LOG of $1: $2 such lines"
}

if [ ! -x "$dir/cases" ]; then
    echo "Bail out! $dir/cases is not built"
    exit 1
fi
case $flavour in
    plain)
        rows "$plain_rows"
        body_rows "$bodies"
        log host_only 0 'context|alloc'
        log uses_device 2 '(context device 0 primary|alloc device 0)'
        ;;
    address) rows "$address_rows" ;;
    thread) rows "$thread_rows" ;;
    *) echo "Bail out! SANITIZER=$flavour: plain, address or thread" && exit 1 ;;
esac
tap_done
