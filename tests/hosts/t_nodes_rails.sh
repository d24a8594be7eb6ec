#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring between nodes of several network devices (rails): channels are spread over them. Results are right, each interface
# carries its share, there are no more rails than all ranks have, and one that is cut is named.
. "$(dirname "$0")/../mpi/lib.sh"
. "$(dirname "$0")/lib.sh"

mark=$((100000000 + $$)) # an argument of programs, by which their processes are found
[ -e "$GR_DIR/gpuring_net_ucx.so" ] || { echo "1..0 # SKIP gpuring was built without UCX"; exit 0; }

rails() { echo "--mca coll_gpuring_nodes_rails $1 --mca coll_gpuring_verbose 1"; }
here='MPI_COMM_WORLD: 2 rails between nodes, here eth0 eth1'
good_on_rails() { good_through_gpuring && seen "$here"; }
eight_on_rails() { all_taken && seen "$here"; }
on_one_rail() { good_through_gpuring && seen "MPI_COMM_WORLD: 1 rail between nodes, of 2 wanted: $1"; }

# Put before mpirun's line: "HOST ethR sent received" of both interfaces of each host meanwhile.
printf '%s\n' 'b() { for h in $HOSTS; do for r in eth0 eth1; do echo $h $r $($HOSTS_SH bytes $h $r); done; done; }' \
    'before=$(b); "$@"; rc=$?; after=$(b)' \
    'paste -d " " <(echo "$before") <(echo "$after") | awk "{ print \"rail\", \$1, \$2, \$7 - \$3, \$8 - \$4 }"; exit $rc' >"$work/count"

# Each interface of two hosts has carried what the schedule says, within 10%; where that is nothing, no more than 5% of the most.
# OUT:IN in bytes of h0's eth0 and eth1; h1's are the other way round.
rails_carried() { # OUT:IN OUT:IN
    awk -v eth0="$1" -v eth1="$2" '
        function off(got, want) { return want > 0 ? got < 0.9 * want || got > 1.1 * want : got > 0.05 * most }
        BEGIN {
            split(eth0 ":" eth1, w, ":")
            for (k in w) { most = w[k] > most ? w[k] : most }
        }
        /^rail/ {
            n++
            at = ($3 == "eth1" ? 3 : 1)
            bad = bad || off($4, w[$2 == "h0" ? at : at + 1]) || off($5, w[$2 == "h0" ? at + 1 : at])
        }
        END { exit bad || n != 4 }' "$out"
}

# A collective on 4 MiB, 5 times (-c makes two of them); OUT:IN in MiB of each.
carried() { # LAYOUT COLLECTIVE OUT:IN OUT:IN [OPTIONS...]
    local layout=$1 bytes
    bytes=$(awk -F: -v one="$3" -v other="$4" 'BEGIN {
        split(one ":" other, w); m = 5 * 1048576; printf "%d:%d %d:%d", m * w[1], m * w[2], m * w[3], m * w[4] }')
    MPIRUN="$hosts run $layout --rails=2 bash $work/count $stock_mpirun"
    PROGDIR=${BENCH%/*} grun "$(np_of "$layout")" --mca coll_gpuring_nodes 1 $unmeasured $(rails 2) "${@:5}" -- \
        "${BENCH##*/}" "$2" -m 4M:4M -i 3 -x 0 -c -B 1 -I 1
    [ "$rc" = 0 ] && seen "$here" && rails_carried $bytes
}

# ---- right, and each carries its half ----

for layout in $(depth 2x2 '2x1 2x2 3+1'); do
    nodes "$layout --rails=2" "$(np_of $layout)" $(rails 2) -- $(any_case)
    tap_check "$layout: blocking, any case" good_on_rails
done
# 2S(Q-1)/Q, S(Q-1)/Q and S, half of it on each; with 3+1 that of a ring, N for Q. Odd channels go round the other way: on 2x2
# their chains leave the root's host, and come back to its other rank.
while read -r case; do
    options=
    case $case in 3+1\ all* | 3+1\ reduce_*) options='--mca coll_gpuring_algorithm ring' ;; esac
    # shellcheck disable=SC2086 # words on purpose
    tap_check "${case% * *}: right, and each interface carries its share" carried $case $options </dev/null
done < <(rows_of_depth '^(2x2 (allreduce|bcast)|3.1 reduce_s)' <<END
2x1 allreduce 2:2 2:2
2x1 allgather 1:1 1:1
2x1 reduce_scatter 1:1 1:1
2x1 bcast 2:0 2:0
2x1 reduce 0:2 0:2
2x2 allreduce 2:2 2:2
2x2 allgather 1:1 1:1
2x2 reduce_scatter 1:1 1:1
2x2 bcast 2:0 2:2
2x2 reduce 2:2 0:2
3+1 allreduce 3:3 3:3
3+1 allgather 1.5:1.5 1.5:1.5
3+1 reduce_scatter 1.5:1.5 1.5:1.5
3+1 bcast 2:0 2:0
3+1 reduce 0:2 0:2
END
)
# ---- what Open MPI is confined to ----

# KEPT LEFT [OPTIONS...]: 5 allreduces of 4 MiB pass one interface; another has what mpirun (50 KiB of 5.0) and the kernels send.
# hosts.sh says itself what Open MPI is confined to, which an option replaces, or $without=1 takes away.
confined() {
    MPIRUN="$hosts run 2x1 --rails=2 ${without:+env -u OMPI_MCA_btl_tcp_if_include} bash $work/count $stock_mpirun"
    PROGDIR=${BENCH%/*} grun 2 --mca coll_gpuring_nodes 1 $unmeasured --mca coll_gpuring_verbose 1 "${@:3}" -- \
        "${BENCH##*/}" allreduce -m 4M:4M -i 3 -x 0 -c -B 1 -I 1
    [ "$rc" = 0 ] && awk -v kept="$1" -v left="$2" '
        /^rail/ { n++; bad = bad || ($3 == kept && $4 < 20971520) || ($3 == left && $4 + $5 > 262144) }
        END { exit bad || n != 4 }' "$out"
}
over_one() { seen "links to other nodes go over ucx on $1\$"; }
for list in eth1 10.78.0.0/16; do
    tap_check "btl_tcp_if_include $list: UCX's messages pass eth1" confined eth1 eth0 --mca btl_tcp_if_include $list
    tap_check "    and rank 0 says so" over_one eth1
done

only_in_all
tap_check "btl_tcp_if_include eth0: nothing passes eth1" confined eth0 eth1 --mca btl_tcp_if_include eth0
without=1 tap_check "btl_tcp_if_exclude: nothing passes what it names" \
    confined eth0 eth1 --mca btl_tcp_if_exclude lo,10.78.0.0/24
tap_check "rails: none beside the one that is left" \
    confined eth0 eth1 --mca btl_tcp_if_include eth0 --mca coll_gpuring_nodes_rails 2
tap_check "    and rank 0 says so" seen 'MPI_COMM_WORLD: 1 rail between nodes, of 2 wanted'
tap_check "UCX_NET_DEVICES is what counts for UCX, where it is set" \
    confined eth1 none --mca btl_tcp_if_include eth0 -x UCX_NET_DEVICES=eth1
tap_check "links over pml pass where Open MPI's messages do" \
    confined eth0 eth1 --mca btl_tcp_if_include eth0 --mca coll_gpuring_nodes_transport pml
nodes "2x1 --rails=2" 2 --mca btl_tcp_if_include 10.99.0.0/16 --mca coll_gpuring_verbose 1 -- hello_coll
tap_check "an interface that is not there, which Open MPI ignores: any" seen 'links to other nodes go over ucx$'
nodes "2x1 --rails=2" 2 --mca btl_tcp_if_include lo --mca coll_gpuring_verbose 1 --mca pml ucx \
    --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any -x UCX_TLS=tcp,self -- hello_coll
tap_check "none that leads there: Open MPI's messages" \
    seen 'go over pml: btl_tcp_if_include or _exclude leaves ucx no network device'
for form in nonblocking persistent; do
    nodes "2x2 --rails=2" 4 $(rails 2) -- $(eight_in $form --no-comms)
    tap_check "2x2: $form, each of the eight" eight_on_rails
done
nodes "2x2 --rails=2" 4 $(rails 2) --mca coll_gpuring_progress_thread 1 -- nbthreads 2
tap_check "2x2: nonblocking calls of several threads, and one of gpuring" good_on_rails
nodes "3+1 --rails=2" 4 $(rails 2) -- $(eight_in comms)
tap_check "3+1: communicators within a host and across" good_on_rails
tap_check "2x1: one channel is not enough for two rails, and becomes two" carried 2x1 allreduce 2:2 2:2 --mca coll_gpuring_nodes_channels 1
nodes "2x1 --rails=3" 2 $(rails 3) -- $(any_case)
tap_check "2x1: three rails, any case" good_through_gpuring
tap_check "    which are all used" seen 'links to other nodes go over ucx on eth2'

# ---- how many there are ----

nodes "2x1 --rails=2" 2 $(rails 0) -- hello_coll
tap_check "0: as many as there are" good_on_rails
nodes "2x1 --rails=2" 2 $(rails 3) -- hello_coll
tap_check "more wanted than there are: these" seen 'MPI_COMM_WORLD: 2 rails between nodes, of 3 wanted, here eth0 eth1'
nodes "2x1 --rails=2" 2 --mca coll_gpuring_verbose 1 -- hello_coll
tap_check "by default, none are asked for" not_seen 'rail|over ucx on'
nodes "2x1 --rails=2" 2 $(rails 2) -x UCX_NET_DEVICES=eth1 -- hello_coll
tap_check "the user allows one device: that" on_one_rail 'not all ranks have several equal devices'
nodes "2x1 --rails=3" 2 $(rails 2) -x UCX_NET_DEVICES=eth2,eth1 -- hello_coll
tap_check "two of three: these two" seen 'MPI_COMM_WORLD: 2 rails between nodes, here eth1 eth2'
printf '%s\n' '[ $(hostname) = h0 ] || export UCX_NET_DEVICES=eth0' 'exec "$@"' >"$work/fewer"
WRAPPER="bash $work/fewer" nodes "2x2 --rails=2" 4 $(rails 2) -- hello_coll
tap_check "one host has one device: that of all" on_one_rail 'not all ranks have several equal devices'
printf '%s\n' '[ $OMPI_COMM_WORLD_RANK = 0 ] || export OMPI_MCA_coll_gpuring_nodes_rails=1' 'exec "$@"' >"$work/differ"
WRAPPER="bash $work/differ" nodes "2x1 --rails=2" 2 --mca coll_gpuring_verbose 1 -x OMPI_MCA_coll_gpuring_nodes_rails=2 -- hello_coll
tap_check "ranks that want different numbers: the default" not_seen 'over ucx on'
tap_check "    with one line that says so" one_line 'coll_gpuring_nodes_rails = "2" on rank 0 .* on rank 1 it is "1"'
nodes "2x1 --rails=2" 2 $(rails 2) --mca coll_gpuring_nodes_transport pml -- hello_coll
tap_check "Open MPI's messages have no rails" on_one_rail "Open MPI's messages have one"

# ---- a rail that is cut ----

# as in test_nodes.py; a slow network makes messages of 4 KB worth both rails
printf '%s\n' "for h in \$HOSTS; do \$HOSTS_SH on \$h sh -c 'echo 2 >/proc/sys/net/ipv4/tcp_retries2'; done
\"\$@\" &
until grep -qa looping $out; do sleep 0.1; done
\$HOSTS_SH link h1 down eth1
wait" >"$work/cut"
MPIRUN="$hosts run 2x1 --rails=2 bash $work/cut $stock_mpirun"
gstart 2 --mca coll_gpuring_nodes 1 $(rails 2) --mca coll_gpuring_nodes_mbit 1000 --mca coll_gpuring_timeout 1 -- \
    stall loop allreduce "$mark"
tap_check "one rail is cut: who waits says for whom" wait_for 60 waits_for_1
tap_check "one rail is cut: then, that the link is lost, to where, and over which device" wait_for 60 \
    seen "gpuring: rank ([01]) of stalled communicator, on h\1, has lost a link to another node: rank ([01]) on h\2, over eth1: "
tap_check "one rail is cut: the call fails" wait_for 60 seen 'MPI_ERR_OTHER'
kill_all "$job"
job=
tap_check "one rail is cut: no process is left" wait_for 60 marked_is 0

tap_done
