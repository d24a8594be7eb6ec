#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Cartesian communicators, with torus algorithms: all collectives in all forms.
. "$(dirname "$0")/lib.sh"
export GPURING_BUDGET=${GPURING_BUDGET:-0} # each collective and form once on each communicator

# what was chosen, as rank 0 says it
chose() { # COLLECTIVE ALGORITHM
    seen "gpuring: $1 on .*: $2 \\(forced\\)"
}
good_along() { good_through_gpuring && all_chose "$@"; } # ALGORITHM COLLECTIVE...: all good, and all of these went so

along_grids coll_gpuring_channels --mca coll_gpuring_verbose 2 < <(rows_of_depth '^2x2x2|^4x2 .*(suh|node)|^3x3 .*(swing|two-l|doubl|auto)' <<END
2x2   4  bucket   1 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
2x2   4  swing    4 allreduce
2x2   4  mst      2 bcast reduce
2x2   4  ordered  1 alltoall
2x2   4  suh-shin 2 alltoall
2x2   4  two-level 1 allreduce allgather allgatherv reduce_scatter reduce_scatter_block bcast reduce
2x2   4  node-tree 1 allreduce bcast reduce
4x2   8  bucket   4 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
4x2   8  swing    1 allreduce
4x2   8  mst      1 bcast reduce
4x2   8  ordered  2 alltoall
4x2   8  suh-shin 1 alltoall
4x2   8  node-tree 2 allreduce bcast reduce
2x2x2 8  bucket   6 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
2x2x2 8  swing    3 allreduce
2x2x2 8  mst      6 bcast reduce
2x2x2 8  ordered  1 alltoall
2x2x2 8  suh-shin 1 alltoall
3x3   9  bucket   2 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
3x3   9  swing    4 allreduce
3x3   9  mst      4 bcast reduce
3x3   9  ordered  1 alltoall
3x3   9  two-level 2 allreduce allgather allgatherv reduce_scatter reduce_scatter_block bcast reduce
3x3   9  node-tree 2 allreduce bcast reduce
3x3   9  doubling 2 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
4x4   16 bucket   1 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
4x4   16 swing    2 allreduce
4x4   16 mst      1 bcast reduce
4x4   16 ordered  1 alltoall
4x4   16 suh-shin 1 alltoall
2x2   4  auto     1
3x3   9  auto     2
END
)

# slots so small that a message of several blocks takes several
for algorithm in $(depth bucket 'bucket swing ordered two-level node-tree'); do
    test_program "4x4, $algorithm, 2 slots of 1024 bytes" 16 --mca coll_gpuring_algorithm $algorithm --mca coll_gpuring_slots 2 \
        --mca coll_gpuring_slot_bytes 1024 -- grids 4x4
done

# these take ranks by their numbers, and need no torus; 5 are no power of two
for row in $(depth '5:doubling 5:pat' '4:doubling 5:doubling 4:pat 5:pat'); do
    np=${row%:*} algorithm=${row#*:}
    grun "$np" --mca op ^avx --mca coll_gpuring_verbose 2 --mca coll_gpuring_algorithm "$algorithm" -- $(any_case)
    tap_check "$np ranks: $algorithm" good_along "$algorithm" allreduce allgather allgatherv reduce_scatter reduce_scatter_block
done

# which torus a communicator has, by the bits of a sum along it: extents, their order, lines, and who says so
bucket=(--mca coll_gpuring_algorithm bucket --mca coll_gpuring_mailbox_bytes 0)
test_program "the torus of a key and of a grid" 8 "${bucket[@]}" -- torus_of
tap_check "a key that does not fit is told" seen 'has the info key gpuring_torus = "3x3", which is not possible'
for torus in $(depth 2x4 '2x4 2x2x2'); do
    test_program "the torus of the parameter, $torus" 8 "${bucket[@]}" --mca coll_gpuring_torus $torus -- torus_of $torus
done

# the parameter, on communicators without a grid
grun 6 --mca coll_gpuring_verbose 2 --mca coll_gpuring_torus 3x2 --mca coll_gpuring_algorithm bucket -- hello_coll
tap_check "the parameter torus" good_along bucket allreduce allgather reduce_scatter
# what does not suit the torus stays at auto
grun 6 --mca coll_gpuring_verbose 2 --mca coll_gpuring_torus 3x2 --mca coll_gpuring_algorithm suh-shin -- hello_coll
tap_check "suh-shin on 3x2 stays at auto" good_through_gpuring
tap_check "suh-shin on 3x2: nothing went so" not_seen 'suh-shin \(forced\)'
grun 4 --mca coll_gpuring_verbose 2 --mca coll_gpuring_algorithm bucket -- hello_coll
tap_check "no torus: nothing went along one" not_seen 'bucket \(forced\)'
# by itself nothing goes along a torus inside a node
grun 4 --mca coll_gpuring_verbose 2 -- grids 2x2
tap_check "auto on a grid" good_through_gpuring
tap_check "auto on a grid takes none of them" not_seen ': (bucket|swing|mst|ordered|suh-shin|two-level|node-tree|doubling|pat)'

tap_done
