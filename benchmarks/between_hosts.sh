#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Allreduce between hosts whose interfaces are limited to a rate: gpuring with coll_gpuring_nodes 1, stock beside it, and
# the bound of both, 2S(Q-1)/Q over the rate with Q hosts; "eager": with UCX_RNDV_THRESH=inf, UCX sends slots without asking,
# and there are 16 of them. The hosts are namespaces of this machine (tests/hosts/hosts.sh),
# and need root. Alternating runs; medians.
#     benchmarks/between_hosts.sh [BUILDDIR] [ROUNDS] [MBIT/S] [LAYOUTS]
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$top/build}" && pwd)
rounds=${2:-3} mbit=${3:-200} layouts=${4:-2x1 2x2}
hosts=$top/tests/hosts/hosts.sh
# shellcheck disable=SC1091
. "$build/env.sh"
data=$(mktemp)
trap 'rm -f "$data"' EXIT
why=$("$hosts" possible) || { echo "$why" >&2; exit 1; }

run() { # LAYOUT NP NAME OPTIONS...: lines "layout name bytes us"
    local layout=$1 np=$2 name=$3
    shift 3
    "$hosts" run "$layout" --rate="${mbit}mbit" mpirun --oversubscribe --mca mpi_yield_when_idle 1 "$@" -np "$np" \
        gpuring_bench allreduce -m 4M:16M -i 3 -x 1 -B 1 -I 1 2>/dev/null |
        awk -v head="$layout $name" '/^ *[0-9]/ { print head, $1, $2 }' >>"$data"
}

gpuring=(--mca coll gpuring --mca coll_gpuring_host 1 --mca coll_gpuring_nodes 1)
eager=(-x UCX_RNDV_THRESH=inf --mca coll_gpuring_slots 16)
for ((k = 0; k < rounds; k++)); do
    for layout in $layouts; do
        q=${layout%x*} p=${layout#*x}
        run "$layout" $((q * p)) stock --mca coll ^gpuring
        run "$layout" $((q * p)) stock+han --mca coll ^gpuring --mca coll_han_priority 100
        algorithm=(--mca coll_gpuring_algorithm ring)
        run "$layout" $((q * p)) ring "${gpuring[@]}" "${algorithm[@]}"
        run "$layout" $((q * p)) ring+eager "${gpuring[@]}" "${algorithm[@]}" "${eager[@]}"
        [ "$p" -gt 1 ] || continue
        algorithm=(--mca coll_gpuring_algorithm bucket --mca coll_gpuring_torus "${p}x$q")
        run "$layout" $((q * p)) bucket "${gpuring[@]}" "${algorithm[@]}"
        run "$layout" $((q * p)) bucket+eager "${gpuring[@]}" "${algorithm[@]}" "${eager[@]}"
    done
done

echo "allreduce, $mbit Mbit/s per host, $rounds alternating runs of 3 calls; milliseconds: median (minimum .. maximum)"
sort -k1,1 -k3,3n -k2,2 -k4,4n "$data" | awk -v mbit="$mbit" '
    function flush() {
        if (n > 0) {
            printf "%-5s %9d %-12s %8.1f (%.1f .. %.1f)   bound %.1f, of it %.0f%%\n", layout, bytes, name, v[int((n + 1) / 2)],
                v[1], v[n], bound, 100 * bound / v[int((n + 1) / 2)]
        }
        n = 0
    }
    $1 != layout || $2 != name || $3 != bytes { flush() }
    {
        layout = $1; name = $2; bytes = $3; v[++n] = $4 / 1e3
        split(layout, q, "x")
        bound = 2 * bytes * (q[1] - 1) / q[1] / (mbit * 1e6 / 8) * 1e3
    }
    END { flush() }'
