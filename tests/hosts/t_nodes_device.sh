#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers on devices (of the fake CUDA driver) where a communicator spans several hosts (hosts.sh).
. "$(dirname "$0")/../mpi/lib.sh"
. "$(dirname "$0")/../mpi/device_lib.sh"
. "$(dirname "$0")/../mpi/timed_lib.sh"
. "$(dirname "$0")/lib.sh"

mark=$((100000000 + $$)) # an argument of programs, by which their processes are found
memory=device

# between LAYOUT [OPTIONS...] -- PROGRAM [ARGS...]
between() {
    MPIRUN="$hosts run $1 ${with:-} $stock_mpirun"
    grun "$(np_of "$1")" --mca coll_gpuring_nodes $nodes --mca coll_gpuring_nodes_ask $ask "${environment[@]}" -x GPURING_MEMORY="$memory" \
        --mca op ^avx --mca coll_gpuring_device_slots $slots --mca coll_gpuring_device_slot_bytes $slot_bytes "${@:2}"
}
nodes=1 ask=0 slots=4 slot_bytes=16384
environment=(-x LD_LIBRARY_PATH -x FAKECUDA_SMS -x FAKECUDA_DEVICES)

# on_nodes TEXT JUDGE LAYOUT MEMORY [OPTIONS...] -- PROGRAM [ARGS...]
on_nodes() {
    memory=$4 between "$3" "${@:5}"
    tap_check "$3: $1, $4 memory" "$2"
}

none_by_gpuring() { good_by_staging && seen '^# gpuring calls 0 handovers [1-9]'; }

# ---- kernels, between hosts ----

on_nodes "all types and operations, 4 MiB, any case" good_on_devices 2x2 device \
    --mca coll_gpuring_verbose 2 -- $(any_case every,big)
tap_check "    rank 0 says where slots lie, and why" \
    seen 'slots of rank 0 of .* between nodes: 0 links in device memory, [1-9][0-9]* in pinned host memory \(the network cannot access'
only_in_all
for layout in 2x1 4x1 4x2 3+1; do
    on_nodes "all types and operations, 4 MiB, any case" good_on_devices $layout device -- $(any_case every,big)
done
for form in nonblocking persistent; do
    for layout in 4x1 4x2 3+1; do
        on_nodes "$form" good_on_devices $layout device -- $(eight_in $form --no-comms)
    done
done
on_nodes "any case" good_on_devices 2x2 mixed -- $(any_case)
straight() { good_on_devices && [ "$(counted 'zero copy calls')" -ge 12 ]; }
on_nodes "zero copy inside hosts" straight 2x2 device --mca coll_gpuring_zero_copy 4096 -- $(any_case big)
on_nodes "any case, ranks placed in turns" good_on_devices 3x2 device --map-by node -- $(any_case)
with=--rails=2 on_nodes "any case, on two rails" good_on_devices 2x2 device --mca coll_gpuring_nodes_rails 2 \
    --mca coll_gpuring_verbose 1 -- $(any_case)
tap_check "    which both are used" seen 'links to other nodes go over ucx on eth1'
slots=2 slot_bytes=256 on_nodes "any case, small slots" good_on_devices 3+1 device \
    --mca coll_gpuring_nodes_channels 3 -- $(any_case)
slots=2 slot_bytes=256 on_nodes "any case, trees of nodes, small slots" good_on_devices 3x2 device \
    --mca coll_gpuring_algorithm node-tree -- $(any_case)
on_nodes "any case, all ranks double" good_on_devices 3+1 device --mca coll_gpuring_algorithm doubling -- $(any_case)
on_nodes "any case, no device maps another" good_on_devices 2x2 device -x FAKECUDA_PEER=none -- $(any_case)
on_nodes "communicators within a host and across" good_on_devices 3+1 device -- $(eight_in comms)
on_nodes "nonblocking" good_on_devices 2x2 mixed -- $(eight_in nonblocking --no-comms)
on_nodes "nonblocking, no thread" good_on_devices 2x1 device --mca coll_gpuring_progress_thread 0 -- $(eight_in nonblocking --no-comms)
# more requests than there is memory for
on_nodes "persistent" good_on_devices 2x1 mixed --mca coll_gpuring_pool_mib 8 -- $(eight_in persistent --no-comms)

on_nodes "a buffer on a device at some ranks only" good_on_devices 2x1 device -- devices single
on_nodes "a call ends while nobody calls MPI" good_on_devices 2x1 device -- devices progress
on_nodes "communicators in opposite order" good_on_devices 2x1 device -- devices crossed
on_nodes "different calls are an error" all_good 3+1 device -- devices differ
tap_check "    which who differs says, once each" [ "$(lines_seen 'rank 1 of .* calls .*, but rank 0 calls')" -eq 5 ]
on_nodes "also of results that would go straight into buffers" all_good 2x1 device --mca coll_gpuring_zero_copy 0 -- devices differ

# ---- by itself: kernels do what takes long beside a round trip between nodes, and nobody asks where buffers of shorter calls are ----

ask=20
slow='--mca coll_gpuring_nodes_mbit 200' # expected; the matrix has calls of both kinds then
sizes() { # allreduce of 8 bytes to 1 MiB on 2x2
    PROGDIR=${BENCH%/*} between 2x2 --mca coll_gpuring_verbose 2 -- "${BENCH##*/}" allreduce -d cuda -m 8:1M -i 1 -x 0 -c -B 1 -I 1
}
large_is_asked() { [ "$rc" -eq 0 ] && seen ', 1048576 bytes on devices \(network\) on 2 nodes of 2: ' && not_seen ', 8 bytes on devices'; }

on_nodes "short calls fall back, any case" good_on_devices 2x2 mixed $slow -- $(any_case)
sizes
tap_check "2x2: kernels do 1 MiB, 8 bytes fall back" large_is_asked
tap_check "    which is said" seen 'allreduce on MPI_COMM_WORLD falls back: it is too short'
GR_HOST=1 on_nodes "short calls are done by the host, staged, any case" good_on_devices 3+1 mixed $slow -- $(any_case)
GR_HOST=1 sizes
tap_check "2x2: kernels do 1 MiB, the host 8 bytes" large_is_asked
tap_check "    which is said" seen ', 8 bytes on 2 nodes of 2: '
ask=1 on_nodes "nonblocking, short ones fall back" good_on_devices 2x1 mixed $slow -- $(eight_in nonblocking --no-comms)
ask=1 GR_HOST=1 on_nodes "nonblocking, short ones by the host" good_on_devices 2x1 mixed $slow -- $(eight_in nonblocking --no-comms)
ask=1 GR_HOST=1 TEST_LIMIT=60 on_nodes "short ones by the host, before one that is asked about" good_on_devices 2x1 device $slow -- devices queued
between 2x1 --mca coll_gpuring_cuda 1 -- hello_coll
tap_check "2x1: so are calls on host memory" falls_back short
ask=0

# ---- timed: kernels begin together, and their messages between nodes keep to the time line ----

for row in 2x2:timed:2x2 3+1:barrier:2x2; do
    IFS=: read -r layout mode torus <<<"$row"
    on_nodes "step_sync $mode" good_on_devices $layout device --mca coll_gpuring_step_sync $mode \
        --mca coll_gpuring_report summary -- timed $torus 1
    tap_check "$layout: step_sync $mode: the report says so" report_fits $mode 20
done

# three Allreduces of 2 MiB: -c makes two of them
with=$counted slot_bytes=131072 PROGDIR=${BENCH%/*} between 2x2 $unmeasured --mca coll_gpuring_verbose 2 -- \
    "${BENCH##*/}" allreduce -d cuda -m 2M:2M -i 1 -x 0 -c -B 1 -I 1
tap_check "2x2: large ones go along ranks and hosts, by themselves" \
    seen 'allreduce on MPI_COMM_WORLD.* 2097152 bytes on devices \(network\) on 2 nodes of 2: bucket, simple'
tap_check "    and right" seen ' bucket +0$'
tap_check "    over each interface go 2S(Q-1)/Q" bytes_were 2 $((3 << 21))

# ---- by others, and not to be had ----

nodes=0 on_nodes "nodes=0: fallback" none_by_gpuring 2x1 mixed -- $(any_case)
others='random_programs --count=9999 --seconds=3 --profile=others'
on_nodes "other collectives" good_falls_back 3+1 device -- $others
on_nodes "other collectives in pieces" good_falls_back 2x2 mixed --mca coll_gpuring_stage_bytes 512 -- $others

on_nodes "no transport leads there: staged" good_by_staging 2x1 device -x UCX_TLS=posix,self -x UCX_LOG_LEVEL=fatal -- $(any_case)
tap_check "    with one line that names both ends and why" \
    said_once 'gpuring: rank 0 of .*, on h0, gets no link.* rank 1 on h1: none of UCX.s transports leads there'

# ---- a process that stops or dies while kernels wait for it ----

begin() { # WORDS OF STALL...
    MPIRUN="$hosts run 2x1 $stock_mpirun"
    gstart 2 --mca coll_gpuring_nodes 1 "${environment[@]}" -x GPURING_MEMORY=device --mca op ^avx \
        --mca coll_gpuring_timeout 1 --enable-recovery -- stall "$@"
}

begin stop allreduce "$mark" persistent
tap_check "stopped rank: whose kernel waits says for whom" wait_for 60 \
    seen 'rank 0 of stalled communicator .*on devices, channel 0, slice 0, step [0-9]+ .*waits for rank 1$'
continue_stopped
gwait
tap_check "    continued: all finish right" good_on_devices

# Despite --enable-recovery, mpirun of 4.1 may end the other rank, too, before that has said all: then once more.
told_or_ended() { seen 'MPI_ERR_OTHER' || marked_is 0; }
for _ in $(seq 40); do
    [ -z "$job" ] || kill_all "$job"
    begin kill allreduce "$mark" persistent
    wait_for 60 seen 'has lost a link' || break
    wait_for 60 told_or_ended || break
    ! seen 'MPI_ERR_OTHER' || break
done
tap_check "killed rank: the other one names it and its host" \
    seen 'gpuring: rank 0 of stalled communicator, on h0, has lost a link to another node: rank 1 on h1: '
tap_check "    its kernel leaves, and the call fails" seen 'MPI_ERR_OTHER'
kill_all "$job"
job=
tap_check "    no process is left" wait_for 60 marked_is 0

tap_done
