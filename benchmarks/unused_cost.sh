#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What gpuring costs where it is loaded and not used: MPI_Init, and MPI_Comm_dup + MPI_Comm_free, in alternating
# runs of four configurations. The two stock ones are the same: their difference is the noise.
#     benchmarks/unused_cost.sh [BUILDDIR] [ROUNDS] [RANKS]
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$top/build}" && pwd)
rounds=${2:-15} ranks=${3:-2}
make -s -C "$build" initcost >/dev/null
# shellcheck disable=SC1091
. "$build/env.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
data=$(mktemp)
trap 'rm -f "$data"' EXIT

run() { # NAME OPTIONS...
    local name=$1
    shift
    mpirun --oversubscribe --mca mpi_yield_when_idle 1 "$@" -np "$ranks" "$build/initcost" 2000 2>/dev/null |
        sed -n "s/^initcost,/$name,/p" >>"$data"
}

for ((i = 0; i < rounds; i++)); do
    run stock-A --mca coll ^gpuring
    run host=0 --mca coll_gpuring_host 0
    run stock-B --mca coll ^gpuring
    run host=1 --mca coll_gpuring_host 1
done
echo "$ranks ranks, $rounds alternating runs each; microseconds: median (minimum .. maximum) of the runs"
for name in stock-A stock-B host=0 host=1; do
    awk -F, -v name="$name" '$1 == name { print $3, $5 }' "$data" >"$data.one"
    summary() { cut -d' ' -f"$1" "$data.one" | sort -n | awk '{ v[NR] = $1 } END { printf "%.2f (%.2f .. %.2f)", v[int((NR + 1) / 2)], v[1], v[NR] }'; }
    printf '%-8s MPI_Init %s   dup+free %s\n' "$name" "$(summary 1)" "$(summary 2)"
done
rm -f "$data.one"
