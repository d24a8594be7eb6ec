#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Cartesian communicators with buffers on devices, on the fake CUDA driver: all collectives in all forms by the algorithms
# that run along a torus, whose steps kernels read from tables.
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/device_lib.sh"
. "$(dirname "$0")/timed_lib.sh"
export GPURING_MEMORY=device
export GPURING_BUDGET=0 # each collective and form once on each communicator
slots='--mca op ^avx --mca coll_gpuring_verbose 2 --mca coll_gpuring_device_slot_bytes'

# what was chosen on devices, as rank 0 says it
chose() { # COLLECTIVE ALGORITHM [PROTOCOL]
    seen "gpuring: $1 on .* on devices .*: $2 \\(forced\\), ${3:-}"
}
good_along() { good_on_devices && all_chose "$@"; } # ALGORITHM COLLECTIVE...: all good, and all of these went so

# shellcheck disable=SC2086 # options are words
along_grids coll_gpuring_device_channels $slots 16384 < <(rows_of_depth '^2x2 .*(swing|mst|suh|two-l|node)' <<END
2x2   4  bucket   1 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
2x2   4  swing    4 allreduce
2x2   4  mst      2 bcast reduce
2x2   4  ordered  1 alltoall
2x2   4  suh-shin 2 alltoall
4x2   8  bucket   4 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
4x2   8  mst      1 bcast reduce
4x2   8  suh-shin 1 alltoall
2x2x2 8  swing    3 allreduce
2x2x2 8  mst      6 bcast reduce
2x2x2 8  ordered  1 alltoall
3x3   9  bucket   2 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
3x3   9  swing    4 allreduce
3x3   9  ordered  1 alltoall
2x2   4  two-level 1 allreduce allgather allgatherv reduce_scatter reduce_scatter_block bcast reduce
3x3   9  two-level 2 allreduce allgather allgatherv reduce_scatter reduce_scatter_block bcast reduce
2x2   4  node-tree 1 allreduce bcast reduce
3x3   9  node-tree 2 allreduce bcast reduce
3x3   9  doubling 2 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
3x3   9  pat      2 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
2x2   4  pairwise 2 alltoall
3x2   6  ring     3 allreduce allgather allgatherv reduce_scatter reduce_scatter_block
END
)

# Kernels that begin together: inside a node that is all that any mode of step timing does.
for row in $(printf '%s\n' {2x2,4x2,2x2x2,3x3,4x4}:{start,barrier,timed} | rows_of_depth '^2x2:timed'); do
    grid=${row%:*}
    grun $((${grid//x/*})) $slots 16384 --mca coll_gpuring_step_sync ${row#*:} --mca coll_gpuring_report summary -- grids $grid
    tap_check "$grid, step_sync ${row#*:}" good_on_devices
    tap_check "$grid, step_sync ${row#*:}: a countdown each" starts_fit ${row#*:} 20
done
only_in_all
# slots so small that a message of several blocks takes several, and a call several slices
for algorithm in bucket swing mst ordered two-level node-tree; do
    grun 4 $slots 512 --mca coll_gpuring_algorithm $algorithm --mca coll_gpuring_device_slots 2 -- grids 2x2
    tap_check "2x2, $algorithm, 2 slots of 512 bytes" good_along $algorithm
done
# each protocol; in lines each block of a message takes a slot
for row in 'll bucket allgather' 'll swing allreduce' 'll mst bcast' 'simple mst reduce' 'll ordered alltoall' 'll two-level reduce' 'll node-tree allreduce'; do
    read -r protocol algorithm coll <<<"$row"
    grun 4 $slots 16384 --mca coll_gpuring_algorithm "$algorithm" --mca coll_gpuring_protocol "$protocol" -- grids 2x2
    tap_check "2x2, $algorithm, $protocol" good_on_devices
    tap_check "2x2, $algorithm, $protocol: they are what was chosen" chose "$coll" "$algorithm" "$protocol,"
done
# zero copy where channels have different peers
for row in 'bucket allgather' 'swing allreduce' 'mst bcast' 'node-tree allreduce'; do
    read -r algorithm coll <<<"$row"
    grun 4 $slots 4096 --mca coll_gpuring_algorithm "$algorithm" --mca coll_gpuring_protocol simple \
        --mca coll_gpuring_zero_copy 0 --mca coll_gpuring_device_channels 4 -- grids 2x2
    tap_check "2x2, $algorithm, zero copy" good_on_devices
    tap_check "2x2, $algorithm, zero copy: it is what was chosen" seen \
        "gpuring: $coll on .*: $algorithm \\(forced\\), simple, .* zero copy"
done

# tables last as long as requests and communicators do, and nothing is made for a call
torus="$small --mca coll_gpuring_torus 2x2"
on_devices "persistent, bucket" good_on_devices 4 $torus --mca coll_gpuring_algorithm bucket -- $(eight_in persistent)
on_devices "nonblocking, swing" good_on_devices 4 $torus --mca coll_gpuring_algorithm_allreduce swing \
    -- $(eight_in nonblocking)
FAKECUDA_LOG=$work/steady on_devices "calls after the first ones allocate nothing" good_on_devices 4 $torus \
    --mca coll_gpuring_algorithm bucket -- devices steady
FAKECUDA_REUSE=1 on_devices "communicators come and go" good_on_devices 4 $torus --mca coll_gpuring_algorithm bucket \
    -- churn 40
FAKECUDA_IPC=none on_devices "links in pinned host memory" good_on_devices 4 $torus --mca coll_gpuring_algorithm bucket \
    -- devices crossed
GPURING_MEMORY=mixed on_devices "memory of all kinds, mst" good_on_devices 4 $torus \
    --mca coll_gpuring_algorithm mst -- $(any_case)

# the benchmark says what ran
PROGDIR=$(dirname "$BENCH") grun 4 $torus --mca coll_gpuring_algorithm_allreduce swing \
    --mca coll_gpuring_algorithm_alltoall suh-shin -- gpuring_bench allreduce alltoall -d cuda -c -m 64:65536 -i 2 -x 1 -B 10
bench_along() { # rows of a size without errors, by the algorithm
    [ "$rc" -eq 0 ] && [ "$(grep -cE "^ +[0-9]+ .* $1 +0\$" "$out")" -eq 11 ]
}
for algorithm in swing suh-shin; do
    tap_check "gpuring_bench -d cuda -c: $algorithm" bench_along $algorithm
done

# what does not suit the torus stays at auto
grun 6 $slots 16384 --mca coll_gpuring_torus 3x2 --mca coll_gpuring_algorithm suh-shin -- $(any_case)
tap_check "suh-shin on 3x2 stays at auto" good_on_devices
tap_check "suh-shin on 3x2: nothing went so" not_seen 'suh-shin \(forced\)'
# by itself nothing goes along a torus
grun 4 $slots 16384 -- grids 2x2
tap_check "auto on a grid" good_on_devices
tap_check "auto on a grid takes none of them" not_seen ': (bucket|swing|mst|ordered|suh-shin|two-level|node-tree|doubling|pat)'

tap_done
