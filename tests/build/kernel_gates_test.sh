#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Requirements of the compiled kernels. Prints TAP, and as comments the table of registers for docs/kernels.md.
# Every check is run twice: on what the build left behind, where it must find nothing, and on a copy of the kernels with
# one fault planted, where it must find that.
# Environment: srcdir (default: two folders up); KERNEL_BUILD: the folder in which the build kept *.ptx and kernels.log
# (what ptxas -v said); NVCC.
set -u
export LC_ALL=C
. "$(dirname "$0")/../lib.sh"
srcdir=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99
build=$(cd "${KERNEL_BUILD:-kernels}" 2>/dev/null && pwd)
nvcc=${NVCC:-$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)}
if [ -z "$nvcc" ] || [ -z "$build" ]; then
    tap_skip_all "the build made no kernels (no nvcc)"
fi
make_work

# 65536 registers of an SM, for blocks of 17 warps, which take 20 warps' registers: the most that a thread may have
limit=96

# The checks take a folder with *.ptx and kernels.log and print what is wrong there.

# Lines "architecture kernel registers stack spills", of kernels and of functions that they call ("-").
resources() {
    awk '/Compiling entry function/ { split($0, part, "\047"); kernel = part[2]; arch = part[4] }
        /bytes stack frame/ { stack = $1 > stack ? $1 : stack; spills = $5 > spills ? $5 : spills }
        /Used [0-9]+ registers/ {
            for (i = 1; i < NF; i++) if ($i == "Used") registers = $(i + 1)
            print arch, kernel, registers, stack + 0, spills + 0
            stack = spills = 0
        }' "$1/kernels.log"
}

local_memory() {
    resources "$1" | awk '$4 > 0 || $5 > 0 { print $2 " for " $1 ": " $4 " bytes of stack, " $5 " spilled" }'
    grep -Hn '\.local' "$1"/*.ptx | head -n 3
}

registers() {
    resources "$1" | awk -v limit="$limit" '$3 > limit { print $2 " for " $1 ": " $3 " registers" }'
}

# Only these instructions touch memory outside the block.
accesses() {
    grep -oHE '\b(ld|st|atom|red|ldu|fence|membar|cp)\.[a-z0-9_.:]+' "$1"/*.ptx | sort -u |
        grep -v ':red\.and\.pred$' | # of barrier.red: a vote
        grep -vE ':(ld|st)\.(shared|param)\.|:(ld|st)\.((v2|v4)\.)?[bfsu][0-9]+$' |
        grep -vE ':(ld|st)\.global\.(u8|u16|u32|u64|v4\.u32)$' |
        grep -vE ':(ld\.acquire|st\.release|ld\.relaxed)\.sys\.global\.u64$|:(ld|st)\.relaxed\.sys\.global\.v2\.u64$' |
        grep -v ':atom\.acq_rel\.sys\.global\.add\.u64$'
}

# Counters are loaded with acquire and stored with release. The abort word is loaded relaxed, in four places of each
# kernel: while the scheduler waits, when it gives a piece up, and where lines of either kind are taken; and in two,
# behind a counter's acquire, whether results went past the slots.
counters() {
    awk '/\.entry / { split($0, part, /[ (]+/); kernel = part[3]; acquires[kernel] = releases[kernel] = relaxed[kernel] = 0 }
        /ld\.acquire\.sys\.global/ { acquires[kernel]++ }
        /st\.release\.sys\.global/ { releases[kernel]++ }
        /ld\.relaxed\.sys\.global\.u64/ { relaxed[kernel]++ }
        END {
            for (k in acquires) {
                if (k ~ /^gr_kernel_/ && (acquires[k] < 4 || releases[k] < 3 || relaxed[k] > 6)) {
                    print k ": " acquires[k] " acquires, " releases[k] " releases, " relaxed[k] " relaxed loads"
                }
            }
        }' "$1"/*.ptx
}

# A leader's blocks count themselves, and the last of them says with release that all is stored.
leader_ends() {
    awk '/\.entry / { split($0, part, /[ (]+/); kernel = part[3]; counted[kernel] = releases[kernel] = 0 }
        /atom\.acq_rel\.sys\.global\.add/ { counted[kernel]++ }
        /st\.release\.sys\.global/ { releases[kernel]++ }
        END {
            for (k in counted) {
                if (k ~ /^gr_leader_/ && (counted[k] != 1 || releases[k] != 1)) {
                    print k ": counted " counted[k] " times, " releases[k] " releases"
                }
            }
        }' "$1"/*.ptx
}

# Every kernel that combines does so in vectors: 8 loads at once, or 4 of types of one byte.
vectors() {
    awk '/\.entry / { split($0, part, /[ (]+/); kernel = part[3]; loads[kernel] = stores[kernel] = 0 }
        /ld\.global\.v4\.u32/ { loads[kernel]++ }
        /st\.global\.v4\.u32/ { stores[kernel]++ }
        END {
            for (k in loads) {
                least = k ~ /_[iu]8_/ ? 4 : 8
                if (k !~ /copy/ && (loads[k] < least || stores[k] < least / 2)) {
                    print k ": " loads[k] " vector loads, " stores[k] " vector stores"
                }
            }
        }' "$1"/*.ptx
}

# nvcc unrolls loops over any number of ends by a factor of its own, where it is not told otherwise: the copy had 3137 lines.
unrolled() {
    awk '/\.(entry|func) / { copy = /gr_copy_item/; lines = 0 }
        copy && ++lines == 1200 { print FILENAME ": the copy of an item has more than 1200 lines" }' "$1"/*.ptx
}

# The results of fused multiply-adds are others than those of the host. ptxas makes them of a multiplication that does
# not say how it is rounded and what is added to it.
fused() {
    awk '/\.entry / { split($0, part, /[ (]+/); kernel = part[3] }
        /[ \t]fma\./ { print kernel ": " $0 }
        /[ \t]mul\.f(32|64)/ { multiplies[kernel]++ }
        /[ \t](add|sub)\.f(32|64)/ { adds[kernel]++ }
        END { for (k in multiplies) if (k in adds) print k ": " multiplies[k] " multiplications, " adds[k] " additions" }' \
        "$1"/*.ptx
}

# ---- running the checks ----

# compile DIR: its kernels, one of them, as far as the checks look
compile() {
    "$nvcc" -I"$1" -std=c++17 -O3 -ptx -arch=compute_90 "$1/exec/gpu/kernels/kernels.cu" -o "$1/kernels.ptx" >"$1/said" 2>&1 &&
        "$(dirname "$nvcc")/ptxas" -v -arch=sm_90 "$1/kernels.ptx" -o "$1/kernels.cubin" >"$1/kernels.log" 2>&1
}

# check TITLE FUNCTION FILE EDIT [KERNEL]: on the build, and on a copy where EDIT (sed) was done to FILE.cuh
check() {
    "$2" "$build" >"$work/found"
    [ ! -s "$work/found" ]
    tap_result $? "$1" "$work/found"
    rm -rf "$work/tree"
    mkdir "$work/tree"
    cp -R "$srcdir"/coll_gpuring/{base,exec,sched,topo} "$work/tree"
    chmod -R u+w "$work/tree"
    sed -i "s/^GR_KERNELS(GR_KERNEL_OF)\$/GR_KERNEL_OF(${5:-f32, sum})/; /^GR_KERNEL(copy/d" "$work/tree/exec/gpu/kernels/kernels.cu"
    sed -i "$4" "$work/tree/exec/gpu/kernels/$3.cuh"
    echo "the edit changed nothing, or did not compile: $4" >"$work/found"
    ! cmp -s "$work/tree/exec/gpu/kernels/$3.cuh" "$srcdir/coll_gpuring/exec/gpu/kernels/$3.cuh" && compile "$work/tree" &&
        echo "found nothing in a copy with: $4" >"$work/found" && "$2" "$work/tree" | grep -q .
    tap_result $? "    and finds one that was planted in $3.cuh" "$work/found"
}

resources "$build" >"$work/resources"
awk '{ seen[$1] = 1; registers[$2] = registers[$2] " " $1 ":" $3 }
    END { for (k in registers) print "# " k registers[k] }' "$work/resources" | sort
grep -c . "$work/resources" | sed 's/^/# kernels times architectures: /'
table() {
    printf '#include "exec/gpu/kernels.h"\n#define NAME(type, op) gr_kernel_##type##_##op gr_leader_##type##_##op\nGR_KERNELS(NAME) gr_kernel_copy gr_leader_copy\n' |
        ${CC:-cc} -E -P -I"$srcdir/coll_gpuring" - | tail -n 1 | grep -oE 'gr_(kernel|leader)_[a-z0-9_]+' | sort
}
for arch in $(awk '{ print $1 }' "$work/resources" | sort -u); do
    awk -v arch="$arch" '$1 == arch { print $2 }' "$work/resources" | sort >"$work/compiled"
    table | diff - "$work/compiled" | grep '^[<>]' | sed "s/</not for $arch:/; s/>/not in the table:/"
done >"$work/found"
[ ! -s "$work/found" ]
tap_result $? "each kernel was compiled for each architecture" "$work/found"
# configure's list: N-real and N are machine code of sm_N
tr ',' '\n' <"$build/../kernels.arch" | sed -n '/-virtual/!s/^\([0-9af]*\).*/sm_\1/p' | sort >"$work/wanted"
awk '{ print $1 }' "$work/resources" | sort -u | diff "$work/wanted" - >"$work/found"
tap_result $? "the architectures are those of --with-cuda-arch: $(cat "$build/../kernels.arch")" "$work/found"

check "no local memory, nothing spilled" local_memory move \
    's/^    gr_sum<Pair, By> sum\[unroll\];/    volatile int n = (int) i; int a[9]; for (int k = 0; k < 9; k++) { a[k] = n + k; } v_sink(a[n % 9]);\n&/;s/^enum gr_frequent {/__device__ static void v_sink(int x) { asm volatile("" : : "r"(x)); }\n&/'
check "at most $limit registers per thread" registers move \
    's/#define GR_UNROLL 4/#undef GR_GPU_THREADS\n#define GR_GPU_THREADS 96\n#define GR_UNROLL 14/'
check "only the accesses of port.cuh touch memory" accesses port 's/ld\.global\.v4\.u32 /ld.global.nc.v4.u32 /'
check "no volatile accesses" accesses port 's/"ld.acquire.sys.global.u64 /"ld.volatile.global.u64 /'
check "lines are whole words" accesses port 's/"ld.relaxed.sys.global.v2.u64 /"ld.global.v2.u64 /'
check "counters are loaded with acquire" counters link 's/s->seen = gp_ld_acquire(/s->seen = gp_ld_relaxed(/'
check "counters are stored with release" accesses loop 's/gp_st_release((uint64_t \*) s->post/gp_st_relaxed((uint64_t *) s->post/'
check "a leader's last block says so with release" leader_ends leader 's/gp_st_release((uint64_t \*) a->done/gp_st_relaxed((uint64_t *) a->done/'
check "data are combined in vectors" vectors move 's/if (0 == difference % 16 \&\& 0 == item->src\[0\] % bytes) {/if (0 == difference % 16 \&\& 0 == item->count) {\n        head = vectors = 0;\n    }\n    if (0) {/'
check "loops over any number of ends are not unrolled" unrolled move 's/^#pragma unroll(ndst > 0 ? ndst : 1)/#pragma unroll/'
check "no multiply-add is fused" fused ops 's/gp_mul(x.re, y.re) - /x.re * y.re - /' 'c64, prod'
tap_done
