# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by the scripts here behind mpi/lib.sh: Open MPI's launcher on several hosts.

hosts=$(cd "$(dirname "$0")" && pwd)/hosts.sh
# What starts hosts has slots for all ranks. With that option Open MPI 5 places them all on the first one.
stock_mpirun=${MPIRUN/ --oversubscribe/}

if ! reason=$("$hosts" possible); then
    echo "1..0 # SKIP $reason"
    exit 0
fi

np_of() { echo $(($(sed 's/x/*/' <<<"$1"))); } # ranks of a layout

# The runs of all series together take long, and little of what is below hangs on the series: one of them runs it all. The
# others end here, and say what they have not run.
only_with_4() { # WHAT...
    local what
    [ "$OMPI_SERIES" -ge 5 ] || return 0
    for what in "$@"; do tap_skip "$what" "run with Open MPI 4.1 only, which saves time"; done
    tap_done
}
