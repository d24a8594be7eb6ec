#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# coll_gpuring_step_sync between nodes: right results in every mode, among hosts whose clocks differ, with late and stopped
# ranks and a slow host; what a rank says beside its messages crosses the network with them.
. "$(dirname "$0")/../mpi/lib.sh"
. "$(dirname "$0")/../mpi/timed_lib.sh"
. "$(dirname "$0")/lib.sh"

mark=$((100000000 + $$)) # an argument of programs, by which their processes are found

timed() { # LAYOUT MODE TORUS [OPTIONS...]
    nodes "$1" "$(np_of "$1")" --mca coll_gpuring_step_sync "$2" --mca coll_gpuring_report summary "${@:4}" -- timed "$3" 1
}

modes() { # rows: LAYOUT MODE TORUS
    local layout mode torus
    while read -r layout mode torus; do
        timed $layout $mode $torus </dev/null
        tap_check "$layout: $mode, all forms, late ranks" good_through_gpuring
        tap_check "$layout: $mode: the report says so" report_fits $mode 20
    done
}

modes <<END
2x2 timed   2x2
3+1 barrier 2x2
END

only_in_all
modes <<END
2x1 start   2
2x2 start   2x2
2x2 barrier 2x2
4x2 timed   2x4
4x1 timed   2x2
3+1 timed   4
END

# Each process has a clock of its own, off by an hour from the one before; ranks of a host, too.
if unshare -T --monotonic 3600 -f true 2>/dev/null; then
    printf '%s\n' 'exec unshare -T --monotonic $((3600 * (OMPI_COMM_WORLD_RANK + 1))) -f "$@"' >"$work/apart"
    for mode in barrier timed; do
        WRAPPER="bash $work/apart" timed 2x2 $mode 2x2
        tap_check "2x2: $mode, clocks differ by hours" good_through_gpuring
        tap_check "2x2: $mode, clocks differ: the report says so" report_fits $mode 20
    done
else
    tap_skip "clocks that differ" "no time namespaces here"
fi
timed 2x2 timed 2x2 --mca coll_gpuring_nodes_transport pml
tap_check "2x2: timed, over Open MPI's messages" good_through_gpuring
timed '2x2 --rate=h1:20mbit' timed 2x2
tap_check "2x2: timed, one host is slow" good_through_gpuring

# Ranks that are stopped, one after the other, and go on
MPIRUN="$hosts run 2x2 $stock_mpirun"
gstart 4 --mca coll_gpuring_nodes 1 --mca coll_gpuring_step_sync timed --mca coll_gpuring_report summary -- timed 2x2 6 \
    "$work/stopped" "$mark"
ranks_run() { mapfile -t pids < <(grep -lzs "^$mark$" /proc/[0-9]*/cmdline | tr -dc '0-9\n'); [ "$(ranks | wc -w)" -ge 4 ]; }
ranks() { for pid in "${pids[@]}"; do [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != timed ] || echo "$pid"; done; }
wait_for 60 ranks_run
# shellcheck disable=SC2046 # each is a word
stop_in_turn $(ranks)
gwait
tap_check "2x2: timed, ranks that are stopped and go on" good_through_gpuring
tap_check "    they were stopped" [ $stops -eq 4 ]

tap_done
