#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Invalid parameters: one line per job names the parameter, its value and the allowed values. Results are right.
. "$(dirname "$0")/lib.sh"

np=4

# Exactly one line of what was said has all the words; counters are not said.
one_line_with() {
    local lines word
    lines=$(grep -av '^count ' "$out")
    for word in "$@"; do
        lines=$(grep -aF -- "$word" <<<"$lines")
    done
    [ -n "$lines" ] && [ "$(wc -l <<<"$lines")" -eq 1 ]
}

# NAME VALUE ALLOWED...: words that the line must have beside them
bad_parameters="
algorithm foo ring chain tree flat oneshot twoshot doubling mailbox
protocol ll64 auto simple ll ll128
algorithm_allreduce foo ring
algorithm_bcast ring tree
algorithm_reduce_scatter 7 ring
channels 0 1..
channels 99 ..16
slots 1 2..
slots 100000 ..64
slot_bytes 3 256
slot_bytes 1000 64
mailbox_bytes -1 0..
single_copy 2 0..1
measure 2 0..1
progress_thread 5 1..1
cuda 2 1..1
device_channels 33 1..32
device_slots 1 2..64
device_slot_bytes 1000 256
device_pool_mib 0 1..
stage_bytes -1 0..
host 7 auto 0 1
nodes 2 0..1
nodes_ask -1 0..1000000
nodes_transport tcp auto ucx pml
nodes_direct 2 -1..1
nodes_channels 17 1..16
nodes_rails 9 0..8
nodes_latency -1 0..1000000
nodes_mbit -5 0..
timeout -1 0..
timeout_abort 2 0..1
torus 0x2 4x4x2
step_sync always none start barrier timed
torus many 4x4x2
torus 3x3 4
report loudly summary
pool_mib 0 1..
pack_mib 0 1..
setup_mib -1 0..
priority 101 ..100
verbose 9 0..
"
while read -r name value allowed; do
    [ -n "$name" ] || continue
    if [ "$name" = host ]; then # which grun sets itself
        GR_HOST=$value grun $np -- hello_coll </dev/null
    else
        grun $np --mca coll_gpuring_"$name" "$value" -- hello_coll </dev/null
    fi
    # shellcheck disable=SC2086 # words on purpose
    tap_check "$name = $value: one line says what is allowed" \
        one_line_with "coll_gpuring_$name" "$value" allowed $allowed
    if [ "$name" = host ]; then
        tap_check "$name = $value: right results, with the default" good_without_gpuring
    else
        tap_check "$name = $value: right results, with the default" good_through_gpuring
    fi
done < <(rows_of_depth '^(algorithm|channels 99|slots 1|slot_bytes 1000|mailbox_bytes|cuda|host|nodes_tr|nodes_rails|step|torus|report|priority|timeout) ' <<<"$bad_parameters")

# NAME FIRST OTHERS: rank 0 has the first value, the others have another
different_parameters="
channels 1 2
slots 4 8
slot_bytes 4096 8192
mailbox_bytes 0 4096
single_copy 0 1
algorithm ring tree
algorithm_allreduce auto flat
protocol simple ll
torus 2x2 4x1
nodes 0 1
nodes_mbit 100 1000
step_sync none timed
"
# differs NAME FIRST OTHERS: a run where it does
differs() {
    cat >"$work/wrapper" <<EOF
#!/bin/sh
if [ "\$OMPI_COMM_WORLD_RANK" = 0 ]; then v=$2; else v=$3; fi
OMPI_MCA_coll_gpuring_$1=\$v exec "\$@"
EOF
    chmod +x "$work/wrapper"
    WRAPPER=$work/wrapper grun $np -- hello_coll </dev/null
}
while read -r name first others; do
    [ -n "$name" ] || continue
    differs "$name" "$first" "$others"
    tap_check "$name differs between ranks: one line says so" one_line_with "coll_gpuring_$name" "$first" "$others"
    tap_check "$name differs between ranks: right results" good_through_gpuring
done < <(rows_of_depth '^(slot_bytes|algorithm|torus|nodes_mbit|step_sync) ' <<<"$different_parameters")

# Open MPI asks each rank which component has the highest priority: with another one, ranks would part
differs priority 90 91
tap_check "priority differs between ranks: one line says so" one_line_with coll_gpuring_priority 90 91
tap_check "priority differs between ranks: all is left to others" good_without_gpuring

# host on some ranks only: nobody may be left alone in a call.
cat >"$work/wrapper" <<'EOF'
#!/bin/sh
OMPI_MCA_coll_gpuring_host=$((OMPI_COMM_WORLD_RANK % 2)) exec "$@"
EOF
chmod +x "$work/wrapper"
rc=0
# shellcheck disable=SC2046,SC2086
timeout -k 5 "${TEST_LIMIT:-300}" $MPIRUN $(component_options) -np $np "$work/wrapper" "$PROGDIR/hello_coll" >"$out" 2>&1 || rc=$?
tap_check "host = 1 on some ranks only: right results" all_good

# Constants of the cost model are measured where ranks have cores of their own, which these two say they have.
cat >"$work/wrapper" <<'EOF'
#!/bin/sh
OMPI_MCA_mpi_yield_when_idle=0 exec "$@"
EOF
chmod +x "$work/wrapper"
constants() { # WORDS: one line says so; results are right
    one_line_with "constants inside a node: $1" && good_through_gpuring
}
# with_cores OPTIONS...: one job of two ranks that have cores of their own, and no file but what OPTIONS give
with_cores() {
    WRAPPER=$work/wrapper grun 2 --mca coll_gpuring_verbose 1 --mca coll_gpuring_tune_file none "$@" -- hello_coll
}
# measured NAME OPTIONS...: a row: with_cores measures
measured() {
    local name=$1 too_long="built in (measuring took too long)"
    shift
    for _ in $(seq 40); do # on a busy machine the time may not suffice
        with_cores "$@"
        constants "$too_long" || break
        sleep 0.5
    done
    if constants "$too_long"; then
        tap_skip "$name" "two processors were not free at a time for 20 ms in 40 tries"
    else
        tap_check "$name" constants "measured: exchange"
    fi
}
if [ "$(nproc)" -lt 2 ]; then
    with_cores
    tap_check "constants of one processor" constants "built in"
else
    measured "constants are measured"
fi
with_cores --mca coll_gpuring_measure 0
tap_check "measure = 0: built-in constants" constants "built in"
grun 2 --mca coll_gpuring_verbose 1 -- hello_coll
tap_check "ranks that share cores: built-in constants" constants "built in"
with_cores --mca coll_gpuring_measure 0 --mca coll_gpuring_cost_exchange 0.5 --mca coll_gpuring_cost_slots 1,2,3,4
tap_check "parameters that there were pin nothing" constants "built in"
tap_check "and one line says so" [ "$(lines_seen 'coll_gpuring_cost_... do not exist any more')" -eq 1 ]

# In a large Bcast of two ranks that have cores of their own both copy.
both_copy() { good_through_gpuring && seen 'bcast on .* bytes: .* single copy'; }
WRAPPER=$work/wrapper grun 2 --mca op ^avx --mca coll_gpuring_measure 0 --mca coll_gpuring_verbose 2 -- $(any_case big)
tap_check "ranks with cores of their own: right results, large ones too" both_copy

# A taskset of one processor, which each rank sets for itself, is not left.
cat >"$work/wrapper" <<'EOF'
#!/bin/sh
OMPI_MCA_mpi_yield_when_idle=0 exec taskset -c "$OMPI_COMM_WORLD_LOCAL_RANK" "$@"
EOF
if [ "$(nproc)" -ge 2 ] && taskset -c 0,1 true; then
    with_cores --bind-to none
    tap_check "a taskset of one processor is not left" constants "built in (rank 0 may use one processor only)"
    # but one of srun's is
    cat >"$work/wrapper" <<'EOF'
#!/bin/sh
export SLURM_CPU_BIND_TYPE=mask_cpu: SLURM_CPU_BIND_LIST=0x1,0x2 SLURM_LOCALID="$OMPI_COMM_WORLD_LOCAL_RANK"
OMPI_MCA_mpi_yield_when_idle=0 exec taskset -c "$SLURM_LOCALID" "$@"
EOF
    measured "the processor of a task of srun's is left" --bind-to none
    sed -i 's/0x1,0x2/0x3/' "$work/wrapper"
    with_cores --bind-to none
    tap_check "a taskset in such a task is not" constants "built in (rank 0 may use one processor only)"
    # nor is one of mpirun, which Open MPI's binding does not heed
    cat >"$work/wrapper" <<'EOF'
#!/bin/sh
OMPI_MCA_mpi_yield_when_idle=0 exec "$@"
EOF
    MPIRUN="taskset -c 0 $MPIRUN" with_cores --bind-to core:overload-allowed
    tap_check "nor is mpirun's" constants "built in (rank 0 may use one processor only)"
fi

tap_done
