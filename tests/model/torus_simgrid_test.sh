#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Cross-check of torus_sim with SimGrid: schemes 1 and 3 take the same time to 0.1%. Optional: needs libsimgrid and a
# C++ compiler, and says so where they are missing. Environment: srcdir; CC, CXX.
set -u
# shellcheck source=tests/lib.sh
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib.sh"
make_work
CC=${CC:-cc} CXX=${CXX:-g++}
torus=$srcdir/benchmarks/torus core=$srcdir/coll_gpuring

if ! command -v "$CXX" >/dev/null || ! echo '#include <simgrid/s4u.hpp>' | "$CXX" -std=c++17 -x c++ -fsyntax-only - 2>/dev/null; then
    tap_skip "torus_sim agrees with SimGrid" "no $CXX with SimGrid's headers: install libsimgrid-dev for this check"
    tap_done
fi

build() {
    for f in "$torus"/{traffic,events,network,packets,predict,schemes}.c \
        "$core"/sched/alltoall{,_ordered,_suh_shin}.c "$core"/topo/torus.c; do
        "$CC" -O2 -I"$core" -c -o "$work/$(basename "$f" .c).o" "$f" || return 1
    done
    "$CXX" -O1 -std=c++17 -I"$core" -I"$torus" -o "$work/torus_simgrid" "$srcdir/tests/model/torus_simgrid.cpp" "$work"/*.o -lsimgrid -lm
}

# agree EXTENTS BYTES UNEVEN SCHEME
agree() {
    # sizes are large enough for SimGrid's precision of 1 ns. A flow keeps its share of a link's bandwidth,
    # and the latency is only added: CM02 without limits of TCP
    "$work/torus_simgrid" "$@" --cfg=network/model:CM02 --cfg=network/TCP-gamma:0 --cfg=network/crosstraffic:0 \
        --log=root.thres:warning >"$work/out" 2>"$work/err" || return 1
    awk '{ off = $2 / $4 - 1; print; good = NF == 4 && $2 > 0 && off < 1e-3 && off > -1e-3 } END { exit !good }' "$work/out"
}

ok "builds with SimGrid" build
for scheme in 1 3; do
    ok "16x16x16, Suh-Shin, even sizes: scheme $scheme" agree 16x16x16 64 0 $scheme
    ok "16x16x16, Suh-Shin, senders +-50%: scheme $scheme" agree 16x16x16 1024 0.5 $scheme
    ok "4x12x4, Suh-Shin, extents differ: scheme $scheme" agree 4x12x4 1024 0.5 $scheme
    ok "5x6x7, dimension-ordered: scheme $scheme" agree 5x6x7 1024 0.5 $scheme
    ok "3x4x3x5, dimension-ordered: scheme $scheme" agree 3x4x3x5 4096 0 $scheme
done
tap_done
