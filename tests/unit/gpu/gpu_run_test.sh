#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring_gpu with NCCL beside it, on the fake driver with a fake NCCL (tests/fakes/fake_nccl.c): results, columns,
# ratios, refusals. What benchmarks/compare -d asks for is shown on programs that are shell scripts. Prints TAP.
# Environment: srcdir, builddir; FAKECUDA: the folder of the fake driver and libraries.

# shellcheck disable=SC2086,SC2154,SC2317 # work is from lib.sh; the tests are called through ok; options are words
srcdir=$(cd "${srcdir:-$(dirname "$0")/../../..}" && pwd) || exit 99
builddir=$(cd "${builddir:-$srcdir/build}" && pwd) || exit 99
fake=${FAKECUDA:-$builddir/tests/fakes/cuda/lib}
nccl=$fake/fake_nccl.so
export FAKECUDA_SMS=64
. "$srcdir/tests/lib.sh"
make_work
export TMPDIR=$work # where the fake NCCL's ranks meet

# gpu STATUS ARGS...: $work/out and $work/err tell; right if it ends with that status
gpu() {
    local wanted=$1 status
    shift
    LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 600 "$builddir/gpuring_gpu" "$@" \
        >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ $status -eq "$wanted" ] || { echo "exit status $status, wanted $wanted"; false; }
}
small='-b 2 -S 4k -i 2 -x 1 -c'

json() { # FILE EXPRESSION about the rows, r, those of NCCL, n, ours, o
    python3 - "$@" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
r = d["results"]
n = [row for row in r if row["algorithm"] == "nccl"]
o = [row for row in r if row["algorithm"] != "nccl"]
sys.exit(not eval(sys.argv[2]))
END
}

# ---- NCCL beside us ----

# Each row of ours is followed by one of NCCL's, of the same collective and size, and all are right.
beside() { # ROWS ARGS...
    local rows=$1
    shift
    gpu 0 $small --nccl "$nccl" --json "$work/json" "$@" &&
        [ "$(awk '!/^#/ { printf "%s%s ", $2 == "nccl" ? "nccl" : "ours", $NF }' "$work/out")" \
            = "$(printf 'ours0 nccl0 %.0s' $(seq "$rows"))" ] &&
        json "$work/json" "len(o) == len(n) == $rows" &&
        json "$work/json" 'all((a["collective"], a["bytes"]) == (b["collective"], b["bytes"]) for a, b in zip(o, n))' &&
        json "$work/json" 'd["nccl"] == "2.30.3" and all(row["errors"] == 0 for row in r)'
}

ratio_is_of_times() {
    FAKENCCL_SLEEP=300000 gpu 0 -n 2 $small -m 1k:1k --nccl "$nccl" --json "$work/json" -a ring allreduce &&
        json "$work/json" 'n[0]["us"] > 300000 and o[0]["ratio"] is None' &&
        json "$work/json" 'abs(n[0]["ratio"] * o[0]["us"] / n[0]["us"] - 1) < 1e-6'
}

alone() { # without NCCL there is neither row nor column
    gpu 0 -n 2 $small -m 1k:1k -a ring allreduce --json "$work/json" && ! grep -qi 'nccl\|ratio' "$work/out" &&
        json "$work/json" 'd["nccl"] is None and len(o) == 1 and not n'
}

wrong_data_is_seen() { # in NCCL's rows, not in ours
    FAKENCCL_WRONG=1 gpu 1 -n 3 $small -m 4k:4k -a ring --nccl "$nccl" --json "$work/json" "$@" &&
        json "$work/json" 'n and all(row["errors"] > 0 for row in n) and all(row["errors"] == 0 for row in o)'
}

steps() {
    gpu 0 -n 2 -b 1 -i 1 -x 0 -m 8:64k --step 2 -a tree allreduce --json "$work/json" &&
        json "$work/json" '[row["bytes"] for row in o] == [8 << k for k in range(14)]'
}

reduces() { # TYPE
    gpu 0 -n 3 $small -m 999:999 -a ring -T "$1" allreduce && grep -q '^allreduce .* 0$' "$work/out" &&
        gpu 0 -n 3 $small -m 999:999 -a ring -T "$1" -O prod reduce_scatter && grep -q '^reduce_scatter .* 0$' "$work/out"
}

# refuses PATTERN ARGS...: with one line
refuses() {
    local pattern=$1
    shift
    gpu 2 -n 2 -m 4:4 "$@" && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q -e "^gpuring_gpu: $pattern" "$work/err"
}
too_old() { FAKENCCL_VERSION=22907 refuses "--nccl: .* is NCCL 2.29.7, .*2.30.3 or newer" --nccl "$nccl" "$@"; }

nccl_beside_us() {
    ok "NCCL beside us, all collectives" beside 14 -n 4 -m 4k:64k -a all allreduce allgather --step 16
    ok "NCCL beside us, roots" beside 16 -n 3 -m 100:100k --step 1000 -r 2 -a all bcast reduce reduce_scatter
    ok "NCCL beside us, in place" beside 7 -n 4 -m 4k:4k -a all --in-place allreduce allgather reduce_scatter
    for case in "int8 max" "uint8 min" "int32 prod" "uint32 sum" "int64 min" "uint64 max" "double sum"; do
        # shellcheck disable=SC2086 # a type and an operation
        set -- $case
        ok "NCCL beside us, $case" beside 3 -n 3 -m 999:999 -a ring -T "$1" -O "$2" -r 1 \
            allreduce reduce_scatter allgather
    done
    for case in half bfloat16; do # which the fake NCCL only moves
        ok "NCCL beside us, $case" beside 1 -n 3 -m 999:999 -a ring -T "$case" allgather
        ok "$case, reduced" reduces "$case"
    done
    ok "NCCL beside us, processes" beside 3 -n 3 -m 64k:64k -a ring --processes
    ok "the ratio is that of the times" ratio_is_of_times
    ok "without NCCL" alone
    ok "wrong data of NCCL's are seen" wrong_data_is_seen
    ok "wrong data of NCCL's are seen, processes" wrong_data_is_seen --processes
    ok "sizes by another factor" steps
    ok "no library: one line" refuses "--nccl: /nowhere.so: " --nccl /nowhere.so
    ok "another library: one line" refuses "--nccl: .*ncclGetVersion" --nccl "$fake/libcuda.so.1"
    ok "too old: one line" too_old
    ok "too old: one line, processes" too_old --processes
    ok "a type that NCCL has not" refuses "-T: 'int16' is not valid" --nccl "$nccl" -T int16
    ok "a file that cannot be written" refuses "--json: /nowhere/x: " --json /nowhere/x
}

if [ -e "$nccl" ]; then
    nccl_beside_us
else
    tap_skip "NCCL beside us" "no fake driver in $fake (built with the CUDA toolkit's headers)"
fi

# ---- benchmarks/compare -d ----

. "$srcdir/tests/fakes/osu.sh"

compare() { # ARGS...
    : >"$CALLS"
    "$srcdir/benchmarks/compare" --builddir="$work/fake" --quick --configs=ob1+tuned --csv="$work/csv" "$@" \
        >"$work/out" 2>"$work/err" </dev/null
}
called() { grep -v verbose "$CALLS" | grep -c -E -e "$1"; } # PATTERN: so often, probes left out

# stock twice and gpuring once, in two rounds; no floor
compare_asks_for() { # PATTERN ARGS...
    local pattern=$1
    shift
    compare "$@" && [ "$(called "$pattern")" -eq 6 ] && [ "$(called .)" -eq 6 ] &&
        grep -q '^# failed: no floor: it is that of host memory' "$work/out" && grep -q '^# device: cuda$' "$work/out"
}
compare_on_the_host() { compare bcast && [ "$(called ' -d ')" -eq 0 ] && grep -q '^# floor:' "$work/out"; }
compare_refuses() { ! compare -d "$1" bcast && grep -q "^compare: -d: '$1' is not valid; allowed: host " "$work/err"; }

ok "compare -d cuda" compare_asks_for 'gpuring_bench bcast -m 8:8 -d cuda ' -d cuda -m 8:8 bcast
ok "compare -d cuda --osu" compare_asks_for 'osu_allreduce -m 4:8 -d cuda$' -d cuda -m 4:8 --osu="$work/osu" allreduce
ok "compare on the host: no -d" compare_on_the_host
ok "compare -d: what there is" compare_refuses disk

tap_done
