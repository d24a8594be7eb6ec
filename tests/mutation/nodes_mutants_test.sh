#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Bugs planted into copies of the kernels that only a network at the other end of a link brings to light: team_test, with
# ranks on several nodes, must see each, and none in the kernels as they are; and that nobody flushes what the network
# writes to device memory. Prints TAP. Environment: srcdir (default: two
# folders up), TEAM_TEST (team_test), FAKECUDA (the folder of the fake driver).
set -u
export LC_ALL=C
srcdir=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99
test=$(realpath "${TEAM_TEST:-tests/unit/gpu/team_test}") || exit 99
fake=$(realpath "${FAKECUDA:-tests/fakes/cuda/lib}") || exit 99
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../result.sh"
. "$(dirname "$0")/../sample.sh"

# name @ edit (sed) of kernel_loop.cuh
mutants='nobody says how much of a slot is in use @ s/if (0 != s->link.fill) {/if (0) {/
only the last piece of a slot counts @ s/(w->slot + w->count) \* elem_bytes/w->count * elem_bytes/
elements count, not bytes @ s/((w->slot + w->count) \* elem_bytes)/(w->slot + w->count)/
it is said of the next slot @ s/s->link.fill + s->link.count %/s->link.fill + (s->link.count + 1) %/
it is said of a slot that is counted already @ /if (0 != s->link.fill) {/,/^        }/d;/s->value = s->link.count;/s/$/\n        if (0 != s->link.fill) {\n            gp_st((uint32_t *) s->link.fill + s->link.count % s->args->nslots, (uint32_t) ((w->slot + w->count) * elem_bytes));\n        }/
the tail is there before the data @ s/^        gr_claim(&s, elem_bytes);/&\n        gr_post(\&s);/
the tail may overtake the data @ s/gp_st_release((uint64_t \*) s->post/gp_st_relaxed((uint64_t *) s->post/
a slot is given back before it is read @ s/^        gr_claim(&s, elem_bytes);/&\n        if (!s.writes) {\n            gr_post(\&s);\n        }/
'

# kernels EDIT: those of team_kernels.cu, edited
kernels() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree" "$work/bin"
    cp -R "$srcdir/coll_gpuring/sched" "$srcdir/coll_gpuring/topo" "$srcdir/coll_gpuring/exec" "$work/tree"
    chmod -R u+w "$work/tree"
    [ -z "$1" ] || { sed -i "$1" "$work/tree/exec/kernel_loop.cuh" &&
        ! cmp -s "$work/tree/exec/kernel_loop.cuh" "$srcdir/coll_gpuring/exec/kernel_loop.cuh"; } || return 1
    cp "$fake/libcuda.so.1" "$work/bin"
    sh "$srcdir/tests/fakes/cuda/build.sh" "$work/bin" plain kernels.so "$srcdir/tests/unit/gpu/team_kernels.cu" -O1 -w \
        -I"$work/tree" >"$work/found" 2>&1
}

# passes ROW...: each with these kernels. Those that are right may take long on a machine with other work; who waits for
# wrong ones waits in vain.
patience=10
passes() {
    local row
    for row; do
        env FAKECUDA_TIMEOUT=$((patience / 2)) TEAM_TEST_PATIENCE=$patience \
            TEAM_TEST_KERNELS="$work/bin/kernels.so:$fake/device_kernels.so" \
            timeout -k 1 $((6 * patience)) "$test" "$row" >"$work/found" 2>&1 || return 1
    done
}

rows='the_same_between_nodes the_same_between_nodes_with_weak_memory the_same_between_nodes_in_any_order'
kernels '' || { sed 's/^/# /' "$work/found"; echo "Bail out! the kernels do not compile"; exit 1; }
patience=240
# shellcheck disable=SC2086
passes $rows
result $? "the kernels as they are"
passes the_same_between_nodes_and_their_devices
result $? "    with slots on devices"
patience=10
TEAM_TEST_FLUSH=none passes the_same_between_nodes_and_their_devices
[ $? != 0 ]
result $? "    seen: nobody flushes them"

while IFS='@' read -r name edit; do
    [ -n "$name" ] && sampled || continue
    if ! kernels "${edit# }"; then
        result 1 "${name% }: planted, and compiles"
        continue
    fi
    # shellcheck disable=SC2086
    ! passes $rows
    result $? "seen: ${name% }"
done <<<"$mutants"
echo "1..$count"
