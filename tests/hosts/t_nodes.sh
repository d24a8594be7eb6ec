#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring between nodes, over UCX: right results on communicators that span several hosts (hosts.sh). A failing link gives
# one line that names the rank and the host, and nothing is left behind.
. "$(dirname "$0")/../mpi/lib.sh"
. "$(dirname "$0")/lib.sh"

mark=$((100000000 + $$)) # an argument of programs, by which their processes are found
[ -e "$GR_DIR/gpuring_net_ucx.so" ] || { echo "1..0 # SKIP gpuring was built without UCX"; exit 0; }

none_falls_back() { good_through_gpuring && not_seen '^count coll_gpuring_handover_[a-z]+ [1-9]'; }

# ---- right, in all forms ----

layouts=2x2
[ -z "${GPURING_ALL:-}" ] || layouts='2x1 2x2 4x1 4x2 3+1'
for layout in $layouts; do
    np=$(np_of $layout)
    nodes $layout $np -- $(any_case $(depth '' every,big))
    tap_check "$layout: blocking, $(depth "any case" "all types and operations, 4 MiB, any case")" good_through_gpuring
    nodes $layout $np -- $(eight_in nonblocking --no-comms)
    tap_check "$layout: nonblocking, each of the eight" all_taken
    nodes $layout $np -- $(eight_in persistent --no-comms)
    tap_check "$layout: persistent, each of the eight" all_taken
done
barriers() { good_through_gpuring && seen '^count coll_gpuring_algorithm_dissemination [1-9]'; }
for layout in $(depth '2x2 3x1' '2x1 2x2 3x1 3x2 4x2'); do
    nodes "$layout" $(np_of "$layout") -- barrier "$work/flags" $(depth 1 3)
    tap_check "$layout: barriers hold all back" barriers
done
nodes 3+1 4 -- barrier "$work/flags" 1
tap_check "3+1: barriers, each rank for itself" barriers
nodes 3+1 4 -- hello_coll
tap_check "3+1: gpuring does all of the eight, and no call falls back" none_falls_back

wanted() { # NODES: hello_coll with coll_gpuring_nodes so; empty: nothing is said
    MPIRUN="$hosts run 2x1 $stock_mpirun" grun 2 ${1:+--mca coll_gpuring_nodes "$1"} -- hello_coll
}
wanted ''
tap_check "2x1: gpuring is on by default" none_falls_back
wanted 0
tap_check "2x1: and leaves it to others with 0" falls_back nodes
nodes 3+1 4 -- $(eight_in comms)
tap_check "3+1: communicators within a host and across" good_through_gpuring

# ---- what the network is like ----

# A line of each communicator and order of calls; of those of one job the first measures.
class_is() { good_through_gpuring && seen "between nodes: measured: .*Mbit/s \\(class $1\\)" && not_seen 'between nodes: (built|by)'; }
# Where other programs take the cores meanwhile a train can be late: then another job measures.
measured_as() { # RATE
    for _ in $(seq 10); do
        nodes "2x2 --rate=${1}mbit" 4 --mca coll_gpuring_verbose 1 -- hello_coll
        ! class_is "$1" || return 0
    done
    false
}
for rate in 100 1000; do # a class holds for up to an eighth, and a quarter, which load leaves of these
    tap_check "2x2 of $rate Mbit/s: that is the class of what was measured" measured_as $rate
done
gives_up() { good_through_gpuring && seen 'between nodes: built in' && not_seen 'between nodes: measured'; }
HOSTS_BURST=4kb nodes '2x1 --rate=200kbit' 2 --mca coll_gpuring_verbose 1 -- hello_coll
tap_check "2x1 of 200 kbit/s: measuring takes too long: built-in values" gives_up
says_parameters() {
    good_through_gpuring && seen 'between nodes: by parameters: latency 30 us, 1000 Mbit/s$' && not_seen 'between nodes: .*(measured|built in)'
}
nodes 2x1 2 --mca coll_gpuring_verbose 1 --mca coll_gpuring_nodes_mbit 1000 --mca coll_gpuring_nodes_latency 30 -- hello_coll
tap_check "2x1: parameters that say all: nothing is measured" says_parameters
nodes 2x1 2 --mca coll_gpuring_verbose 1 --mca coll_gpuring_measure 0 -- hello_coll
tap_check "2x1: nor where that is not wanted" gives_up

# Ranks share cores, so messages wait for one; kernels acknowledge those of TCP meanwhile.
latency_is() { # US ALGORITHM: of an allreduce of 400 bytes
    good_through_gpuring && seen "between nodes: measured: latency [0-9.]+ us by the round trip of TCP \\(used: $1\\)" &&
        seen "allreduce on MPI_COMM_WORLD, .* 400 bytes on 4 nodes of 1: $2,"
}
nodes 4x1 4 --mca coll_gpuring_verbose 2 -- hello_coll
tap_check "4x1: ranks share cores: the latency is that of TCP, if not less than built in" latency_is 20 two-level
export HOSTS_RELAY=${BENCH%/*}/gpuring_relay
if [ -c /dev/net/tun ]; then
    nodes '4x1 --delay=5' 4 --mca coll_gpuring_verbose 2 -- hello_coll
    tap_check "    packets are 5 ms late: so is it, and the choice follows" latency_is 5120 oneshot
else
    tap_skip "    packets are 5 ms late: so is it, and the choice follows" "there is no /dev/net/tun"
fi

only_in_all
# links of every algorithm, with messages of several slots
for case in 3+1:tree 3+1:flat 3+1:doubling 3+1:pat 2x2:bucket 3x2:two-level 3x2:node-tree 3x2:doubling; do
    layout=${case%:*}
    nodes $layout $(np_of $layout) --mca coll_gpuring_algorithm ${case#*:} \
        --mca coll_gpuring_nodes_channels 2 --mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes 512 -- $(any_case)
    tap_check "$layout: ${case#*:}, two channels of small slots" good_through_gpuring
done
for layout in 2x2 3x2; do
    nodes $layout $(np_of $layout) --map-by node -- $(any_case)
    tap_check "$layout, placed in turns: blocking, any case" good_through_gpuring
done
nodes '2x2 --rate=h1:20mbit' 4 -- $(any_case)
tap_check "2x2: one host is slow" good_through_gpuring

for form in nonblocking persistent; do
    nodes 2x2 4 --mca coll_gpuring_progress_thread 1 -- $(eight_in $form --no-comms)
    tap_check "2x2: $form, with a thread" all_taken
done

nodes 2x1 2 -- overlap leave "$work"
tap_check "2x1: what a nonblocking call says at once has left when it returns" good_through_gpuring

# ---- what crosses the hosts' interfaces ----

# Each host sends and receives PER_CALL in each of 10 Allreduces of 4 MiB (-c makes two more): not less, and no more than 5%
allreduces() { # LAYOUT NP PER_CALL [OPTIONS...]
    MPIRUN="$hosts run $1 $counted $stock_mpirun"
    PROGDIR=${BENCH%/*} grun "$2" --mca coll_gpuring_nodes 1 $unmeasured "${@:4}" -- "${BENCH##*/}" allreduce -m 4M:4M -i 8 -x 0 -c -B 1 -I 1
    [ "$rc" = 0 ] && bytes_were "${1%x*}" $((10 * $3))
}

# S bytes on Q hosts: 2 S (Q - 1) / Q is what no algorithm goes below
mib=$((1 << 20))
tap_check "2x1: a ring moves 2S(Q-1)/Q over each interface" allreduces 2x1 2 $((4 * mib)) --mca coll_gpuring_algorithm ring
tap_check "4x1: a ring, too" allreduces 4x1 4 $((6 * mib)) --mca coll_gpuring_algorithm ring
tap_check "2x2: so does what the component chooses, along ranks and hosts" allreduces 2x2 4 $((4 * mib)) --mca coll_gpuring_verbose 2
tap_check "    and rank 0 says what and why" seen 'allreduce on MPI_COMM_WORLD.* 4194304 bytes on 2 nodes of 2: bucket, 4 channels'
tap_check "2x2, torus stated: the same" \
    allreduces 2x2 4 $((4 * mib)) --mca coll_gpuring_algorithm bucket --mca coll_gpuring_torus 2x2
# two trees of a half each send 2S into and out of a host that is inside one of them; of two hosts none is
tap_check "2x2: trees of hosts move S over each interface" allreduces 2x2 4 $((4 * mib)) --mca coll_gpuring_algorithm node-tree
# with N ranks in one ring that is 2S(N-1)/N, if it enters each host once; with these placed in turns, too
tap_check "2x2, placed in turns: a ring enters each host once" \
    allreduces 2x2 4 $((6 * mib)) --map-by node --mca coll_gpuring_algorithm ring
tap_check "2x2, placed in turns: what the component chooses goes along ranks and hosts" \
    allreduces 2x2 4 $((4 * mib)) --map-by node --mca coll_gpuring_verbose 2
tap_check "    and rank 0 says so" seen ' 4194304 bytes on 2 nodes of 2: bucket,'

# ---- no link: calls fall back ----

nodes 2x1 2 -x UCX_TLS=posix,self -x UCX_LOG_LEVEL=fatal -- hello_coll
tap_check "no transport leads there: calls fall back" falls_back
tap_check "    with one line that names both ends and why" \
    one_line 'rank 0 of MPI_COMM_WORLD, on h0, gets no link.* rank 1 on h1: none of UCX.s transports leads there'
nodes 2x1 2 -x UCX_TLS=posix,self -x UCX_LOG_LEVEL=fatal -- random_programs --count=9999 --seconds=1 \
    --profile=nonblocking,eight
tap_check "    nonblocking calls finish by messages" all_good
mkdir "$work/bare"
cp -L "$GR_DIR/mca_coll_gpuring.so" "$GR_DIR/help-coll-gpuring.txt" "$work/bare"
GR_DIR=$work/bare nodes 2x2 4 --mca coll_gpuring_nodes_transport ucx -- hello_coll
tap_check "UCX wanted, and no module: calls fall back" falls_back
tap_check "    with one line that says so, of the first rank concerned" one_line 'rank 0 .*on h0, gets no link.*net_ucx.so: cannot open'

# ---- a process that stops or dies, a cable that is cut ----

# RANKS (0): one of these, each being alone on the host of its number
lost() { seen "gpuring: rank (${1:-0}) of stalled communicator, on h\\1, has lost a link to another node: rank 1 on h1: "; }

begin() { # SCRIPT [OPTIONS...] -- PROGRAM...: on 2x1, or $where; the script is given mpirun's line
    local on=${where:-2x1}
    printf '%s\n' "$1" >"$work/script"
    MPIRUN="$hosts run $on bash $work/script $stock_mpirun"
    gstart "$(np_of "$on")" --mca coll_gpuring_nodes 1 "${@:2}"
}

nothing_left() { seen '^looked$' && not_seen '^left'; }

end_job() {
    kill_all "$job"
    job=
}


begin '"$@"' --mca coll_gpuring_timeout 1 -- stall stop allreduce "$mark"
tap_check "stopped rank: who waits says for whom" wait_for 60 waits_for_1
continue_stopped
gwait
tap_check "    continued: all finish right" good_through_gpuring
tap_check "    over the same link" not_seen 'lost a link'

# What is left in the hosts' shared memory, but for Open MPI's own.
begin '"$@"; for h in $HOSTS; do $HOSTS_SH on $h find /dev/shm -mindepth 1 -maxdepth 1 ! -name "vader*" ! -name "ompi*" \
    ! -name "pmix*" ! -name names -printf "left %p\n"; done; echo looked' --enable-recovery -- stall kill allreduce "$mark"
tap_check "killed rank: the other one names it and its host" wait_for 60 lost
wait_for 60 seen '^looked$' || end_job
tap_check "killed rank: the call fails" seen 'MPI_ERR_OTHER'
[ -z "$job" ] || gwait
tap_check "killed rank: nothing is left in shared memory" nothing_left
tap_check "killed rank: no process is left" wait_for 60 marked_is 0

# In a ring rank 3 has no link to it: it ends since errors are fatal to the others, or says for whom it waits.
where=4x1 begin '"$@"' --enable-recovery --mca coll_gpuring_timeout 1 --mca coll_gpuring_algorithm ring \
    -- stall kill allreduce "$mark"
tap_check "killed rank, one of four: a neighbour names it and its host" wait_for 60 lost '0|2'
tap_check "    the call fails" wait_for 60 seen 'MPI_ERR_OTHER'
tap_check "    and all others end" wait_for 60 marked_is 0
[ "$(marked)" = 0 ] && gwait || end_job

# A few retries are enough here; by default the kernel takes minutes.
begin "for h in \$HOSTS; do \$HOSTS_SH on \$h sh -c 'echo 2 >/proc/sys/net/ipv4/tcp_retries2'; done
\"\$@\" &
until grep -qa looping $out; do sleep 0.1; done
\$HOSTS_SH link h1 down
wait" --mca coll_gpuring_timeout 1 -- stall loop allreduce "$mark"
tap_check "cut off: who waits says for whom" wait_for 60 waits_for_1
tap_check "cut off: then, that the link is lost, and to where" wait_for 60 lost
tap_check "cut off: the call fails" wait_for 60 seen 'MPI_ERR_OTHER'
end_job
tap_check "cut off: no process is left" wait_for 60 marked_is 0

tap_done
