#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Zero copy between nodes: messages that UCX sends from the user's buffers in host memory, here of any size, in all forms; and
# calls that fail or are delayed meanwhile.
. "$(dirname "$0")/../mpi/lib.sh"
. "$(dirname "$0")/lib.sh"

mark=$((110000000 + $$)) # an argument of programs, by which their processes are found
[ -e "$GR_DIR/gpuring_net_ucx.so" ] || { echo "1..0 # SKIP gpuring was built without UCX"; exit 0; }

zero='--mca coll_gpuring_nodes_zero_copy 0'
sent_from_buffers() { [ "$(counted 'zero copy calls')" -gt 0 ]; }
right() { good_through_gpuring && sent_from_buffers; }
eight_right() { all_taken && sent_from_buffers; }
by_slots() { good_through_gpuring && ! sent_from_buffers; }

# ---- right, in all forms ----

layouts=2x2
[ -z "${GPURING_ALL:-}" ] || layouts='2x1 2x2 3+1'
for layout in $layouts; do
    np=$(np_of $layout)
    nodes $layout $np $zero -- $(any_case)
    tap_check "$layout: blocking, any case" right
    nodes $layout $np $zero -- $(eight_in nonblocking --no-comms)
    tap_check "$layout: nonblocking" eight_right
    nodes $layout $np $zero -- $(eight_in persistent --no-comms)
    tap_check "$layout: persistent" eight_right
done

only_in_all
for case in 3+1:ring 3+1:flat 2x2:bucket 2x2:swing 3x2:node-tree 4x1:chain 4x1:pairwise; do
    layout=${case%:*}
    nodes $layout $(np_of $layout) $zero \
        --mca coll_gpuring_algorithm ${case#*:} --mca coll_gpuring_nodes_channels 2 --mca coll_gpuring_slots 2 \
        --mca coll_gpuring_slot_bytes 512 -- $(any_case)
    tap_check "$layout: ${case#*:}, two channels of small slots" right
done
# these overwrite what they have sent too early for it
for algorithm in two-level oneshot doubling; do
    nodes 2x2 4 $zero --mca coll_gpuring_algorithm_allreduce $algorithm -- $(any_case)
    tap_check "2x2: $algorithm" good_through_gpuring
done
nodes '2x2 --rate=h1:20mbit' 4 $zero -- $(any_case)
tap_check "2x2: one host is slow" right
for form in nonblocking persistent; do
    nodes 2x2 4 $zero --mca coll_gpuring_progress_thread 1 -- $(eight_in $form --no-comms)
    tap_check "2x2: $form, with a thread" eight_right
done
for off in "nodes_zero_copy -1" "nodes_zero_copy 1000000"; do
    nodes 2x1 2 --mca coll_gpuring_$off -- $(eight_in nonblocking --no-comms)
    tap_check "$off: through slots" by_slots
done

# ---- a process that stops or dies while it is sent to ----

begin() { # FORM MODE [OPTIONS...]: Bcasts of 4 MiB; rank 1 stops, or is killed, in the middle
    MPIRUN="$hosts run 2x1 $stock_mpirun"
    gstart 2 --mca coll_gpuring_nodes 1 $zero "${@:3}" -- stall "$2" bcast "$mark" "$1" 1048576
}

for form in blocking nonblocking persistent; do
    begin $form stop --mca coll_gpuring_timeout 1
    tap_check "stopped rank, $form: who waits says for whom" wait_for 60 waits_for_1
    continue_stopped
    gwait
    tap_check "    continued: all finish right" right
    begin $form kill --enable-recovery
    tap_check "killed rank, $form: the call fails" wait_for 60 seen 'MPI_ERR_OTHER'
    wait_for 60 marked_is 0 || kill_all "$job"
    tap_check "    and no process is left" marked_is 0
    job=
done

tap_done
