#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Loading and selection: the components that run the collectives with each --mca coll, and ompi_info.
. "$(dirname "$0")/lib.sh"
unset OMPI_MCA_pml # as users have it

parameters="priority host algorithm algorithm_allreduce algorithm_allgather algorithm_reduce_scatter
            algorithm_bcast algorithm_reduce algorithm_alltoall algorithm_barrier channels slots slot_bytes mailbox_bytes single_copy measure tune_file pack_mib setup_mib torus timeout
            timeout_abort progress_thread pool_mib report verbose cuda device_channels device_slots device_slot_bytes
            device_pool_mib protocol stage_bytes zero_copy step_sync nodes nodes_ask nodes_transport nodes_direct nodes_channels nodes_rails nodes_latency
            nodes_mbit nodes_zero_copy"
collectives="allreduce allgather allgatherv reduce_scatter reduce_scatter_block bcast reduce alltoall"

each_counted() {
    local c
    for c in $collectives; do
        seen "^count coll_gpuring_calls_$c [1-9]" || return 1
    done
}

for selection in gpuring gpuring,basic,libnbc gpuring,tuned,basic,libnbc,self; do
    grun 3 --mca coll $selection -- hello_coll
    tap_check "--mca coll $selection runs everything" good_through_gpuring
    tap_check "--mca coll $selection: each of the eight is counted" each_counted
done
GPURING_TOOL_FIRST=1 test_program "--mca coll gpuring, and MPI_T before MPI_Init" 2 --mca coll gpuring -- hello_coll
test_program "--mca coll gpuring with one rank" 1 --mca coll gpuring -- hello_coll
programs "--mca coll gpuring on communicators of every origin" good_through_gpuring 1 3 --mca coll gpuring -- --profile=comms

grun 3 --mca coll_gpuring_report summary --mca coll_gpuring_mailbox_bytes 0 --mca coll_gpuring_algorithm flat \
    --mca coll_gpuring_algorithm_bcast chain -- hello_coll
tap_check "selected by default" good_through_gpuring
tap_check "selected by default: each of the eight is counted" each_counted
tap_check "no call in host memory counts as one on devices" not_seen '^count coll_gpuring_device_calls_[a-z_]* [1-9]'
tap_check "the report comes from one rank" [ "$(lines_seen "^# gpuring: what rank")" -eq 1 ]
tap_check "the report has algorithm, calls and bytes" seen '^# allgather +host +flat +2 +2400 '
tap_check "bytes are counted" seen '^count coll_gpuring_bytes_allgather 2400$'
tap_check "what is given for one collective comes before what is given for all" seen '^# bcast +host +chain +2 +800 '
grun 3 --mca coll_gpuring_priority 5 -- hello_coll
tap_check "not selected with a priority below tuned's" good_without_gpuring
grun 3 --mca coll ^gpuring -- hello_coll
tap_check "--mca coll ^gpuring" good_without_gpuring
tap_check "--mca coll ^gpuring leaves no counters" seen '^pvars: none'
GR_HOST=auto grun 3 -- hello_coll
tap_check "host buffers are left to others where the selection does not name it" good_without_gpuring
GR_HOST=auto grun 3 --mca coll gpuring -- hello_coll
tap_check "host buffers are taken where the selection names it" good_through_gpuring
GR_HOST=auto grun 3 --mca coll tuned,basic,libnbc,gpuring -- hello_coll
tap_check "also behind other names" good_through_gpuring
GR_HOST=1 grun 3 -- hello_coll
tap_check "coll_gpuring_host 1: also where it does not name it" good_through_gpuring
GR_HOST=0 grun 3 --mca coll gpuring -- hello_coll
tap_check "coll_gpuring_host 0: they are left to others" good_without_gpuring

export OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$GR_DIR
rc=0
$OMPI_INFO --param coll gpuring --level 9 --parsable >"$out" 2>&1 || rc=$?
grun_line="$OMPI_INFO --param coll gpuring --level 9 --parsable"
tap_check "ompi_info lists the component" seen '^mca:coll:gpuring:version:'
for p in $parameters; do
    tap_check "ompi_info describes coll_gpuring_$p" seen "^mca:coll:gpuring:param:coll_gpuring_$p:help:.{20,}"
done
unknown=$(sed -n 's/^mca:coll:gpuring:param:coll_gpuring_\([a-z0-9_]*\):help:.*/\1/p' "$out" |
          grep -vxF "$(printf '%s\n' $parameters)" | tr '\n' ' ')
tap_check "this test knows all parameters${unknown:+ but $unknown}" [ -z "$unknown" ]

tap_done
