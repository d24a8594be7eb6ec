# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by these scripts after mpi/lib.sh: Open MPI's launcher on several hosts.

unset OMPI_MCA_pml # which Open MPI chooses for the network
hosts=$(cd "$(dirname "$0")" && pwd)/hosts.sh
# What starts hosts has slots for all ranks. With that option Open MPI 5 places them all on the first one.
stock_mpirun=${MPIRUN/ --oversubscribe/}

if ! reason=$("$hosts" possible); then
    echo "1..0 # SKIP $reason"
    exit 0
fi

np_of() { echo $(($(sed 's/ .*//; s/x/*/' <<<"$1"))); } # ranks of a layout, which options may follow

# Programs among hosts, through gpuring; environment variables are given with -x.
nodes() { # LAYOUT NP [OPTIONS...] -- PROGRAM [ARGS...]
    MPIRUN="$hosts run $1 $stock_mpirun"
    grun "$2" --mca coll_gpuring_nodes 1 --mca op ^avx "${@:3}"
}

# Where bytes are counted, none are to measure the network.
unmeasured='--mca coll_gpuring_measure 0'

# Put before mpirun's line: "bytes sent received" of each host's interface meanwhile.
printf '%s\n' 'b() { for h in $HOSTS; do echo "$($HOSTS_SH bytes $h)"; done; }' 'before=$(b); "$@"; after=$(b)' \
    'paste <(echo "$before") <(echo "$after") | awk "{ print \"bytes\", \$3 - \$1, \$4 - \$2 }"' >"$work/count"
counted="bash $work/count"

# ---- judging ----

# Each of so many hosts has sent, and received, so many bytes: not less, and no more than 5% above it.
bytes_were() { # HOSTS BYTES
    [ "$(lines_seen '^bytes')" = "$1" ] &&
        awk -v least="$2" '/^bytes/ && ($2 < least || $2 > 1.05 * least || $3 < least || $3 > 1.05 * least) { bad = 1 }
            END { exit bad }' "$out"
}

one_line() { [ "$(lines_seen "gpuring: .*$1")" -eq 1 ]; }
falls_back() { good_without_gpuring && seen "^count coll_gpuring_handover_${1:-setup} [1-9]"; } # [WHY]
waits_for_1() { seen 'rank 0 of stalled communicator .*waits for rank 1$'; }

# Processes with $mark among their arguments.
marked() { grep -lzs "^$mark$" /proc/[0-9]*/cmdline | wc -l; }
continue_stopped() { kill -CONT $(grep -lzs "^$mark$" /proc/[0-9]*/cmdline | tr -dc '0-9\n'); }
marked_is() { [ "$(marked)" = "$1" ]; }
