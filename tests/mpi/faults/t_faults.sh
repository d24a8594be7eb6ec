#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Failures everywhere, a sample: calls of the component that fail (faults.sh), some on one rank, some on all. Each run
# ends with right results or errors, and leaves nothing behind. GPURING_SEED says which calls. All of them:
#     bash tests/mpi/faults/faults.sh all FILE host; bash tests/mpi/faults/faults.sh table FILE
. "$(dirname "$0")/../lib.sh"

faults=$(dirname "$0")/faults.sh
seed=${GPURING_SEED:-$$}
echo "# GPURING_SEED=$seed"
if ! unshare --mount --pid --fork --mount-proc true 2>/dev/null; then
    echo "1..0 # SKIP no namespaces: what a run leaves behind cannot be told from what others do"
    exit 0
fi

# A line of results: CONFIG RANK KIND K ENDED PLACE NOTE
judge() {
    local config=$1 rank=$2 kind=$3 k=$4 ended=$5 place=$6
    local text="$config, $kind $k fails on rank $rank ($place)"
    case $ended in
        right | error | others | unreached) tap_ok "$text: $ended" ;;
        *) tap_not_ok "$text: $ended"; echo "# ${*:7} (seed $seed)" ;;
    esac
}

# Calls that have failed in a bad way: CONFIG RANK KIND:K
once_bad() {
    # shellcheck disable=SC2046
    judge $(bash "$faults" one "$1" "$2" "$3" | tail -n 1 | sed 's/:/ /')
}

# must_end ENDED[|ENDED] CONFIG RANK FAULT [PATTERN]: the call must be made, and end so, with a line of the component that
# has the pattern
must_end() {
    local text="$2, $4 fails on rank $3: $1" ended
    bash "$faults" one "$2" "$3" "$4" >"$out"
    ended=$(tail -n 1 "$out" | cut -d' ' -f4)
    [[ "|$1|" = *"|$ended|"* ]] && { [ -z "${5-}" ] || seen "gpuring: rank .*$5"; } && tap_ok "$text" && return
    tap_not_ok "$text"
    tail -n 20 "$out" | tap_diag
}

# judge_all TEXT COMMAND...: faults.sh with it; it writes $work/results
judge_all() {
    rm -f "$work/results"
    bash "$faults" "${@:2}" 2>"$work/errors" || { tap_not_ok "$1"; tap_diag <"$work/errors"; return; }
    while read -r line; do
        # shellcheck disable=SC2086
        judge $line
    done <"$work/results"
}
sample_of() { # CONFIG N [KIND...]
    judge_all "$1: sample" sample "$work/results" "$1" "$2" "$seed" "${@:3}"
}

between_nodes=
if "$(dirname "$0")/../../hosts/hosts.sh" possible >/dev/null; then
    between_nodes=pml
    [ ! -e "$builddir/tests/mpi/faults/.libs/gpuring_net_ucx.so" ] || between_nodes='nodes pml'
fi
no_message='set-up: no memory, or Open MPI could not send a message'
no_link='on h1, has lost a link to another node: rank 0 on h0'

# boards for Barrier, and for Ibarrier; links; boards in groups
GPURING_FAULT_RESERVE=1 must_end right barriers 1 malloc@mca_coll_gpuring_args_copy # made once more
must_end error barriers 1 isend:1 "has failed: barrier, sequence 1: $no_message"
must_end error barriers 1 isend:6 "has failed: barrier, sequence 1: $no_message"
must_end error dissemination 1 irecv:1 "has failed: barrier, sequence 1: $no_message"
must_end error groups all isend:1 "has failed: allreduce, sequence 1: $no_message"
if [[ $between_nodes = *nodes* ]]; then
    must_end error barriers-nodes 1 send_completion:1 "$no_link" # a token is lost
fi
if [ -n "$between_nodes" ]; then
    # rank 1 receives nothing more, and Open MPI keeps what is on its way to it: its sender gives up after 10 s, of a fast clock
    GPURING_FAULT_CLOCK=20 FAULT_TIMEOUT=2000 must_end 'error|others' pml-asks 1 irecv_init_data:1 "on h0, has lost a link to another node: rank 2 on h1"
fi
# A call of the driver fails on rank 1: each allreduce ends alike on both ranks. Every call: faults.sh all FILE life driver
has_driver() { [ -e "${FAKECUDA:-/nonexistent}/libcuda.so.1" ]; }
if ! has_driver; then
    tap_skip "a call of the driver" "no CUDA toolkit"
elif in_all; then
    FAULT_RANKS=1 judge_all "life: places" places "$work/results" life driver
    FAULT_RANKS=1 judge_all "life-leader: places" places "$work/results" life-leader driver
    FAULT_RANKS=1 judge_all "life-staged: places" places "$work/results" life-staged driver
else
    sample_of life 3 driver
    sample_of life-leader 3 driver
    sample_of life-staged 3 driver
fi
# no code for the device, and no PTX that the driver compiles; a driver that fails from then on
if has_driver; then
    must_end right life all cuLibraryLoadData:1+ '.*cuLibraryLoadData.* Calls on device memory go through host memory'
    must_end right life 1 cuMemHostAlloc:1+ '.*cannot set up links between devices .cuMemHostAlloc'
    must_end right life-leader all cuLaunchKernel:1+     # the host does the calls
    must_end right life-leader all cuIpcOpenMemHandle:1+ # through pinned memory
    must_end 'error|others' life 1 cuLaunchKernel:1+ 'has failed: allreduce, sequence [0-9]+: .*cuLaunchKernel'
    in_all && must_end others life 1 driver:330+ '.*cannot set up links between devices'
fi

# driver_calls ALGORITHM known|fresh: calls of the driver for an allreduce on memory that is known, or new for each, without
# what a query of the stream or of an event takes (4 and 3 calls each; polls make them): of 50 calls more
driver_calls() {
    local n program
    rm -rf "$work/counting" "$work"/calls*
    mkdir "$work/counting"
    cp "$builddir/tests/mpi/faults/.libs/mca_coll_gpuring.so" "$srcdir/coll_gpuring/help-coll-gpuring.txt" "$work/counting"
    for n in 10 60; do
        program="$builddir/gpuring_bench allreduce -d cuda -m 64K:64K -i $n -x 0 -B 10"
        [ "$2" = known ] || program="$builddir/tests/mpi/leader fresh $n"
        # shellcheck disable=SC2086
        LD_LIBRARY_PATH=$FAKECUDA${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKECUDA_SMS=64 GPURING_FAULT_COUNTS=$work/calls$n GPURING_MEMORY=device \
            $MPIRUN -np 2 -x GPURING_FAULT_COUNTS -x GPURING_MEMORY -x LD_LIBRARY_PATH -x FAKECUDA_SMS $(GR_DIR=$work/counting component_options) \
            --mca coll gpuring --mca coll_gpuring_algorithm_allreduce "$1" $program >"$out" 2>&1 || return 1
    done
    awk 'FNR == NR { n[$1] -= $2; next } { n[$1] += $2 } END { print int((n["driver"] - 4 * n["cuStreamQuery"] - 3 * n["cuEventQuery"]) / 50 + 0.5) }' \
        "$work/calls10.0" "$work/calls60.0"
}
if has_driver; then
    while read -r algorithm memory most; do
        cost=$(driver_calls "$algorithm" "$memory" </dev/null)
        echo "# calls of the driver for an allreduce, $algorithm, memory that is $memory: $cost"
        [ "${cost:-99}" -le "$most" ]
        tap_result $? "an allreduce costs $most calls of the driver at most: $algorithm, memory that is $memory" "$out"
    done <<END
oneshot known 18
oneshot fresh 33
leader known 24
leader fresh 44
END
fi

only_in_all
# Barrier_init; what lies between levels of boards: then all fall back; the start of a request whose data have gaps
must_end error barriers 1 malloc@mca_coll_gpuring_args_copy 'has failed: barrier: Out of resource'
must_end right groups 1 malloc@reserve_scratch
must_end error barriers 1 calloc@gr_neighbours_alloc:10 'GROUP FROM .* has failed: barrier' # its id is not used again
must_end error groups 1 malloc@mca_coll_gpuring_scratch_get:3 'has failed: bcast, .*: out of memory'
if [ -n "$between_nodes" ]; then
    must_end error barriers-pml 1 isend_init:1 "$no_link" # a token is lost
    must_end error barriers-pml 1 start:9 "$no_link"
fi
sample_of barriers 4
sample_of dissemination 4
sample_of groups 6
for config in $between_nodes; do
    sample_of "barriers-$config" 4
done
must_end right host 1 malloc:1 # the module of a communicator
must_end right host 1 process_vm_readv:50 'cannot read the memory of rank'  # once: the right is taken for lost
must_end right host 1 process_vm_readv:50+ 'cannot read the memory of rank' # and is lost
once_bad host all calloc:350        # it is told on a communicator of the same id that was freed since
sample_of host 8
if has_driver; then
    # the driver fails to say where memory lies; the module in reserve
    for fault in cuInit:1 cuDeviceGet:1 cuPointerGetAttributes:20 malloc:1; do
        must_end right device 1 $fault
    done
    once_bad device 1 dlopen:1           # the driver is there, but not for the component
    once_bad device 1 cuCtxPushCurrent:3 # it frees a buffer that the other rank's kernel writes to
    sample_of device 6
else
    tap_skip "on devices" "no CUDA toolkit"
fi
if [[ $between_nodes = *nodes* ]]; then
    sample_of nodes 3
else
    tap_skip "between nodes" "no UCX, or no namespaces for hosts"
fi
tap_done
