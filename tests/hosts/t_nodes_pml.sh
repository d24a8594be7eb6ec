#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring between nodes, over Open MPI's own messages: without UCX, or if a parameter says so. Results are right, and the
# application's messages and gpuring's do not mix.
. "$(dirname "$0")/../mpi/lib.sh"
. "$(dirname "$0")/lib.sh"

mark=$((100000000 + $$)) # an argument of programs, by which their processes are found
pml='--mca coll_gpuring_nodes_transport pml --mca coll_gpuring_verbose 1'

goes_over_pml() { seen 'gpuring: links to other nodes go over pml'; }
good_over_pml() { good_through_gpuring && goes_over_pml; }
eight_over_pml() { all_taken && goes_over_pml; }
right_over_pml() { [ "$rc" = 0 ] && goes_over_pml; }
one_link='--mca coll_gpuring_algorithm_bcast tree --mca coll_gpuring_nodes_channels 1 --mca coll_gpuring_nodes_latency 100000'
sent_from_buffers() { [ "$(counted 'zero copy calls')" -gt 0 ]; }

# ---- right, in all forms ----

forms() { # LAYOUT
    local form
    nodes "$1" 4 $pml -- $(any_case)
    tap_check "$1: blocking, any case" good_over_pml
    tap_check "    large messages from where they lie" sent_from_buffers
    for form in nonblocking persistent; do
        nodes "$1" 4 $pml -- $(eight_in $form --no-comms)
        tap_check "$1: $form, each of the eight" eight_over_pml
    done
}

pieces() { # SLOT_BYTES TEXT
    PROGDIR=${BENCH%/*} nodes 2x2 4 $pml --mca coll_gpuring_slot_bytes $1 --mca coll_gpuring_setup_mib 64 -- \
        gpuring_bench allreduce bcast -m 4M:4M -i 2 -x 0 -c -B 10
    tap_check "2x2: slots of $1 bytes, which ob1 does not send at once, $2" right_over_pml
}

forms 2x2
pieces 65536 "in five"
nodes 2x2 4 $pml -- barrier "$work/flags" 1
tap_check "2x2: barriers" good_over_pml
nodes 2x6 12 $pml --mca coll_gpuring_setup_mib 64 --mca coll_gpuring_algorithm_alltoall pairwise -- hello_coll
tap_check "2x6: more peers than are looked at in each call" good_over_pml
nodes 2x1 2 $pml $one_link -- leaver "$work/left"
tap_check "2x1: messages for a link that its reader has left" good_over_pml
nodes 3+1 4 $pml -- wildcards
tap_check "3+1: beside receives and probes for any message" good_over_pml
# what a build without UCX consists of
mkdir "$work/bare"
cp -L "$GR_DIR/mca_coll_gpuring.so" "$GR_DIR/help-coll-gpuring.txt" "$work/bare"
GR_DIR=$work/bare nodes 2x2 4 --mca coll_gpuring_verbose 1 -- hello_coll
tap_check "no module for UCX, and nothing asked for: gpuring does it" good_over_pml
tap_check "    and says why not over UCX" seen 'go over pml: .*gpuring_net_ucx.so: cannot open'

# ---- over libfabric, as where UCX is of no use ----

# Open MPI leaves out its provider for TCP, unless it is asked for. It says so where it cannot have it.
fabric='--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include tcp;ofi_rxm,tcp'
fabric_rows() { # LAYOUT
    nodes "$1" 4 $pml $fabric -- $(any_case)
    if seen 'PML cm cannot be selected'; then
        tap_skip "$1: over libfabric" "it has no provider for TCP"
        return
    fi
    tap_check "$1: over libfabric: blocking, any case" good_over_pml
    tap_check "    large messages from where they lie" sent_from_buffers
    nodes "$1" 4 $pml $fabric -- $(eight_in nonblocking --no-comms)
    tap_check "$1: over libfabric: nonblocking, each of the eight" eight_over_pml
}
if "$OMPI_INFO" | grep -q 'MCA mtl: ofi'; then
    fabric_rows 2x2
else
    tap_skip "over libfabric" "this Open MPI has no mtl for it"
fi

only_in_all
forms 3+1
nodes 2x2 4 $pml --mca coll_gpuring_progress_thread 1 -- $(eight_in nonblocking --no-comms)
tap_check "2x2: nonblocking, with a thread, which leaves Open MPI alone" eight_over_pml
nodes 2x2 4 $pml -- nbthreads 2
tap_check "2x2: nonblocking calls of several threads" good_over_pml
for bytes in 512 8192 16384; do # data that travel with their head, and behind it
    nodes 2x2 4 $pml --mca coll_gpuring_algorithm ring \
        --mca coll_gpuring_nodes_channels 2 --mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes $bytes -- $(any_case)
    tap_check "2x2: ring, two channels of two slots of $bytes bytes" good_over_pml
done
pieces 131072 "in eight"
pieces 589824 "in one, since eight would be too long"
OMPI_MCA_pml=ucx OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 \
    nodes 2x2 4 $pml -x UCX_TLS -x UCX_NET_DEVICES -- wildcards
tap_check "2x2: Open MPI's messages go over UCX themselves" good_over_pml

# ---- a rank of another node dies, with ULFM ----

# On a busy machine Open MPI 5.0.7 itself may take a rank that lives for dead, or hang, also without gpuring: three times at most.
go_on() { # FORM
    local k
    for k in 1 2 3; do
        MPIRUN="$hosts run 2x2 $stock_mpirun"
        gstart 4 --mca coll_gpuring_nodes 1 $pml --with-ft ulfm -- ulfm "$1" allreduce 3
        ! wait_for 60 survived || k=good
        kill_all "$job" # MPI_Finalize of those who are left may hang
        job=
        [ "$k" != good ] || return 0
    done
    return 1
}
if has_ulfm; then
    for form in blocking first nonblocking persistent; do
        tap_check "2x2: $form: rank 3 dies, the others go on" go_on $form
    done
fi

# ---- nodes that differ ----

printf '%s\n' '[ $OMPI_COMM_WORLD_RANK = 0 ] || export OMPI_MCA_coll_gpuring_nodes_transport=pml' 'exec "$@"' >"$work/differ"
if [ -e "$GR_DIR/gpuring_net_ucx.so" ]; then
    WRAPPER="bash $work/differ" nodes 2x1 2 -- hello_coll
    tap_check "one node over UCX, the other not: calls fall back" falls_back
    tap_check "    with one line that says so" \
        one_line 'rank 0 of MPI_COMM_WORLD, on h0, gets no link.* rank 1 on h1: its links go over pml, those of this process over ucx'
else
    tap_skip "one node over UCX, the other not" "gpuring was built without UCX"
fi

# ---- a rank that stops, or is killed ----

for form in blocking nonblocking persistent; do
    MPIRUN="$hosts run 2x1 $stock_mpirun"
    gstart 2 --mca coll_gpuring_nodes 1 $pml --mca coll_gpuring_timeout 1 -- stall stop bcast "$mark" $form 1048576
    tap_check "stopped rank, $form: who waits says for whom" wait_for 60 waits_for_1
    continue_stopped
    gwait
    tap_check "    continued: all finish right" good_over_pml
    tap_check "    from where the data lie" sent_from_buffers
done


MPIRUN="$hosts run 2x1 $stock_mpirun"
gstart 2 --mca coll_gpuring_nodes 1 $pml --mca coll_gpuring_timeout 1 --enable-recovery -- stall kill allreduce "$mark"
tap_check "killed rank: who waits says for whom" wait_for 60 waits_for_1
kill_all "$job"
job=
tap_check "killed rank: no process is left" wait_for 60 marked_is 0

tap_done
