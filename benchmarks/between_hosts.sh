#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Collectives between hosts whose interfaces are limited to a rate, gpuring and stock in alternating runs:
#     stock, stock+han    tuned; han
#     gpuring             coll_gpuring_nodes 1, over UCX
#     gpuring/pml         over Open MPI's messages
#     gpuring/1           with one rail, where hosts have several interfaces
# Prints medians, and the bound: the bytes that must pass a host's interfaces / their rate. Between Q hosts these are 2S(Q-1)/Q
# of allreduce, S(Q-1)/Q of allgather and reduce_scatter, S of bcast and reduce. cycle is the median of cycle_us
# (docs/measuring.md): a call and the barrier before it.
#
#     benchmarks/between_hosts.sh [BUILDDIR] [ROUNDS] [MBIT/S] [LAYOUTS] [COLLECTIVES] [SIZES] [ITERATIONS] [OPTIONS of gpuring]
#         [ALGORITHMS] [mean|p50]
# MBIT/S 0: no limit. ALGORITHMS: gpuring only, once with each of them (auto: what it chooses). p50: the median call instead of the
# mean, for machines where some calls are stopped for long.
#
# HOSTS_AGAIN=1       both stocks run twice in each round: their difference is the noise
# HOSTS_BURST=64kb    what an interface may send at once after a rest. Small calls want little (2kb), or they use what the sizes
#                     before have left for thousands of calls; large ones want enough for the delay of a timer
# HOSTS_RAILS=1       interfaces of a host, each of that rate; gpuring has as many rails
#
# The hosts are namespaces of this machine (tests/hosts/hosts.sh), and need root. Rank r runs on core r modulo their number: on
# shared cores the kernel would place ranks differently in each job, and leave them there for thousands of calls.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$top/build}" && pwd)
rounds=${2:-3} mbit=${3:-200} layouts=${4:-2x1 2x2 4x1}
collectives=${5:-allreduce allgather reduce_scatter bcast reduce} sizes=${6:-4M:16M} iterations=${7:-3} options=${8-} algorithms=${9-}
rails=${HOSTS_RAILS:-1}
case ${10-mean} in mean) column=10 ;; p50) column=11 ;; *) echo "mean or p50, not ${10}" >&2; exit 2 ;; esac
hosts=$top/tests/hosts/hosts.sh # the cores of this machine are all hosts'
# shellcheck disable=SC1091
. "$build/env.sh"
data=$(mktemp)
trap 'rm -f "$data"' EXIT
why=$("$hosts" possible) || { echo "$why" >&2; exit 1; }

run() { # LAYOUT NAME OPTIONS...: lines "layout collective bytes name us algorithm cycle"
    local layout=$1 name=$2 rate=(--rails="$rails") warm=$((iterations / 10 + 1))
    shift 2
    [ "$mbit" = 0 ] || rate+=("--rate=${mbit}mbit")
    # shellcheck disable=SC2086
    "$hosts" run "$layout" "${rate[@]}" mpirun --oversubscribe --mca mpi_yield_when_idle 1 "$@" -np "$((${layout/x/*}))" \
        bash -c 'exec taskset -c $((OMPI_COMM_WORLD_RANK % $(nproc))) "$@"' - gpuring_bench $collectives -m "$sizes" -i "$iterations" -x $warm -B 1 -I 1 -o csv 2>/dev/null |
        awk -F, -v layout="$layout" -v name="$name" -v column="$column" \
            '$7 ~ /^[0-9]/ { print layout, $1, $7, name, $column, $17 == "" ? "-" : $17, $18 }' >>"$data"
}

gpuring=(--mca coll gpuring --mca coll_gpuring_nodes 1)
for ((k = 0; k < rounds; k++)); do
    for layout in $layouts; do
        for algorithm in $algorithms; do
            # shellcheck disable=SC2086
            run "$layout" "$algorithm" "${gpuring[@]}" --mca coll_gpuring_algorithm "$algorithm" $options
        done
        [ -z "$algorithms" ] || continue
        for again in '' ${HOSTS_AGAIN:+/again}; do
            run "$layout" "stock$again" --mca coll ^gpuring
            run "$layout" "stock+han$again" --mca coll ^gpuring --mca coll_han_priority 100
        done
        # shellcheck disable=SC2086
        run "$layout" gpuring "${gpuring[@]}" --mca coll_gpuring_nodes_rails "$rails" $options
        # shellcheck disable=SC2086
        [ "$rails" = 1 ] || run "$layout" gpuring/1 "${gpuring[@]}" $options
        # shellcheck disable=SC2086
        run "$layout" gpuring/pml "${gpuring[@]}" --mca coll_gpuring_nodes_transport pml $options
    done
done

echo "$mbit Mbit/s per interface, $rails of a host, $rounds alternating runs of $iterations calls; microseconds of the slowest rank, its ${10-mean} call: median (minimum .. maximum)"
sort -k1,1 -k2,2 -k3,3n -k4,4 -k5,5n "$data" | awk -v mbit="$((mbit * rails))" '
    function middle(a, n,    i, j, x) {
        for (i = 2; i <= n; i++) {
            x = a[i]
            for (j = i - 1; j > 0 && a[j] > x; j--) { a[j + 1] = a[j] }
            a[j + 1] = x
        }
        return a[int((n + 1) / 2)]
    }
    function flush() {
        if (n > 0) {
            printf "%-4s %-14s %9d %-11s %10.1f (%.1f .. %.1f)", layout, coll, bytes, name, v[int((n + 1) / 2)], v[1], v[n]
            printf "  cycle %.1f", middle(cycle, n)
            if (bound > 0) { printf "  %.0f%% of the bound %.0f", 100 * bound / v[int((n + 1) / 2)], bound }
            print "  " algorithm
        }
        n = 0
    }
    $1 != layout || $2 != coll || $3 != bytes || $4 != name { flush() }
    {
        layout = $1; coll = $2; bytes = $3; name = $4; v[++n] = $5 + 0; algorithm = $6; cycle[n] = $7 + 0
        split(layout, q, "x")
        bound = coll ~ /^allr/ ? 2 * (q[1] - 1) / q[1] : coll ~ /^(allg|reduce_)/ ? (q[1] - 1) / q[1] : 1
        bound *= mbit > 0 ? bytes * 8 / mbit : 0
    }
    END { flush() }'
