#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything that gpuring_gpu can say on a machine with a GPU. Needs the program, this script and a CUDA driver; no MPI,
# nothing is downloaded. Missing tools (nvidia-smi, MPS, compute-sanitizer, NCCL) cost their section only.
#     benchmarks/gpu/run.sh [OPTIONS] DIR [OUT]
# DIR is where gpuring_gpu is, OUT the folder for report.txt and *.json (default DIR/gpu-report).
#     --largest SIZE     of all timed runs (1G)
#     --nccl PATH        libnccl.so.2, or a folder somewhere below which it is; none: without. Default: below DIR, then
#                        where pip installs it for python3, then where the loader finds it
#     --only LIST        sections, with commas: costs right rings latency other shapes sliced mps sanitized
#     --quick            few calls, few blocks: does it run? Nothing to quote
# SECONDS_EACH (300) is the limit of each run. Exit status: how many runs failed.
# shellcheck disable=SC2046,SC2086,SC2317 # words are options on purpose; sections are called by name
set -u
usage() { sed -n '/^#     bench/,/^# SECONDS/s/^# \{0,1\}//p' "$0" >&2; exit 99; }
largest=1G nccl='' only='' quick=0
while [ $# -gt 0 ]; do
    case $1 in
        --largest | --nccl | --only)
            [ $# -gt 1 ] || usage
            declare "${1#--}=$2"
            shift
            ;;
        --quick) quick=1 ;;
        -*) usage ;;
        *) break ;;
    esac
    shift
done
if [ $# = 0 ] || ! [[ $largest =~ ^[0-9]+[kMG]?$ ]]; then usage; fi
dir=$(cd "$1" && pwd) || exit 99
out=${2:-$dir/gpu-report}
limit=${SECONDS_EACH:-300}
program=$dir/gpuring_gpu failed=0
[ -x "$program" ] || { echo "no gpuring_gpu in $dir: make gpuring_gpu there" >&2; exit 99; }
mkdir -p "$out" || exit 99
export CUDA_MODULE_LOADING=EAGER

section() { printf '\n== %s\n' "$*"; }

# ---- sizes, blocks, calls: as asked for, or as few as --largest and --quick say ----

in_bytes() { # SIZE
    case $1 in
        *k) echo $((${1%k} << 10)) ;;
        *M) echo $((${1%M} << 20)) ;;
        *G) echo $((${1%G} << 30)) ;;
        *) echo "$1" ;;
    esac
}
cap() { [ "$(in_bytes "$1")" -le "$(in_bytes "$largest")" ] && echo "$1" || echo "$largest"; }
sizes() { echo "-m $(cap "$1"):$(cap "$2")"; } # MIN MAX
blocks() { echo "-b $((quick && $1 > 2 ? 2 : $1))"; }
calls() { [ $quick = 0 ] && echo "$*" || echo "-i 2 -x 1"; } # OPTIONS...: how many, unless --quick

# ranks, and blocks for each: all of them fit a device of 132 SMs at once
ranks_and_blocks="2:32 4:32 8:16"

# ---- running ----

# run NAME ARGS...: prints the table; with NAME other than - there is also NAME.json
run() {
    local name=$1 rc json='' queues=''
    shift
    # A hardware queue for each rank's stream, or kernels that wait for each other may stand in one. Not for a process per
    # rank: under MPS four such contexts are CUDA_ERROR_OUT_OF_MEMORY.
    [[ " $* " = *" --processes "* ]] || queues="env CUDA_DEVICE_MAX_CONNECTIONS=32"
    echo "\$ gpuring_gpu $*"
    [ "$name" = - ] || { rm -f "$out/$name.json"; json="--json $out/$name.json"; }
    timeout -k 5 "$limit" $queues $prefix "$program" "$@" $json
    rc=$?
    [ $rc = 0 ] || { echo "FAILED: exit status $rc"; failed=$((failed + 1)); }
    return $rc
}

# summary PROGRAM NAME [VARIABLES...]: awk over the JSON, of which each line is a row
summary() {
    local program=$1 name=$2
    shift 2
    [ -s "$out/$name.json" ] || return 0
    awk "$@" '
        function text(key) {
            if (!match($0, "\"" key "\": \"[^\"]*\"")) { return "" }
            return substr($0, RSTART + length(key) + 5, RLENGTH - length(key) - 6)
        }
        function number(key) {
            return match($0, "\"" key "\": [-0-9.e+]+") ? substr($0, RSTART + length(key) + 4) + 0 : 0
        }
        '"$program" "$out/$name.json" || failed=$((failed + 1))
}

# ours_and_nccl NAME: least median time per collective and size, over all algorithms and over as many runs of NCCL
ours_and_nccl() {
    printf '%-16s %12s %12s %-8s %12s %7s\n' "#collective" bytes "gpuring us" by "NCCL us" ratio
    summary '
        /"algorithm"/ {
            cell = text("collective") " " number("bytes"); us = number("us"); by = text("algorithm")
            if (!(cell in seen)) { seen[cell] = 1; order[++n] = cell }
            if (by == "nccl") {
                if (!(cell in nccl) || us < nccl[cell]) { nccl[cell] = us }
            } else if (!(cell in ours) || us < ours[cell]) { ours[cell] = us; who[cell] = by }
        }
        END {
            for (i = 1; i <= n; i++) {
                cell = order[i]; split(cell, c, " ")
                printf "%-16s %12.0f %12.1f %-8s", c[1], c[2], ours[cell], who[cell]
                if (cell in nccl) { printf " %12.1f %7.2f\n", nccl[cell], nccl[cell] / ours[cell] }
                else { printf " %12s %7s\n", "-", "-" }
            }
        }' "$1"
}

# What is wanted of the largest allreduce: 90% of what the memory can do
floor_reached() { # RANKS
    summary '
        text("collective") == "allreduce" && text("algorithm") == "ring" && /"efficiency_fifo_in_memory": [0-9]/ {
            part = number("efficiency_fifo_in_memory") * 100; bytes = number("bytes")
        }
        END {
            if (part == "") { print "memory floor: not measured"; exit }
            verdict = (part >= 90) ? "reached" : "not reached"
            printf "memory floor: allreduce, %d ranks, %.0f bytes: %.1f%%; 90%%: %s\n", ranks, bytes, part, verdict
        }' "floor-$1" -v "ranks=$1"
}

# ---- NCCL ----

find_nccl() {
    case $nccl in
        none) return ;;
        '')
            find "$dir" -maxdepth 5 -name libnccl.so.2 2>/dev/null | head -n 1
            python3 -c 'import nvidia.nccl as n; print(n.__path__[0] + "/lib/libnccl.so.2")' 2>/dev/null
            ldconfig -p 2>/dev/null | sed -n 's/.*libnccl\.so\.2 .*=> //p' | head -n 1
            ;;
        *) if [ -d "$nccl" ]; then find -L "$nccl" -name libnccl.so.2 | head -n 1; else echo "$nccl"; fi ;;
    esac | head -n 1
}

# beside: the options that run NCCL in turn with gpuring, empty where it is missing or does not run
open_nccl() {
    section "NCCL"
    local library
    library=$(find_nccl)
    if [ -z "$library" ]; then
        echo "not measured: no libnccl.so.2; benchmarks/gpu/get_nccl.sh FOLDER fetches it, for --nccl FOLDER"
    elif run - -n 2 -b 2 -m 1k:1k -i 2 -x 0 -c -a ring --nccl "$library" allreduce; then
        beside="--nccl $library"
    else
        [ -n "$nccl" ] || failed=$((failed - 1)) # nobody asked for this one
        echo "NCCL is left out of all that follows"
    fi
}

# ---- sections ----

machine() {
    section "machine"
    date -u '+%Y-%m-%d %H:%M UTC'
    uname -srm
    local what=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,mig.mode.current
    nvidia-smi --query-gpu=$what --format=csv 2>/dev/null || echo "no nvidia-smi"
    nvidia-smi topo -m 2>/dev/null
}

costs() {
    section "costs"
    run costs --costs
}

right() {
    section "right results: every collective, algorithm, odd sizes, types, operations"
    for n in 1 2 3 4 7 8; do
        run - -n $n $(blocks 4) $(sizes 4 4M) -i 2 -x 0 -c -r $((n - 1))
        run - -n $n $(blocks 4) $(sizes 4 4M) -i 2 -x 0 -c --zero-copy -r $((n - 1)) allreduce allgather bcast
    done
    run - -n 4 $(blocks 32) $(sizes 60k 4M) -i 2 -x 0 -c --in-place
    run - -n 3 -b 3 -s 2 -S 1k $(sizes 100 100k) -i 2 -x 0 -c
    for type in int8 uint8 int16 uint16 int32 uint32 int64 uint64 float double; do
        for op in sum prod min max; do
            run - -n 3 -b 2 $(sizes 999 64k) -i 1 -x 0 -c -T $type -O $op allreduce reduce_scatter reduce
        done
    done
    section "right results with a kernel that leaves at every wait"
    run - -n 4 $(blocks 4) $(sizes 4k 1M) -i 2 -x 0 -c --patience 1
}

rings() {
    section "one process, N streams: the kernels' efficiency"
    for shape in $ranks_and_blocks; do
        n=${shape%:*} b=$(blocks "${shape#*:}")
        run "ring-$n" -n "$n" $b $(sizes 1M 64M) -a ring -s 8 -S 128k -c $(calls) $beside
        ours_and_nccl "ring-$n"
        run "floor-$n" -n "$n" $b $(sizes 256M 1G) -a ring -s 8 -S 128k -c $(calls) $beside allreduce
        floor_reached "$n"
        ours_and_nccl "floor-$n"
        run "zero-$n" -n "$n" $b $(sizes 64M 1G) -a ring -s 8 -S 128k -c --zero-copy $(calls) allreduce allgather
    done
}

latency() {
    section "one process, N streams: small messages"
    for shape in $ranks_and_blocks; do
        n=${shape%:*} b=$(blocks "${shape#*:}")
        run "small-$n" -n "$n" $b $(sizes 8 64k) --step 2 -a all --protocol ll -c $(calls -i 200 -x 20) $beside allreduce
        ours_and_nccl "small-$n"
        run "small-simple-$n" -n "$n" $b $(sizes 8 64k) --step 2 -a all -c $(calls -i 200 -x 20) allreduce
        ours_and_nccl "small-simple-$n"
    done
}

other() {
    section "chains, trees, flat, oneshot, twoshot"
    run other-4 -n 4 $(blocks 16) $(sizes 256k 64M) -a all -c $(calls) $beside
    ours_and_nccl other-4
}

shapes() {
    section "slots and channels, allreduce among 4"
    for slot in 32k 128k 512k; do
        run - -n 4 $(blocks 32) $(sizes 64M 64M) -a ring -S $slot $(calls) allreduce
    done
    for b in 4 8 16 32; do
        run - -n 4 $(blocks $b) $(sizes 64M 64M) -a ring $(calls) allreduce
    done
    for s in 2 4 8; do
        run - -n 4 $(blocks 32) -s $s $(sizes 64M 64M) -a ring $(calls) allreduce
    done
}

# One at a time on a device: what waits leaves, and every hand-over may cost a slice of time.
sliced() {
    section "N processes, time-sliced"
    for n in 2 4; do
        run - --processes -n $n $(blocks 4) $(sizes 64k 1M) -i 2 -x 0 -c --patience 500 -a ring
    done
}

mps() {
    section "N processes under MPS"
    if ! command -v nvidia-cuda-mps-control >/dev/null; then
        echo "not measured: no nvidia-cuda-mps-control"
        return
    fi
    CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d) CUDA_MPS_LOG_DIRECTORY=$out
    export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    if nvidia-cuda-mps-control -d; then
        for shape in $ranks_and_blocks; do
            n=${shape%:*} b=$(blocks "${shape#*:}")
            run "mps-$n" --processes -n "$n" $b $(sizes 1M 64M) -a ring -c $beside
        done
        echo quit | nvidia-cuda-mps-control
    else
        echo "not measured: the MPS daemon does not start"
    fi
    rm -rf "$CUDA_MPS_PIPE_DIRECTORY"
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

sanitized() {
    section "compute-sanitizer"
    if ! command -v compute-sanitizer >/dev/null; then
        echo "not run: no compute-sanitizer on PATH"
        return
    fi
    for tool in memcheck racecheck synccheck; do
        prefix="compute-sanitizer --tool $tool --error-exitcode 9"
        run - -n 2 -b 2 -m 4k:64k -i 1 -x 0 -c --timeout 100
        prefix=
    done
}

prefix='' beside=''
every="costs right rings latency other shapes sliced mps sanitized"
for name in ${only//,/ }; do
    [[ " $every " == *" $name "* ]] || usage
done
(
    machine
    open_nccl
    for name in $every; do
        [[ -z $only || ",$only," == *",$name,"* ]] || continue
        $name
    done
    section "$failed runs failed"
    exit "$failed"
) 2>&1 | tee "$out/report.txt"
exit "${PIPESTATUS[0]}"
