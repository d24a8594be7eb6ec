#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring_gpu with NCCL beside it, and benchmarks/gpu/run.sh, on the fake driver with a fake NCCL (tests/fakes/fake_nccl.c):
# results, columns, ratios, refusals. What run.sh says of numbers, and what benchmarks/compare -d asks for, is shown on
# programs that are shell scripts. Prints TAP.
# Environment: srcdir, builddir; FAKECUDA: the folder of the fake driver and libraries.

# shellcheck disable=SC2086,SC2154,SC2317 # work is from lib.sh; the tests are called through ok; options are words
srcdir=$(cd "${srcdir:-$(dirname "$0")/../../..}" && pwd) || exit 99
builddir=$(cd "${builddir:-$srcdir/build}" && pwd) || exit 99
fake=${FAKECUDA:-$builddir/tests/fakes/cuda/lib}
nccl=$fake/fake_nccl.so
export FAKECUDA_SMS=64
unset CUDA_DEVICE_MAX_CONNECTIONS # scripts set it for a process with several ranks only
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

# ---- kernels of a file ----

other_kernels() { # what it says, and that they are right
    gpu 0 -n 2 $small -m 4k:4k -a ring "$@" --image "$builddir/kernels.fatbin" allreduce &&
        grep -qx "# kernels of $builddir/kernels.fatbin" "$work/out" && grep -q '^allreduce .* 0$' "$work/out"
}
kernels_of_the_file() { # PTX in which sums are differences, interpreted: wrong
    sed 's/add\.f32/sub.f32/' "$ptx" >"$work/wrong.ptx"
    FAKECUDA_PTX=1 gpu 1 -n 2 -b 1 -S 1k -m 1k:1k -i 1 -x 0 -c -a ring --image "$work/wrong.ptx" allreduce
}
no_image() {
    echo text >"$work/text"
    refuses '--image: /nowhere/x: No such file' --image /nowhere/x allreduce &&
        refuses 'cannot use the device: .*cuLibraryLoadData' --image "$work/text" allreduce
}

if [ -s "$builddir/kernels.fatbin" ]; then
    ok "kernels of another image" other_kernels
    ok "kernels of another image, processes" other_kernels --processes
    ptx=$(find "$builddir/kernels" -name '*.ptx' 2>/dev/null | sort | tail -n 1)
    [ -z "$ptx" ] || ok "its kernels and no others" kernels_of_the_file
    ok "an image that is none: one line" no_image
fi

# ---- run.sh, from end to end ----

# run STATUS OPTIONS...: $work/out and $work/report tell
run() {
    local wanted=$1 status
    shift
    rm -rf "$work/report"
    LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 1800 "$srcdir/benchmarks/gpu/run.sh" "$@" \
        "${gpu_dir:-$builddir}" "$work/report" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ $status -eq "$wanted" ] || { echo "exit status $status, wanted $wanted"; tail -n 40 "$work/out"; false; }
}
lines() { grep -c -E -e "$1" "$work/out"; } # PATTERN

# The rows that have both sides' times, and a ratio
side_by_side() { lines '^[a-z_]+ +[0-9]+ +[0-9.]+ (ring|chain|tree|flat|oneshot|twoshot) +[0-9.]+ +[0-9]+\.[0-9][0-9]$'; }

from_end_to_end() {
    run 0 --quick --largest 16k --nccl "$nccl" &&
        [ "$(lines '^memory floor: allreduce, [248] ranks, 16384 bytes: [0-9.]+%; 90%: (not )?reached$')" -eq 3 ] &&
        [ "$(side_by_side)" -eq $((3 * 4 + 3 * 12 + 5)) ] && [ "$(lines '^== ')" -eq 13 ] &&
        [ "$(lines '^FAILED')" -eq 0 ] && cmp "$work/out" "$work/report/report.txt" &&
        json "$work/report/small-8.json" 'len(o) == len(n) == 5 * 12 and r[0]["bytes"] == 8' &&
        json "$work/report/floor-4.json" 'all(row["errors"] == 0 for row in r)'
}

a_wrong_nccl_fails() {
    FAKENCCL_WRONG=1 run 1 --quick --largest 1k --only rings --nccl "$nccl" && [ "$(side_by_side)" -eq 0 ] &&
        [ "$(lines '^FAILED: exit status 1')" -eq 1 ] && [ "$(lines '^memory floor')" -eq 3 ]
}

if [ -e "$nccl" ]; then
    nccl_beside_us
    ok "run.sh from end to end" from_end_to_end
    ok "run.sh: an NCCL with wrong results fails, and is left out" a_wrong_nccl_fails
else
    tap_skip "NCCL beside us, run.sh from end to end" "no fake driver in $fake (built with the CUDA toolkit's headers)"
fi

# ---- what run.sh says of given numbers ----

gpu_dir=$work/given
mkdir "$gpu_dir"
cat >"$gpu_dir/gpuring_gpu" <<'END'
#!/bin/bash
# Rows that only differ in what matters here; the environment has EFFICIENCY, and FAIL: what fails.
echo "table of: $*"
echo "queues: ${CUDA_DEVICE_MAX_CONNECTIONS-none}"
[[ -z ${FAIL-} || $* != *$FAIL* ]] || exit 1
while [ $# -gt 0 ] && [ "$1" != --json ]; do [ "$1" != --nccl ] || nccl=1; shift; done
[ $# -gt 0 ] || exit 0
row() { echo "{\"collective\": \"$1\", \"algorithm\": \"$2\", \"bytes\": $3, \"us\": $4, \"best_us\": 1, $5}"; }
other='"efficiency_fifo_in_memory": 0.999'
{
    echo '{"ranks": 2, "slot_bytes": 5, "results": ['
    row allreduce ring 1048576 10 "$other"
    row allreduce ring 1073741824 30 "\"efficiency_fifo_in_memory\": $EFFICIENCY"
    [ -z "${nccl-}" ] || row allreduce nccl 1073741824 61 '"efficiency_fifo_in_memory": null'
    row allreduce tree 1073741824 20 "$other"
    [ -z "${nccl-}" ] || row allreduce nccl 1073741824 50 '"efficiency_fifo_in_memory": null'
    row allgather ring 1073741824 4 "$other"
} >"$2"
END
chmod +x "$gpu_dir/gpuring_gpu"
touch "$work/libnccl.so.2"

floor() { # EFFICIENCY VERDICT
    EFFICIENCY=$1 run 0 --nccl none --only rings &&
        [ "$(lines "^memory floor: allreduce, [248] ranks, 1073741824 bytes: $2\$")" -eq 3 ]
}

the_least_counts() { # on both sides
    EFFICIENCY=0.5 run 0 --nccl "$work" --only latency &&
        [ "$(lines '^allreduce +1073741824 +20.0 tree +50.0 +2.50$')" -eq 3 ] &&
        [ "$(lines '^allreduce +1048576 +10.0 ring +- +-$')" -eq 6 ] &&
        [ "$(lines '^allgather .* 4.0 ring +- +-$')" -eq 6 ]
}

no_nccl() {
    EFFICIENCY=0.5 run 0 --nccl "$work/given" --only rings,latency &&
        [ "$(lines '^not measured: no libnccl.so.2; benchmarks/gpu/get_nccl.sh')" -eq 1 ] &&
        [ "$(side_by_side)" -eq 0 ] && [ "$(lines '^table of.*nccl')" -eq 0 ] && [ "$(lines '^table of')" -eq 15 ]
}

# What is asked for, at full size: ranks, sizes, blocks, and NCCL with the same
sizes_of_a_device() {
    EFFICIENCY=0.5 run 0 --nccl "$work" &&
        for shape in "2 -b 32" "4 -b 32" "8 -b 16"; do
            [ "$(lines "^table of: -n $shape -m 1M:64M -a ring -s 8 -S 128k -c --nccl $work/libnccl.so.2 --")" -eq 1 ] &&
                [ "$(lines "^table of: -n $shape -m 256M:1G -a ring -s 8 -S 128k -c --nccl .* allreduce ")" -eq 1 ] &&
                [ "$(lines "^table of: -n $shape -m 8:64k --step 2 -a all --protocol ll -c -i 200 -x 20 --nccl ")" -eq 1 ] || return 1
        done
}

# more hardware queues where one process has the ranks, and not under MPS, where the contexts then have no memory
queues_of_one_process() {
    mkdir -p "$work/tools"
    printf '#!/bin/sh\n' >"$work/tools/nvidia-cuda-mps-control"
    chmod +x "$work/tools/nvidia-cuda-mps-control"
    EFFICIENCY=0.5 PATH=$work/tools:$PATH run 0 --nccl none --only rings,mps && [ "$(lines '^table of: --processes')" -eq 3 ] &&
        [ "$(lines '^queues: none$')" -eq 3 ] && [ "$(lines '^queues: 32$')" -eq 9 ]
}

failures_are_counted() {
    EFFICIENCY=0.5 FAIL='-n 4' run 5 --nccl none --only rings,latency &&
        [ "$(lines '^FAILED: exit status 1$')" -eq 5 ] && [ "$(lines '^memory floor')" -eq 2 ]
}

of_the_wheel() {
    python3 - "$work/nvidia.whl" <<'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("nvidia/nccl/include/nccl.h", "header")
    wheel.writestr("nvidia/nccl/lib/libnccl.so.2", "library")
END
    "$srcdir/benchmarks/gpu/get_nccl.sh" "$work/got" "$work/nvidia.whl" >"$work/out" 2>"$work/err" &&
        [ "$(cat "$work/got/libnccl.so.2")" = library ] && [ "$(ls "$work/got")" = libnccl.so.2 ]
}

ok "run.sh: the memory floor, reached" floor 0.9 '90.0%; 90%: reached'
ok "run.sh: the memory floor, not reached" floor 0.894 '89.4%; 90%: not reached'
ok "run.sh: the least time of each side counts" the_least_counts
ok "run.sh: without NCCL one line, and all else" no_nccl
ok "run.sh: what a device is asked" sizes_of_a_device
ok "run.sh: hardware queues for the ranks of one process" queues_of_one_process
ok "run.sh: failures are counted" failures_are_counted
ok "run.sh: an unknown section" run 99 --only none
ok "run.sh: a size that is none" run 99 --largest 3T
ok "get_nccl.sh takes the library out of a wheel" of_the_wheel

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
