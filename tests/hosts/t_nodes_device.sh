#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers on devices (of the fake CUDA driver) where a communicator spans several hosts (hosts.sh).
. "$(dirname "$0")/../mpi/lib.sh"
. "$(dirname "$0")/../mpi/device_lib.sh"
. "$(dirname "$0")/lib.sh"

# on_nodes TEXT JUDGE LAYOUT NODES MEMORY [OPTIONS...] -- PROGRAM [ARGS...]
on_nodes() {
    local text=$1 judge=$2
    MPIRUN="$hosts run $3 $stock_mpirun"
    grun "$(np_of "$3")" --mca coll_gpuring_nodes "$4" -x LD_LIBRARY_PATH -x FAKECUDA_SMS -x FAKECUDA_DEVICES \
        -x FAKECUDA_KERNELS -x GPURING_THRESHOLDS -x GPURING_MEMORY="$5" $small "${@:6}"
    tap_check "$3, nodes=$4: $text, $5 memory" "$judge"
}

# by gpuring: the host's steps between nodes
taken() { all_good && seen '^# gpuring calls [1-9]'; }
handed_on() { good_by_staging && seen '^# gpuring calls 0 handovers [1-9]'; }

on_nodes "any case" taken 2x2 1 device -x GPURING_MATRIX=random -x GPURING_BUDGET=1 -- matrix
only_with_4 "mixed memory, kernels within a host, other forms and collectives"
on_nodes "any case" taken 3+1 1 mixed -x GPURING_MATRIX=random -x GPURING_BUDGET=1 -- matrix
on_nodes "handed on" handed_on 2x1 0 mixed -x GPURING_MATRIX=random -x GPURING_BUDGET=1 -- matrix
on_nodes "kernels within a host" good_on_devices 3+1 1 device -- comms
on_nodes "nonblocking" taken 2x2 1 mixed -- nonblocking 1
on_nodes "persistent" taken 2x2 1 mixed -- persistent 1
on_nodes "other collectives" good_handed_on 3+1 1 device -x GPURING_BUDGET=1 -- others
on_nodes "other collectives in pieces" good_handed_on 2x2 1 mixed -x GPURING_BUDGET=1 \
    --mca coll_gpuring_stage_bytes 512 -- others

tap_done
