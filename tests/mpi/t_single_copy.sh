#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Single copy that the kernel refuses in the middle of a job: calls are right, and each process says it once at most.
. "$(dirname "$0")/lib.sh"

# Where the memory of a rank cannot be opened any more, new persistent requests are left to Open MPI, which then must not
# read it either.
MPIRUN="$MPIRUN --mca btl_vader_single_copy_mechanism none --mca smsc ^cma" # 4.1, and later series

# HOW RANK RANKS: lost rights; seccomp on one rank: it cannot read the others, not dumpable: the others cannot read it
refused() { grun "$3" "${@:4}" -- refused "$1" "$2" "$(depth 1 4)"; }
lines() { lines_seen 'gpuring: rank [0-9]+ of MPI_COMM_WORLD .*cannot read the memory of rank [0-9]+'; }
good_and_said() { # LEAST MOST PATTERN: that many processes say so
    good_through_gpuring && [ "$(lines)" -ge "$1" ] && [ "$(lines)" -le "$2" ] && seen "cannot read the memory of $3"
}

refused nothing -1 2
good_and_silent() { good_through_gpuring && [ "$(lines)" -eq 0 ]; }
tap_check "two ranks, no right is lost" good_and_silent

forbidden='process_vm_readv: Operation not permitted\. The kernel forbids it'
refused seccomp 1 3
tap_check "three ranks, seccomp on rank 1" good_and_said 1 1 "rank [02] .*$forbidden"
refused seccomp -1 2
tap_check "two ranks, seccomp on both" good_and_said 2 2 "rank [01] .*$forbidden"
refused dumpable 0 2
tap_check "two ranks, rank 0 not dumpable" good_and_said 1 1 "rank 0 .*$forbidden"
if in_all; then
    refused seccomp -1 4
    tap_check "four ranks, seccomp on all" good_and_said 4 4 "rank .*$forbidden"
    refused dumpable -1 4
    tap_check "four ranks, none dumpable" good_and_said 4 4 "rank .*$forbidden"
    refused seccomp -1 3 --mca coll_gpuring_progress_thread 1
    tap_check "three ranks, seccomp on all, a progress thread" good_through_gpuring
    for algorithm in ring tree flat chain; do
        refused seccomp -1 3 --mca coll_gpuring_algorithm $algorithm --mca coll_gpuring_slot_bytes 8192
        tap_check "three ranks, seccomp on all, $algorithm, short slots" good_and_said 3 3 "rank .*$forbidden"
    done
    refused seccomp -1 3 --mca coll_gpuring_step_sync barrier
    tap_check "three ranks, seccomp on all, timed steps" good_and_said 3 3 "rank .*$forbidden"
fi

# ---- memory that no other process may read ----

if ! GPURING_MEMORY=secret GR_HOST=0 grun 1 -- refused nothing -1 0 || [ "$rc" != 0 ]; then
    tap_skip "secret memory" "the kernel has no memfd_secret, or too little memory may be locked"
    tap_done
fi
unreadable='process_vm_readv: Bad address\. Other processes cannot read this memory'
for np in $(depth 2 '2 3 4'); do
    GPURING_MEMORY=secret refused nothing -1 "$np"
    tap_check "$np ranks, secret memory" good_and_said "$np" "$np" "rank .*$unreadable"
done
wrapper secret_on_rank_0 '[ "$OMPI_COMM_WORLD_RANK" != 0 ] || export GPURING_MEMORY=secret'
WRAPPER=$work/secret_on_rank_0 refused nothing -1 3
tap_check "three ranks, secret memory on rank 0" good_and_said 1 2 "rank 0 .*$unreadable"
in_all && GPURING_MEMORY=secret test_program "persistent requests, secret memory" 3 --mca op ^avx -- $(eight_in persistent)
in_all && GPURING_MEMORY=secret test_program "nonblocking calls, secret memory" 3 --mca op ^avx -- $(eight_in nonblocking)
tap_done
