#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Bugs planted into copies of the kernels: each must be caught by some mode of the fake driver, and the kernels as they
# are by none. Prints TAP, with the mode that caught it. Arguments: names of mutants, default some of them (sample.sh).
# Environment: srcdir (default: two folders up), KERNEL_TEST (kernel_test), LIBCUDA (the fake driver),
# KERNEL_MUTANTS_KEEP (leave the build folder there).
set -u
export LC_ALL=C
srcdir=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99
test=$(realpath "${KERNEL_TEST:-tests/unit/gpu/kernel_test}") || exit 99
fake=$(dirname "$(realpath "${LIBCUDA:-tests/fakes/cuda/lib/libcuda.so.1}")") || exit 99
. "$(dirname "$0")/../sample.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
count=0

# mode: environment. The later ones run threads in bad orders, or let stores be seen late.
modes='plain:
rev: FAKECUDA_SCHED=rev
lag: FAKECUDA_SCHED=lag:3
jitter: FAKECUDA_JITTER=5
weak: FAKECUDA_WEAK=7
weak lag: FAKECUDA_WEAK=9 FAKECUDA_SCHED=lag:11
weak rand: FAKECUDA_WEAK=13 FAKECUDA_SCHED=rand:19'

# name @ file @ edit (sed) @ what it breaks @ the mode to begin with [@ the kernels that show it]
mutants='no barrier before the move @ loop @ /GR_ITEM_WAIT == [a-z>-]*what) {/,/go) {/{/gp_barrier/d} @ data are moved before their slot is ready @ plain
no barrier behind the move @ loop @ /gp_barrier(); \/\* the item/d;/item = &block->item\[n\];/{n;d} @ counters are posted before the data are stored @ plain
flag before data @ loop @ s/^        gr_claim(&s, elem_bytes);/&\n        gr_post(\&s);/ @ tails and heads are posted while the data are moved @ rev
head before the data were read @ loop @ s/^        gr_claim(&s, elem_bytes);/&\n        if (!s.writes) {\n            gr_post(\&s);\n        }/ @ the writer may overwrite what is being read @ rev
no credit @ link @ s/if (s->peer < 0 ||/if (s->writes || s->peer < 0 ||/ @ a slot is written before it is free @ plain
one slot too many @ link @ s/uint64_t none = s->writes ? s->args->nslots : 0;/uint64_t none = s->writes ? s->args->nslots + 1 : 0;/;s/s->link.count - (s->writes ? s->args->nslots : 0)/s->link.count - (s->writes ? s->args->nslots + 1 : 0)/ @ credit of one slot more than there are @ plain
relaxed flag load @ link @ s/s->seen = gp_ld_acquire(/s->seen = gp_ld_relaxed(/ @ data may be older than the flag @ weak
relaxed flag store @ loop @ s/gp_st_release((uint64_t \*) s->post, s->value);/if (s->writes) { gp_st_relaxed((uint64_t *) s->post, s->value); } else { & }/ @ the flag may overtake the data @ weak
relaxed post @ loop @ s/gp_st_release((uint64_t \*) s->post/gp_st_relaxed((uint64_t *) s->post/ @ both counters may overtake the accesses @ weak
misaligned vectors @ move @ s/if (0 == difference % 16 \&\& /if (0 == difference % bytes \&\& / @ vectors where addresses differ @ plain
misaligned copy @ copy @ s/if (16 == width) {/if (8 <= width) {/ @ 16-byte words where only 8 are alike @ plain
no head @ copy @ s/head = head < bytes ? head : bytes;/head = 0;/ @ vectors begin where the address is not a multiple of 16 @ plain
overrun by one vector @ move @ s/vectors = (item->count - head) .*/vectors = (item->count - head) \/ each + 1;/ @ writes behind the piece @ plain
copy overrun @ copy @ s/body = (bytes - head) \& /body = (bytes - head + width - 1) \& / @ writes behind the piece @ plain
lost tail @ move @ s/item->count - rest);/(item->count - rest) \/ 2);/ @ the last elements are not combined @ plain
left after its first store @ loop @ s/if (w->first \&\&/if (w->last \&\&/ @ waits, and leaves, with part of the slot moved @ plain
counts not saved @ loop @ /gp_st(&s->end->count/d @ the next launch begins at old slots @ plain
claimed before the wait @ loop @ s/^            go = gr_wait(&s);/            gr_claim(\&s, elem_bytes);\n&/ @ a slot counts as handled, and the block leaves @ plain
place one slot late @ loop @ s/at = &s->block->walk.begin;/at = \&s->block->walk.at;/ @ goes on behind the slot that it waited for @ plain
end not saved @ loop @ /gp_st(&place->over/d @ a channel that is through runs again @ plain
wrong slot @ loop @ s/number = s->link.count % s->args->nslots/number = (s->link.count + s->writes) % s->args->nslots/ @ writes the slot behind the one that is free @ plain
piece offset @ loop @ s/ + w->slot \* elem_bytes;/;/ @ pieces of a slot lie on top of each other @ plain
operands swapped @ move @ s/Pair::combine(sum, Pair::widen(y\[k\]\[u\].elem\[e\]))/Pair::combine(Pair::widen(y[k][u].elem[e]), sum)/ @ the order of reduction @ plain
walk without waiting for the warp @ loop @ /^    __syncwarp(); \/\* all know/d @ the next piece is found while others look at this one @ plain
counter of the wrong link @ loop @ s/s->post, s->value)/s->post, s->link.count)/ @ posted when the next link is looked up already @ plain
stale link @ link @ s/if (peer == s->peer) {/if (peer == s->peer || peer < 0) {/ @ threads without a link keep the last one @ plain
credit taken for granted @ link @ s/s->seen = s->link.count - (s->writes ? s->args->nslots : 0);/s->seen = s->link.count - !s->writes;/ @ as if the other end had been looked at @ plain
abort not seen @ loop @ s/0 == polls % GR_ABORT_EVERY/0/ @ a block that waits polls for ever @ plain
no patience @ loop @ s/if (++polls >= s->args->patience) {/++polls;\n        if (0) {/ @ a block never gives up its place @ plain
slot never ends early @ steps @ s/ || 0 == w->room || .*/ || 0 == w->room;/ @ a message and the next share a slot @ plain
tie @ ops @ s/ \&\& !(y.k < x.k) / \&\& y.k < x.k / @ of equal values, the higher index @ plain @ f64_i32_minloc
gap @ ops @ s/T y = {};.*/T y = {}; memset(\&y, 1, sizeof(y));/ @ other bytes than zeros beside a value or index @ plain @ f64_i32_minloc
not made 1 @ ops @ s/(0 != x) != (0 != y)/x ^ y/ @ a logical result that is neither 0 nor 1 @ plain @ u16_lxor
sign of a product @ ops @ s/gp_mul(x.re, y.re) - /gp_mul(x.re, y.re) + / @ i times i is 1 @ plain @ c64_prod
flags of LL not looked at @ lines @ s/        return 0 == wrong;/        return 1;/ @ a unit is taken before it came @ plain
one flag of two @ lines @ s/^        wrong = ((word\[0\] >> 32) ^ (uint32_t) flag) | /        wrong = /;s/            wrong |= ((word\[2\] >> 32) ^ (uint32_t) flag) | /            wrong |= / @ the words of a pair arrive one after the other @ jitter
second pair not looked at @ lines @ s/            wrong |= .*/            (void) wrong;/ @ half of the unit may be old @ jitter
flag of LL128 not looked at @ lines @ s/        return !any(late \&\& high != flag);/        return 1;/ @ a line is taken before it came @ plain
short line @ lines @ s/size_t line = 16 == elem_bytes ? 112 : 120;/size_t line = 120;/ @ an element of 16 bytes lies in two lines @ plain @ f64_i32_minloc
no vote @ loop @ s/if (!gp_barrier_and(gr_take_unit<Mover, Lines>(args, item, u, \&block->stop, \&v))) {/int there = gr_take_unit<Mover, Lines>(args, item, u, \&block->stop, \&v);\n        gp_barrier_and(1);\n        if (!there) {/;s/if (s.lines \&\& !gp_barrier_and(1)) {/if (s.lines \&\& (gp_barrier_and(1), 0)) {/ @ some threads leave, others store @ plain
lines not cleaned @ lines @ s/    int clean = Lines::cycles \&\& item->clean;/    int clean = 0;/ @ flags come again after 2^32 messages @ plain
cleaned by half @ lines @ s/        Lines::put(item->dst\[d\], threadIdx.x, clean ? whole : u, /        Lines::put(item->dst[d], threadIdx.x, u, / @ the lines behind a short message keep old flags @ plain
same flag again @ loop @ s/item->dst_flag\[store + k\] = s->link.count + 1;/item->dst_flag[store + k] = 1 + s->link.count % s->args->nslots;/;s/item->src_flag\[k\] = s->link.count + 1;/item->src_flag[k] = 1 + s->link.count % s->args->nslots;/ @ what a slot held before passes for the next message @ plain
others poll on @ lines @ s/mine || 0 != gp_see(stop)/mine/ @ one thread sees the abort word, the others poll for ever @ plain
two pieces in a slot of lines @ steps @ s/GR_PROTOCOL_SIMPLE != args->protocol || // @ the second is not where its reader looks @ plain
no credit for lines @ link @ s/ || (s->lines \&\& !s->writes)) {/ || s->lines) {/ @ lines are overwritten that were not read @ plain
operand in the wrong place @ loop @ s/k += operand \&\& k >= step->before;/k += operand;/ @ what comes before the operand is taken for it @ plain
abort not seen in lines @ lines @ s/0 == polls % GR_ABORT_EVERY/0/ @ a block that waits for lines polls for ever @ plain
sums taken for results @ link @ s/ \&\& (s->writes || !(bits \& GR_REDUCE))// @ partial sums are looked for where results come @ plain
results past a closed door @ link @ s/s->past = word == 2 \* call + 1;/s->past = 1;/ @ a rank that does not allow it is written to @ plain
results unasked @ link @ s/if (word < 2 \* call) {/if (0) {/;s/s->past = word == 2 \* call + 1;/s->past = 1;/ @ written before the buffer is free @ plain
nobody told of results @ link @ /gp_st_release((uint64_t \*) (s->link.mine + GR_GPU_DIRECT_AT)/d @ the reader takes what lies in the slot @ plain
told long ago @ link @ s/(s->link.other + GR_GPU_DIRECT_AT)) == call/(s->link.other + GR_GPU_DIRECT_AT)) != 0/ @ an earlier call used zero copy, this one does not @ plain
asked once for all links @ link @ /s->asked = s->past = 0;/d @ what holds for one link is taken to hold for the next @ plain
sums past the slots @ link @ s/ \&\& bits \& GR_FINAL \&\& / \&\& / @ partial sums are stored as results @ plain
result looked for before it was waited for @ loop @ /by now it is known where its data are/d @ an item is what it seemed before its slot was ready @ plain
result at the wrong place @ loop @ s/s->beyond + w->dest \* elem_bytes/s->beyond + w->slot * elem_bytes/ @ not where the reader looks @ plain
steps of another way @ steps @ s/(blockIdx.x % args->ways) \* args->nsteps/0/ @ all channels go the way of the first @ plain
steps of no way @ steps @ s/(blockIdx.x % args->ways)/blockIdx.x/ @ channels beyond the ways read behind the table @ plain
a step read in part @ steps @ s/k < words; k++/k < 21; k++/ @ where a chunk is stored is not what the table says @ plain
number of steps of another @ steps @ s/w->len = 0 != args->steps ? args->nsteps : /w->len = / @ as many steps as another algorithm has @ plain
misaligned bits @ move @ s/if (16 == width) {/if (8 <= width) {/ @ vectors where words of 8 are alike @ plain @ bits_bxor'
few=f32_sum,f64_max

# build DIR: its kernels, in DIR/kernels.so
build() {
    mkdir -p "$1/bin" && ln -sf "$fake/libcuda.so.1" "$1/bin/libcuda.so.1" &&
        sh "$srcdir/tests/fakes/cuda/build.sh" "$1/bin" plain kernels.so "$1/exec/kernels.cu" -O1 -w \
            -include "$srcdir/tests/unit/gpu/kernel_trace.h"
}

# copy DIR KERNELS: the kernels' sources, with these few, as KERNEL_TEST_FEW names them
copy() {
    local table='' name
    for name in ${2//,/ }; do
        table="$table GR_KERNEL_OF(${name%_*}, ${name##*_})"
    done
    mkdir -p "$1" && cp -R "$srcdir/coll_gpuring/sched" "$srcdir/coll_gpuring/topo" "$1" && mkdir "$1/exec" &&
        cp "$srcdir"/coll_gpuring/exec/kernel*.cu* "$srcdir"/coll_gpuring/exec/gpu_*.h "$1/exec" &&
        chmod -R u+w "$1" &&
        sed -i "s/^GR_KERNELS(GR_KERNEL_OF)\$/$table/" "$1/exec/kernels.cu"
}

# passes DIR ENVIRONMENT...: run the cases of $kernels; what is said goes to $work/said. Kernels that are right may take long
# on a machine with other work; who waits for wrong ones waits in vain.
patience=10
passes() {
    dir=$1
    shift
    # in a shell of its own, which tells nobody that it died
    (
        env KERNEL_TEST_THIN=16 KERNEL_TEST_LIMIT=$patience "$@" FAKECUDA_KERNELS="$dir/bin/kernels.so" LIBCUDA="$dir/bin/libcuda.so.1" FAKECUDA_TIMEOUT=$((patience / 2)) \
            KERNEL_TEST_FEW="$kernels" KERNEL_TEST_STOP=1 \
            timeout -k 1 $((15 * patience)) "$test" >"$work/said" 2>&1
        exit $?
    ) 2>/dev/null
}

# result STATUS TITLE
result() {
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}

kernels=$few
copy "$work/good" "$kernels"
build "$work/good" >"$work/said" 2>&1 || { sed 's/^/# /' "$work/said"; echo "Bail out! the kernels do not compile"; exit 1; }
patience=240
while IFS= read -r row; do
    read -ra environment <<<"${row#*:}"
    if ! passes "$work/good" X=1 "${environment[@]}"; then
        tail -n 3 "$work/said" | cut -c1-600 | sed 's/^/# /'
        result 1 "the kernels as they are pass in mode ${row%%:*}"
    else
        result 0 "the kernels as they are pass in mode ${row%%:*}"
    fi
done <<<"$modes"
patience=10

while IFS= read -r row; do
    name=${row%% @ *} rest=${row#* @ }
    file=${rest%% @ *} rest=${rest#* @ }
    edit=${rest%% @ *} rest=${rest#* @ }
    what=${rest%% @ *} rest=${rest#* @ }
    begin=${rest%% @ *} kernels=${rest#"$begin"}
    kernels=${kernels# @ }
    kernels=${kernels:-$few}
    if [ $# -gt 0 ]; then
        [[ "|$(printf '%s|' "$@")" = *"|$name|"* ]] || continue
    else
        sampled || continue
    fi
    dir=$work/bad
    rm -rf "$dir"
    copy "$dir" "$kernels"
    sed -i "$edit" "$dir/exec/kernel_$file.cuh"
    if cmp -s "$dir/exec/kernel_$file.cuh" "$srcdir/coll_gpuring/exec/kernel_$file.cuh"; then
        result 1 "$name: the edit changed nothing"
        continue
    fi
    if ! build "$dir" >"$work/said" 2>&1; then
        sed 's/^/# /' "$work/said" | head -n 5
        result 1 "$name: does not compile"
        continue
    fi
    caught=
    while IFS= read -r mode && [ -z "$caught" ]; do
        read -ra environment <<<"${mode#*:}"
        passes "$dir" X=1 "${environment[@]}" </dev/null || caught=${mode%%:*}
    done < <(grep "^$begin:" <<<"$modes"; grep -v "^$begin:" <<<"$modes")
    # what few cases show, all of them may
    [ -n "$caught" ] || passes "$dir" KERNEL_TEST_THIN=1 KERNEL_TEST_LIMIT=60 </dev/null || caught='plain, all cases'
    [ -n "$caught" ]
    result $? "$name ($what): ${caught:+caught in mode }${caught:-in no mode}"
done <<<"$mutants"
echo "1..$count"
