#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# For a machine with a GPU that is at hand for half an hour. Runs in the folder of `make gpu-kit` and needs nothing but
# that folder, bash, awk, tar and a CUDA driver: no network, no Open MPI, no packages.
#     first-contact.sh 1|2|3|4 OUT [--quick]
#       1  is it right: the device's attributes, kernels against the host's executor, links by CUDA IPC, pointers, costs
#       2  where does time go: rates by blocks and slots, hops, launches, one profile
#       3  the MPI component: ranks that share the device by time and under MPS, NCCL beside it, memcheck
#       4  shared: 2, 4, 8 ranks of the component beside one kernel without a library, with and without MPS
# Leaves OUT/first-contact-N/report.txt (Markdown, for docs) and OUT/first-contact-N.tar.gz with all files.
# --quick: few and small cases, which show that it runs; nothing to quote. For the fake driver.
# Each part ends within 8 minutes, each step within its own limit. A step that fails does not stop the others: the
# report names it. NCCL is what $NCCL names, else a libnccl.so.2 in the kit, of python3 or of the loader. TOTAL_LIMIT (470)
# is the seconds of all steps together.
# Exit status: how many steps failed; 99: called wrongly.
# shellcheck disable=SC2317 # steps are called by name
set -u
usage() { sed -n '/^#     first/,/^# Exit/s/^# \{0,1\}//p' "$0" >&2; exit 99; }

quick=0
words=()
for word in "$@"; do
    case $word in
        --quick) quick=1 ;;
        -*) usage ;;
        *) words+=("$word") ;;
    esac
done
[ ${#words[@]} -eq 2 ] || usage
part=${words[0]}
case $part in
    1) title="is it right" ;;
    2) title="where does time go" ;;
    3) title="the MPI component" ;;
    4) title="ranks that share the device" ;;
    *) usage ;;
esac
kit=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 99
[ -s "$kit/MANIFEST.txt" ] || { echo "$kit is no kit: make gpu-kit makes one" >&2; exit 99; }
name=first-contact-$part
mkdir -p "${words[1]}" || exit 99
out=$(cd "${words[1]}" && pwd) || exit 99
dir=$out/$name
rm -rf "$dir" "$dir.tar.gz"
mkdir "$dir" || exit 99

export CUDA_MODULE_LOADING=EAGER
# For a process with the streams of several ranks: a hardware queue for each, or kernels that wait for each other may stand
# in one. Not for a process per rank: under MPS four such contexts are CUDA_ERROR_OUT_OF_MEMORY.
queues=CUDA_DEVICE_MAX_CONNECTIONS=32
work=$(mktemp -d) || exit 99
total=${TOTAL_LIMIT:-470}
SECONDS=0

manifest() { sed -n "s/^$1 *//p" "$kit/MANIFEST.txt"; }

# ---- programs of the kit ----

# With its libraries before the machine's; with its libc only where the machine's is too old for them.
libraries=$kit/lib:${LD_LIBRARY_PATH:-}
loader=() search=(LD_LIBRARY_PATH="$libraries")
have=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/.* //')
if [ "$(printf '%s\n%s\n' "$(manifest glibc)" "${have:-0}" | sort -V | tail -n 1)" != "${have:-0}" ] ||
    [ -n "${KIT_LIBC:-}" ]; then
    # not in LD_LIBRARY_PATH: the machine's own programs must not find this libc
    loader=("$kit/libc/ld-linux-x86-64.so.2" --library-path "$kit/libc:$libraries") search=()
fi

child='' end=0
# within COMMAND...: with what is left of the step's and of the part's time. Status 124: that ran out.
within() {
    local left=$(((end < total ? end : total) - SECONDS)) status
    [ "$left" -gt 0 ] || { echo "no time left for: $*"; return 124; }
    timeout -k 5 "$left" "$@" </dev/null &
    child=$!
    wait "$child"
    status=$?
    child=
    [ $status -ne 124 ] || echo "stopped after $left s: $*"
    return $status
}

carried() { # COMMAND...: COMMAND is a path in the kit
    within env "${search[@]}" $queues "${loader[@]}" "$kit/$1" "${@:2}"
}

# gpu ARGS...: gpuring_gpu; prefix[] goes before it
prefix=()
gpu() {
    local own=$queues
    [[ " $* " != *" --processes "* ]] || own=
    echo "\$ gpuring_gpu $*"
    within env "${search[@]}" $own "${prefix[@]}" "${loader[@]}" "$kit/bin/gpuring_gpu" "$@"
}

# mpi NP ARGS...: gpuring_bench under the kit's mpirun; prefix[] goes before it
mpi() {
    local np=$1
    shift
    echo "\$ mpirun -np $np --mca coll gpuring gpuring_bench $*"
    within env "${search[@]}" OPAL_PREFIX="$kit/ompi" PMIX_PKGLIBDIR="$kit/pmix/lib/pmix" \
        PMIX_PKGDATADIR="$kit/pmix/share/pmix" OMPI_MCA_mca_base_param_files=/dev/null \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        "${loader[@]}" "$kit/$(manifest bindir)/mpirun" --oversubscribe --mca mpi_yield_when_idle 1 \
        --mca plm isolated --mca pml ob1 --mca btl vader,self --mca btl_vader_single_copy_mechanism none \
        --mca coll gpuring --mca coll_gpuring_report summary -np "$np" \
        "${prefix[@]}" "${loader[@]}" "$kit/bin/gpuring_bench" "$@"
}

# ---- steps ----

results=() failed=0
# step NAME LIMIT: runs NAME, which returns 0, another status where it failed, or 77 where it was not measured
step() {
    local since=$SECONDS status verdict
    end=$((SECONDS + $2))
    current=$1
    echo "$(printf '%3d s' "$SECONDS") $1"
    "$1" >"$dir/$1.txt" 2>&1
    status=$?
    case $status in
        0) verdict=passed ;;
        77) verdict="not measured" ;;
        124) verdict="FAILED: out of time" ;;
        *) verdict="FAILED: exit status $status" ;;
    esac
    [[ $verdict != FAILED* ]] || failed=$((failed + 1))
    results+=("$1|$verdict|$((SECONDS - since))")
    current=
    echo "      $verdict"
}
current=

not_measured() { echo "not measured: $*"; return 77; }

# all COMMANDS...: each is a line of words; runs all, returns the first bad status
all() {
    local command status=0 one
    for command in "$@"; do
        # shellcheck disable=SC2086 # words
        $command
        one=$?
        [ $one -eq 0 ] || echo "FAILED: exit status $one"
        [ $status -ne 0 ] || status=$one
    done
    return $status
}

if [ $quick = 1 ]; then sized() { echo "$1"; }; else sized() { echo "$2"; }; fi # QUICK FULL

machine() {
    uname -srm
    echo "processors $(getconf _NPROCESSORS_ONLN), libc ${have:-unknown}, the kit's programs need $(manifest glibc)"
    [ ${#loader[@]} -eq 0 ] || echo "run with the kit's own libc"
    local what=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,mig.mode.current
    within nvidia-smi --query-gpu=$what --format=csv 2>/dev/null || echo "no nvidia-smi"
    within nvidia-smi topo -m 2>/dev/null
    return 0
}

# Nothing is missing that programs need before they come to the device.
programs() {
    local command status=0
    for command in "carried bin/gpuring_gpu -h" "mpi 1 -h"; do
        # shellcheck disable=SC2086 # words
        if $command >"$work/said" 2>&1; then
            echo "$command: starts"
        else
            status=$?
            echo "$command: FAILED: exit status $status"
            tail -n 20 "$work/said"
        fi
    done
    return $status
}

attributes() { gpu --attributes; }

# Every kernel, collective and algorithm, bit for bit as the host's steps, one case in 10 and then all. The last line is
# one for docs/results/gpu-runs.csv.
kernels() {
    local image=$kit/kernels.fatbin thin status=0 card
    [ -s "$image" ] || { echo "no image of the kernels: $image"; return 1; }
    export KERNEL_IMAGE=$image CMOCKA_MESSAGE_OUTPUT=STDOUT KERNEL_TEST_LIMIT=20
    for thin in $(sized 400 "10 1"); do
        echo "\$ KERNEL_IMAGE=${image##*/} KERNEL_TEST_THIN=$thin kernel_test"
        KERNEL_TEST_THIN=$thin carried bin/kernel_test || { status=$?; break; }
    done
    unset KERNEL_IMAGE CMOCKA_MESSAGE_OUTPUT KERNEL_TEST_LIMIT
    [ $status -eq 0 ] || return $status
    card=$(within nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
    awk -v date="$(date -u '+%Y-%m-%d')" -v card="${card:-unknown, unknown}" -v commit="$(manifest gpuring)" \
        -v kernels="$(manifest kernels)" '
        /^\[  PASSED  \] [0-9]+ test/ { tests = $4 }
        /^# launches/ { launches += $3 }
        END { sub(/, /, ",", card)
              printf "%s,%s,%s,%s,%s passed in %d launches\n", date, card, commit, kernels, tests, launches }' "$dir/kernels.txt"
}

# One process, its ranks on streams of one device.
streams() {
    if [ $quick = 1 ]; then
        all "gpu -n 2 -b 2 -S 4k -s 2 -m 4k:4k -i 1 -x 0 -c allreduce bcast" \
            "gpu -n 3 -b 1 -S 2k -s 2 -m 4k:4k -i 1 -x 0 -c -a ring --patience 1 allgather"
        return
    fi
    all "gpu -n 2 -b 4 -m 4:4M --step 32 -i 2 -x 0 -c -r 1" \
        "gpu -n 4 -b 4 -m 4:4M --step 32 -i 2 -x 0 -c -r 3" \
        "gpu -n 8 -b 4 -m 4:4M --step 32 -i 2 -x 0 -c -r 7" \
        "gpu -n 3 -b 4 -m 60:600k --step 100 -i 2 -x 0 -c --in-place" \
        "gpu -n 5 -b 2 -s 2 -m 4:16k -i 2 -x 0 -c --protocol ll" \
        "gpu -n 5 -b 2 -s 2 -m 4:16k -i 2 -x 0 -c --protocol ll128" \
        "gpu -n 4 -b 4 -m 4k:1M --step 16 -i 2 -x 0 -c --patience 1" \
        "gpu -n 5 -b 4 -m 4:4M --step 32 -i 2 -x 0 -c --zero-copy allreduce allgather bcast"
}

# A process for each rank: links and, with zero copy, buffers mapped by CUDA IPC.
ipc() {
    if [ $quick = 1 ]; then
        all "gpu --processes -n 2 -b 1 -S 4k -m 4k:4k -i 1 -x 0 -c -a ring allreduce" \
            "gpu --processes -n 2 -b 1 -S 4k -m 4k:4k -i 1 -x 0 -c -a ring --zero-copy allgather"
        return
    fi
    all "gpu --processes -n 2 -b 4 -m 64k:1M -i 2 -x 0 -c -a ring" \
        "gpu --processes -n 2 -b 4 -m 64k:1M -i 2 -x 0 -c -a ring --zero-copy allreduce allgather" \
        "gpu --processes -n 4 -b 4 -m 64k:64k -i 2 -x 0 -c -a ring"
}

# Also classifies pointers; a wrong answer is an error.
costs() { gpu --costs; }

# ---- where time goes ----

# json NAME ARGS...: gpuring_gpu without its table, JSON in NAME.json
json() {
    echo "\$ gpuring_gpu ${*:2}"
    gpu "${@:2}" --json "$dir/$1.json" >"$dir/$1.log" 2>&1 || { local status=$?; tail -n 5 "$dir/$1.log"; return $status; }
}

# rows NAME PROGRAM [VARIABLES...]: awk over the JSON, of which each line is a row
rows() {
    awk "${@:3}" '
        function text(key) {
            if (!match($0, "\"" key "\": \"[^\"]*\"")) { return "" }
            return substr($0, RSTART + length(key) + 5, RLENGTH - length(key) - 6)
        }
        function number(key) {
            return match($0, "\"" key "\": [-0-9.e+]+") ? substr($0, RSTART + length(key) + 4) + 0 : 0
        }
        !/"algorithm"/ { next }
        '"$2" "$dir/$1.json"
}

# A block is what an SM runs: what all accesses of a row's time come to for each of them, while they all fit the device.
rate_rows() { # RANKS BLOCKS
    rows "rates-$1-$2" '{
        moved = (number("user_bytes_per_byte") + number("fifo_bytes_per_byte")) * number("bytes")
        printf "%-15s %-8s %6d %6d %11.0f %10.1f %9.2f %9.1f\n", text("collective"), text("algorithm"), ranks, blocks,
            number("bytes"), number("us"), moved / number("us") / 1000 / ranks / blocks, moved / number("us") / 1000
    }' -v "ranks=$1" -v "blocks=$2"
}

rates_of() { # RANKS
    local ranks=$1 blocks status=0
    for blocks in $(sized "1 2" "1 2 4 8 16 32"); do
        json "rates-$ranks-$blocks" -n "$ranks" -b "$blocks" -a ring -m "$(sized 4k:4k 64M:64M)" -i "$(sized 2 5)" -x 1 \
            allreduce allgather reduce_scatter || status=$?
    done
    printf '%-15s %-8s %6s %6s %11s %10s %9s %9s\n' "# collective" algo ranks blocks bytes us "GB/s each" "GB/s all"
    for blocks in $(sized "1 2" "1 2 4 8 16 32"); do
        rate_rows "$ranks" "$blocks"
    done
    return $status
}

rates() {
    local status=0 ranks
    for ranks in $(sized 2 "2 4"); do
        rates_of "$ranks" || status=$?
    done
    echo "GB/s each: bytes read and written, of callers' buffers and of slots, per second and block. One block runs on an SM."
    return $status
}

slots() {
    local status=0 slot n
    for slot in $(sized 4k "32k 128k 512k"); do
        for n in $(sized 2 "2 4 8"); do
            json "slots-$slot-$n" -n 4 -b "$(sized 2 16)" -a ring -s "$n" -S "$slot" -m "$(sized 16k:16k 64M:64M)" -i 3 -x 1 \
                allreduce || status=$?
            rows "slots-$slot-$n" '{
                printf "%d slots of %s: %.1f us, %.1f GB/s algbw\n", slots, size, number("us"), number("algbw_GBs")
            }' -v "slots=$n" -v "size=$slot"
        done
    done
    return $status
}

# Small calls: an allreduce's ring among N has 2(N-1) hops, so the times' slope over N is twice a hop.
hops() {
    local status=0 protocol ranks
    for protocol in simple ll; do
        for ranks in $(sized "2 3" "2 4 8"); do
            json "hops-$protocol-$ranks" -n "$ranks" -b 1 -a ring --protocol "$protocol" -m 1k:1k -i "$(sized 3 200)" \
                -x "$(sized 1 20)" allreduce || status=$?
            rows "hops-$protocol-$ranks" '{
                printf "%-7s ring, %d ranks, %d hops: median %.2f us, best %.2f us\n", protocol, ranks, 2 * (ranks - 1),
                    number("us"), number("best_us")
            }' -v "protocol=$protocol" -v "ranks=$ranks"
        done
        [ ! -s "$dir/hops-$protocol-$(sized 3 8).json" ] || [ ! -s "$dir/hops-$protocol-2.json" ] ||
            cat "$dir/hops-$protocol-2.json" "$dir/hops-$protocol-$(sized 3 8).json" | awk -v "more=$(sized 2 12)" '
                match($0, /"us": [-0-9.e+]+/) { us[++n] = substr($0, RSTART + 6, RLENGTH - 6) }
                END { if (n == 2) { printf "  per hop, launches of one thread included: %.2f us\n", (us[2] - us[1]) / more } }'
    done
    return $status
}

# What a launch costs, until it is put, until its end is seen, and again after a wait in vain.
launches() { gpu --costs; }

profile() {
    local tool
    if tool=$(command -v nsys); then
        prefix=("$tool" profile --stats=true --force-overwrite=true -o "$dir/nsys")
    elif tool=$(command -v ncu); then
        prefix=("$tool" --launch-count 4 --log-file "$dir/ncu.txt")
    else
        not_measured "neither nsys nor ncu on PATH"
        return
    fi
    # one kernel at a time under ncu: one rank, which waits for nobody
    gpu -n "$([[ $tool == */ncu ]] && echo 1 || echo 2)" -b 16 -a ring -m 64M:64M -i 2 -x 1 allreduce
    local status=$?
    prefix=()
    [ ! -s "$dir/ncu.txt" ] || cat "$dir/ncu.txt"
    return $status
}

# ---- the MPI component ----

# mpi_kernels NP ARGS...: on memory that kernels reach: the component has to be there, and to launch them
mpi_kernels() {
    mpi "$@" >"$work/said" 2>&1
    local status=$?
    cat "$work/said"
    if [ $status -eq 0 ] && ! grep -q '^# [a-z_]* *cuda ' "$work/said"; then
        echo "the component's report has no call on devices"
        return 1
    fi
    return $status
}

# Ranks that share the device by time.
mpi_shared() {
    if [ $quick = 1 ]; then
        mpi_kernels 2 allreduce -d cuda -m 1K:4K -i 2 -x 1 -c
        return
    fi
    all "mpi_kernels 2 allreduce allgather bcast reduce_scatter -d cuda -m 1K:16M -i 5 -x 1 -c" \
        "mpi_kernels 4 allreduce -d cuda -m 1K:1M -i 5 -x 1 -c"
}

mpi_kinds() {
    all "mpi_kernels 2 allreduce -d managed -m 4K:4K -i 2 -x 1 -c" "mpi 2 allreduce -d pinned -m 4K:4K -i 2 -x 1 -c" \
        "mpi_kernels 2 allreduce -d cuda,host -m 4K:4K -i 2 -x 1 -c"
}

# under_mps COMMANDS...: as `all` runs them, under the MPS daemon
under_mps() {
    if ! command -v nvidia-cuda-mps-control >/dev/null; then
        not_measured "no nvidia-cuda-mps-control"
        return
    fi
    export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps
    mkdir -p "$work/mps"
    local status=77
    if within nvidia-cuda-mps-control -d; then
        all "$@"
        status=$?
        echo quit | timeout 20 nvidia-cuda-mps-control
    else
        echo "not measured: the MPS daemon does not start"
    fi
    cp "$work"/mps/*.log "$dir/" 2>/dev/null
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    return $status
}

with_mps() {
    local ranks commands=()
    for ranks in $(sized 2 "2 4 8"); do
        commands+=("mpi_kernels $ranks allreduce -d cuda -m $(sized 1K:4K 1K:64M) -i 5 -x 2 -c")
    done
    under_mps "${commands[@]}" "gpu --processes -n 2 -b $(sized 1 32) -a ring -m $(sized 4k:4k 1M:64M) -c allreduce"
}

# What one kernel can do, and what the component does, in turns.
shared_by() { # RANKS
    local status=0
    if [ -x "$kit/bin/one_kernel" ] && [ $quick = 0 ]; then
        within "$kit/bin/one_kernel" "$1" 256 || status=$?
    else
        echo "one_kernel: not measured"
    fi
    mpi_kernels "$1" allreduce -d cuda -m "$(sized 1K:4K 8:256M)" -i "$(sized 2 20)" -x "$(sized 1 5)" -c ||
        status=$?
    [ $quick = 1 ] || mpi_kernels "$1" allgather bcast reduce reduce_scatter alltoall -d cuda -m 8:16M -i 20 -x 5 -c ||
        status=$?
    return $status
}

shared_2() { shared_by 2; }
shared_4() { shared_by 4; }
shared_8() { shared_by 8; }
shared_mps() {
    if [ $quick = 1 ]; then under_mps "shared_by 2"; else under_mps "shared_by 2" "shared_by 4" "shared_by 8"; fi
}

find_nccl() {
    {
        echo "${NCCL:-}"
        find "$kit" -name libnccl.so.2 2>/dev/null
        python3 -c 'import nvidia.nccl as n; print(n.__path__[0] + "/lib/libnccl.so.2")' 2>/dev/null
        ldconfig -p 2>/dev/null | sed -n 's/.*libnccl\.so\.2 .*=> //p'
    } | while read -r file; do [ ! -s "$file" ] || echo "$file"; done | head -n 1
}

nccl_beside() {
    local library
    library=$(find_nccl)
    [ -n "$library" ] || { not_measured "no libnccl.so.2; NCCL=FILE names one"; return; }
    gpu -n 2 -b 2 -m 4k:4k -i 2 -x 1 -c -a ring --nccl "$library" allreduce
    local status=$?
    if [ $status -eq 2 ] && [ -z "${NCCL:-}" ]; then
        not_measured "this NCCL does not run so, and nobody asked for it"
        return
    fi
    [ $status -eq 0 ] && [ $quick = 0 ] || return $status
    all "gpu -n 4 -b 32 -m 8:64k --step 8 -i 100 -x 20 -c --protocol ll --nccl $library allreduce" \
        "gpu -n 4 -b 32 -m 1M:256M --step 16 -a ring -c --nccl $library" \
        "gpu -n 8 -b 16 -m 1M:256M --step 16 -a ring -c --nccl $library allreduce"
}

memcheck() {
    local status tool
    if ! tool=$(command -v compute-sanitizer); then
        not_measured "no compute-sanitizer on PATH"
        return
    fi
    prefix=("$tool" --tool memcheck --error-exitcode 9)
    all "gpu -n 2 -b 2 -S 4k -m 4k:4k -i 1 -x 0 -c --timeout 60 -a ring" \
        "mpi_kernels 2 allreduce -d cuda -m 4K:4K -i 1 -x 0 -c"
    status=$?
    prefix=()
    return $status
}

# ---- the report ----

report() {
    echo "# First contact with a GPU, part $part: $title"
    echo
    echo "$(date -u '+%Y-%m-%d %H:%M') UTC, $SECONDS s; gpuring $(manifest gpuring), Open MPI $(manifest open_mpi)."
    [ $quick = 0 ] || echo "Few and small cases (--quick): the numbers say nothing."
    [ -z "$current" ] || echo "Ended by a signal in the step $current; what it said so far is below."
    echo
    echo "| step | result | seconds |"
    echo "|---|---|---|"
    local row step
    for row in "${results[@]}" ${current:+"$current|FAILED: interrupted|"}; do
        echo "| ${row//|/ | } |"
    done
    echo
    echo "$failed step$([ "$failed" -eq 1 ] || echo s) failed."
    for row in "${results[@]}" ${current:+"$current|"}; do
        step=${row%%|*}
        printf '\n## %s\n\n' "$step"
        if [ "$(wc -l <"$dir/$step.txt")" -le 140 ]; then
            cat "$dir/$step.txt"
        else
            head -n 60 "$dir/$step.txt"
            echo "... (all of it: $step.txt)"
            tail -n 70 "$dir/$step.txt"
        fi | awk '!/^#/ || !seen[$0]++ { print "    " $0 }' # heads of tables once
    done
}

# shellcheck disable=SC2329 # called by traps
finish() {
    trap - EXIT INT TERM
    [ -z "$child" ] || kill "$child" 2>/dev/null
    [ -z "$current" ] || failed=$((failed + 1))
    [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ] || [ ! -d "$work/mps" ] || echo quit | timeout 20 nvidia-cuda-mps-control
    report >"$dir/report.txt"
    tar -C "$out" -czf "$dir.tar.gz" "$name" && echo "$dir.tar.gz"
    rm -rf "$work"
    exit "$failed"
}
trap finish EXIT
trap 'exit 1' INT TERM

step machine 15
case $part in
    1)
        step programs 20
        step attributes 20
        step kernels 150
        step streams 110
        step ipc 90
        step costs 30
        ;;
    2)
        step attributes 20
        step rates 100
        step slots 60
        step hops 60
        step launches 30
        step profile 60
        ;;
    4)
        step shared_2 60
        step shared_4 60
        step shared_8 60
        step shared_mps 200
        ;;
    3)
        step mpi_shared 120
        step mpi_kinds 40
        step with_mps 120
        step nccl_beside 80
        step memcheck 90
        ;;
esac
