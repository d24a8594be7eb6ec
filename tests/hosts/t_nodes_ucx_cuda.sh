#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Links between nodes over a UCX that has CUDA support (tools/ucx_cuda.sh; --all gets it), on the fake driver. Slots lie on
# devices. UCX copies to and from them itself and sends the data over TCP.
. "$(dirname "$0")/../mpi/lib.sh"
. "$(dirname "$0")/../mpi/device_lib.sh"
. "$(dirname "$0")/lib.sh"

nvml=$(cd "$FAKECUDA/../../.libs" 2>/dev/null && pwd)
[ -e "$nvml/libnvidia-ml.so.1" ] || tap_skip_all "no fake NVML was built: UCX's CUDA module needs one"
[ -e "$GR_DIR/gpuring_net_ucx.so" ] || tap_skip_all "gpuring was built without UCX"
if in_all; then kept=''; else kept=--kept; fi
# shellcheck disable=SC2086
ucx=$("$srcdir/tools/ucx_cuda.sh" $kept 2>"$work/why") || tap_skip_all "no UCX with CUDA support: $(tail -n 1 "$work/why")"
export LD_LIBRARY_PATH=$ucx/lib:$LD_LIBRARY_PATH:$nvml
version=$("$ucx/bin/ucx_info" -v | sed -n 's/^# Library version: //p')

# ---- built for it ----

# module DIR: gpuring, with the module for UCX built for this one
module() {
    local flags libs
    eval "flags=($(in_make print-component-flags))"
    libs=$(PKG_CONFIG_PATH=$ucx/lib/pkgconfig pkg-config --libs ucx) || return 1
    mkdir "$1" && ln -s "$GR_DIR/mca_coll_gpuring.so" "$1/" || return 1
    # shellcheck disable=SC2086
    (cd "$builddir" && gcc -std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden "${flags[@]}" -isystem "$ucx/include" \
        "$srcdir/coll_gpuring/net/ucx.c" "$srcdir/coll_gpuring/net/ucx_context.c" -o "$1/gpuring_net_ucx.so" $libs)
}
ok "the module builds for UCX $version" module "$work/gpuring"

# ---- with it ----

UCX_LOG_LEVEL=fatal timeout 60 "$ucx/bin/ucx_info" -d >"$work/out" 2>"$work/err"
awk '/Component: cuda_cpy/ { it = 1 } /memory types:/ { if (it && / cuda \(access/) found = 1; it = 0 } END { exit !found }' \
    "$work/out"
tap_result $? "UCX finds the driver and knows device memory" "$work/err" "$work/out"

# on_nodes TEXT JUDGE LAYOUT MEMORY [OPTIONS...] -- PROGRAM [ARGS...]
on_nodes() {
    MPIRUN="$hosts run $3 $stock_mpirun"
    grun "$(np_of "$3")" --mca coll_gpuring_nodes 1 --mca coll_gpuring_nodes_ask 0 --mca op ^avx \
        --mca coll_gpuring_device_slots 4 --mca coll_gpuring_device_slot_bytes 16384 -x LD_LIBRARY_PATH -x FAKECUDA_SMS \
        -x FAKECUDA_DEVICES -x GPURING_MEMORY="$4" $direct "${@:5}"
    tap_check "$3: $1, $4 memory" "$2"
}
direct='--mca coll_gpuring_nodes_direct 1' # over TCP, too
on_devices_quietly() { good_on_devices && not_seen 'UCX +(WARN|ERROR)|^fakecuda:'; }
all_slots='slots of rank 0 of .* between nodes: [1-9][0-9]* links in device memory, 0 in pinned host memory$'

built=$GR_DIR
GR_DIR=$work/gpuring
on_nodes "all types and operations, 4 MiB, any case" on_devices_quietly 2x1 device \
    --mca coll_gpuring_verbose 2 -- $(any_case every,big)
tap_check "    over UCX" seen 'links to other nodes go over ucx$'
tap_check "    slots lie on devices, which is said" seen "$all_slots"
GR_DIR=$built
on_nodes "any case, gpuring built for another UCX" on_devices_quietly 2x1 device --mca coll_gpuring_verbose 2 \
    -x UCX_LOG_LEVEL=info -- $(any_case)
tap_check "    over this one" seen "UCX +INFO +Version $version \\(loaded from $ucx/"
tap_check "    slots lie on devices" seen "$all_slots"
# pinned WHY: that slots lie in pinned memory is said
pinned() { seen ": 0 links in device memory, [1-9][0-9]* in pinned host memory \\($1\\)"; }
direct='--mca coll_gpuring_nodes_direct 0'
on_nodes "slots in pinned memory, any case" on_devices_quietly 2x1 device --mca coll_gpuring_verbose 2 -- $(any_case)
tap_check "    which is said" pinned 'coll_gpuring_nodes_direct is 0'
direct=
on_nodes "by default: the same over TCP, any case" on_devices_quietly 2x1 device --mca coll_gpuring_verbose 2 -- $(any_case)
tap_check "    which is said" pinned 'the network would copy device memory through the host'
direct='--mca coll_gpuring_nodes_direct 1'
only_in_all
on_nodes "all types and operations, 4 MiB, any case" on_devices_quietly 2x2 device -- $(any_case every,big)
on_nodes "any case" on_devices_quietly 3+1 device -- $(any_case)
on_nodes "the receiver fetches what is large" on_devices_quietly 2x1 device -x UCX_RNDV_THRESH=8192 -- $(any_case)
on_nodes "nonblocking" on_devices_quietly 2x2 device -- $(eight_in nonblocking --no-comms)
on_nodes "persistent" on_devices_quietly 2x1 device -- $(eight_in persistent --no-comms)
on_nodes "a call ends while nobody calls MPI" on_devices_quietly 2x1 device -- devices progress
on_nodes "communicators in opposite order" on_devices_quietly 2x1 device -- devices crossed

tap_done
