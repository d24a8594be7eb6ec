#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# gpuring_bench -d, with --together, too, under mpirun, on the fake driver: results, formats, refusals.
# Prints TAP. Environment: BENCH, gpuring_bench; FAKECUDA: where the fake libcuda.so.1 and its kernels are; and see lib.sh.

# shellcheck disable=SC2154,SC2317 # work is from lib.sh; the tests are called through ok
. "$(dirname "$0")/lib.sh"
fake=${FAKECUDA:-$builddir/tests/fakes/cuda/lib}
[ -e "$fake/libcuda.so.1" ] || tap_skip_all "no fake driver in $fake (built with the CUDA toolkit's headers)"

# program NP COMMAND...: on the fake driver, with gpuring
program() {
    local np=$1
    shift
    # shellcheck disable=SC2086 # MPIRUN is a command with arguments
    LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 600 $MPIRUN $(component_options) \
        --mca coll_gpuring_priority 90 -np "$np" "$@" >"$work/out" 2>"$work/err" </dev/null
}

# Where not every rank opens a device: Open MPI 5's btl/smcuda hangs there, also without gpuring.
few_devices() { MPIRUN="$MPIRUN --mca btl ^smcuda" "$@"; }

bench() { # NP ARGS...
    local np=$1
    shift
    program "$np" "$BENCH" -d cuda "$@"
}

json() { # EXPRESSION about the output, d
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$work/out" "$1"
}

rows_are_right() { # DEVICE: every row says 0 errors, and where it ran
    grep -qF ",$1," "$work/out" &&
        awk -v device=",$1," -F, 'NR > 1 { rows++; bad += $NF != "0" || !index($0, device) }
            END { exit !(rows > 0 && bad == 0) }' "$work/out"
}

no_errors() { # NP ARGS...
    bench "$@" -i 2 -x 1 -B 10 -c -o csv && rows_are_right cuda
}

collectives() { [ "$(awk -F, 'NR > 1 { print $1 }' "$work/out" | sort -u | wc -l)" -eq "$1" ]; } # N: there are so many

# all but sendrecv, or all where an MPI takes messages from devices, too; and without that which has no in-place form
all_right() { # NP ARGS...
    no_errors "$1" all "${@:2}" && case " $* " in
        *" --in-place "*) collectives 16 ;;
        *) collectives "$all_of_cuda" ;;
    esac
}

# kinds_right NP DEVICES N ARGS...: N collectives, with each rank's buffers in the memory that the list says
kinds_right() {
    local np=$1 devices=$2 n=$3
    shift 3
    program "$np" "$BENCH" all -d "$devices" -i 2 -x 1 -B 10 -c -o csv "$@" || return 1
    case $devices in
        *,*) rows_are_right "\"$devices\"" ;;
        *) rows_are_right "$devices" ;;
    esac && collectives "$n"
}

# The host's rank says by a parameter that gpuring is on there: it has no device.
gpuring_mixes() {
    MPIRUN="$MPIRUN --mca coll_gpuring_host 1" kinds_right 3 cuda,host "$all_of_cuda" -m 1k:8k &&
        grep -q '^allreduce,.*,\(leader\|flat\|ring\|tree\|oneshot\|twoshot\),[0-9.]*,0$' "$work/out"
}

# Two ranks of four have devices, in memory of two kinds: FAKECUDA_LOG says which process did what.
only_who_needs_it() {
    rm -f "$work/log"
    MPIRUN="$MPIRUN --mca coll ^gpuring" FAKECUDA_LOG=$work/log program 4 "$BENCH" bcast -d host,managed,host,pinned \
        -m 4:4 -i 2 -c && [ "$(sed -n 's/.* pid \([0-9]*\) retain .*/\1/p' "$work/log" | sort -u | wc -l)" -eq 2 ] &&
        [ "$(sed -n 's/.* alloc device . \(kind [0-9]*\) .*/\1/p' "$work/log" | sort -u | wc -l)" -eq 2 ]
}

# B of DEVICES is WHAT: a pattern of its line in the head
measures_B() {
    program 2 "$BENCH" bcast -d "$1" -m 4:4 -i 2 && grep -q "device $1, " "$work/out" && grep -q "# *B = $2" "$work/out"
}

mixed_B_is_null() {
    program 2 "$BENCH" bcast -d cuda,host -m 4:4 -i 2 -o json &&
        json 'd["B"]["GBs"] is None and d["B"]["source"] == "n/a" and "not measured" in d["B"]["how"]' &&
        json 'd["device"] == "cuda,host" and all(r["ideal_GBs"] is None for r in d["results"])'
}

# complains PATTERN: there is one line of ours, and it has PATTERN
complains() {
    [ "$(grep -c '^gpuring_[a-z]*: ' "$work/err")" -eq 1 ] && grep '^gpuring_[a-z]*: ' "$work/err" | grep -q -e "$1"
}

json_names_the_device() {
    bench 2 allreduce -m 64:128 -i 2 -x 1 -c -o json &&
        json 'd["device"] == "cuda" and all(r["errors"] == 0 for r in d["results"])' &&
        json 'd["B"]["source"] == "measured" and "CUDA IPC" in d["B"]["how"] and d["B"]["GBs"] > 0'
}

one_pass_limits_a_shared_device() {
    FAKECUDA_DEVICES=1 bench 2 allreduce -m 64:128 -i 2 -x 1 -o json &&
        json '"share" in d["memory"]["how"] and d["memory"]["source"] == "measured"' &&
        json 'all(abs(r["ideal_GBs"] * 4 / d["memory"]["GBs"] - 1) < 1e-6 for r in d["results"])'
}
other_devices_are_limited_by_links() {
    FAKECUDA_DEVICES=2 FAKECUDA_PEER=all bench 2 allreduce -m 64:128 -i 2 -x 1 -o json &&
        json 'd["memory"]["GBs"] is None and all(r["ideal_GBs"] == d["B"]["GBs"] for r in d["results"])'
}

table_names_the_device() { bench 2 bcast -m 64:64 -i 2 -B 10 -c && grep -q 'device cuda' "$work/out"; }

sees_corruption() { # DEVICES N: in N collectives
    GPURING_BENCH_CORRUPT=1 program 2 "$BENCH" all -d "$1" -m 64:64 -i 2 -B 10 -c -o csv
    [ $? -eq 1 ] && [ "$(awk -F, 'NR > 1 && $NF == 2' "$work/out" | wc -l)" -eq "$2" ]
}

together() { # DEVICES
    program 2 "$BENCH" allreduce --together=1,4 -d "$1" -m 8:8 -i 20 -c &&
        [ "$(awk '!/^#/ && $NF == 0' "$work/out" | wc -l)" -eq 2 ]
}

# The buffers of K calls are in the memory asked for: of two ranks, one allocates there.
together_follows_a_list() {
    rm -f "$work/log"
    MPIRUN="$MPIRUN --mca coll ^gpuring" FAKECUDA_LOG=$work/log together host,managed &&
        [ "$(sed -n 's/.* pid \([0-9]*\) alloc .*/\1/p' "$work/log" | sort -u | wc -l)" -eq 1 ]
}

# An MPI that takes device buffers itself is not refused anything.
refuses_without_gpuring() { # DEVICES
    MPIRUN="$MPIRUN --mca coll ^gpuring" program 2 "$BENCH" bcast -d "$1" -m 4:4
    [ $? -eq 2 ] && complains "-d: '$1': this MPI takes no device buffers"
}

refuses_sendrecv() { # DEVICES
    program 2 "$BENCH" sendrecv -d "$1" -m 4:4
    [ $? -eq 2 ] && complains "-d: '$1': 'sendrecv' needs an MPI with CUDA support"
}

# What the host reaches too is for any MPI, and messages: gpuring is not there.
host_reaches() {
    MPIRUN="$MPIRUN --mca coll ^gpuring" kinds_right 2 managed,pinned,host 23 -m 1k:1k
}

no_device_anywhere() { # KIND
    CUDA_VISIBLE_DEVICES='' program 2 "$BENCH" bcast -d "$1" -m 4:4
    [ $? -eq 2 ] && complains "^gpuring_bench: -d: '$1' needs a CUDA driver and a device: .*NO_DEVICE; allowed: host"
}

# The first rank that lacks one, and its kind; ranks on the host lack nothing.
no_device_for_a_list() {
    CUDA_VISIBLE_DEVICES='' program 3 "$BENCH" bcast -d host,pinned,cuda -m 4:4
    [ $? -eq 2 ] && complains "^gpuring_bench: rank 1: -d: 'pinned' needs a CUDA driver and a device: .*NO_DEVICE"
}

no_device_at_rank_1() {
    # shellcheck disable=SC2016 # expanded by the ranks' shells
    few_devices program 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export CUDA_VISIBLE_DEVICES=; exec "$@"' sh \
        "$BENCH" bcast -d cuda -m 4:4
    [ $? -eq 2 ] && complains "rank 1: -d: 'cuda' needs a CUDA driver"
}

no_driver() {
    mkdir -p "$work/none" && echo "not a library" >"$work/none/libcuda.so.1"
    fake=$work/none bench 2 bcast -m 4:4
    [ $? -eq 2 ] && complains "needs a CUDA driver and a device: .*libcuda.so.1"
}

two_devices() { FAKECUDA_DEVICES=2 FAKECUDA_PEER=all no_errors 3 allreduce bcast -m 1k:8k; }

host_is_as_ever() {
    program 2 "$BENCH" bcast -m 4:4 -i 2 -B 10 -c -o json && json 'd["device"] == "host"'
}

ok "no driver: one line" no_driver
for kind in $(depth managed 'cuda managed pinned'); do
    ok "no device: one line, $kind" no_device_anywhere $kind
done
ok "no device for a list: the first rank and its kind" few_devices no_device_for_a_list
ok "no device at one rank: it is named" no_device_at_rank_1
if program 1 "$BENCH" sendrecv -d cuda -m 4:4 -i 1 -B 10; then
    echo "# this Open MPI takes device buffers itself: nothing to refuse"
    all_of_cuda=23
else
    all_of_cuda=22
    ok "only ranks that need the driver open it" only_who_needs_it
    for devices in $(depth host,cuda 'cuda host,cuda'); do
        ok "refuses what no one takes, $devices" refuses_without_gpuring $devices
        ok "refuses sendrecv, $devices" refuses_sendrecv $devices
    done
fi
in_all && ok "managed and pinned memory without gpuring" host_reaches
in_all && ok "host buffers" host_is_as_ever
ok "JSON, and B is measured between devices" json_names_the_device
ok "ranks that share a device: the limit is one pass over its memory" one_pass_limits_a_shared_device
in_all && ok "ranks on two devices: it is B" other_devices_are_limited_by_links
in_all && ok "table" table_names_the_device
ok "B of managed memory: as on devices" measures_B managed ".*CUDA IPC"
in_all && ok "B of pinned and host memory: the host's" few_devices measures_B pinned,host ".*memcpy"
in_all && ok "B of a mixture: not known" few_devices measures_B cuda,host "n/a (not measured: some ranks' buffers are on devices"
ok "B of a mixture, JSON" few_devices mixed_B_is_null
for np in $(depth 2 '1 2 4'); do
    ok "all, $np ranks" all_right $np -m 4:40k -r $((np - 1))
done
while read -r form; do
    # shellcheck disable=SC2086 # several options
    ok "all, $form" all_right 3 $form -m 1k:8k -r 1
done < <(rows_of_depth '^--persistent --in' <<END
--in-place
--nonblocking
--nonblocking --in-place
--persistent
--persistent --in-place
END
)
for kind in $(depth managed 'managed pinned'); do
    in_all && ok "all, $kind" kinds_right 3 $kind 23 -m 1k:40k -r 1
    in_all && ok "all, $kind, --persistent --in-place" kinds_right 3 $kind 16 -m 1k:8k -r 1 --persistent --in-place
done
in_all && ok "a list: cuda,host" few_devices kinds_right 3 cuda,host "$all_of_cuda" -m 1k:8k
in_all && ok "a list: cuda,host, in place" few_devices kinds_right 3 cuda,host 16 -m 1k:8k -r 1 --in-place
ok "a list: all kinds" few_devices kinds_right 4 host,cuda,pinned,managed "$all_of_cuda" -m 1k:8k -r 2 --nonblocking
in_all && ok "a list: no host" kinds_right 3 managed,cuda "$all_of_cuda" -m 1k:8k --persistent
ok "gpuring takes a call of a device and a host" few_devices gpuring_mixes
while read -r type op; do
    ok "allreduce and reduce_scatter, $type $op" no_errors 3 allreduce reduce_scatter -T "$type" -O "$op" -m 64:8k
done < <(rows_of_depth '^int32' <<END
int8 sum
uint16 max
int32 bxor
uint64 prod
double min
END
)
in_all && ok "two devices" two_devices
in_all && ok "a wrong element is found" sees_corruption cuda "$all_of_cuda"
ok "a wrong element is found, managed and pinned" sees_corruption managed,pinned 23
for devices in $(depth pinned 'cuda pinned'); do
    ok "--together, $devices" together $devices
done
in_all && ok "--together, cuda,host" few_devices together cuda,host
ok "--together follows a list" few_devices together_follows_a_list

tap_done
