#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Situations that users of MPI libraries reported as bugs of one of them: where buffers lie and what becomes of them, what
# callbacks, signals, children and threads do, processes that join, ranks in namespaces of their own, one processor for all.
. "$(dirname "$0")/lib.sh"
unset OMPI_MCA_pml # as users have it

# Threads that send at the same time mix up the numbers in the eager buffers of Open MPI 6.0.0rc2 (docs/testing.md).
[ "$OMPI_SERIES" -lt 6 ] || MPIRUN="$MPIRUN --mca btl_sm_fbox_max 0"

slots=(--mca coll_gpuring_algorithm ring --mca coll_gpuring_mailbox_bytes 0 --mca coll_gpuring_slots 2
       --mca coll_gpuring_slot_bytes 512)
for program in buffers addresses process callbacks; do
    test_program "$program" 3 -- $program
    in_all && test_program "$program, ring, small slots" 3 "${slots[@]}" -- $program
done
tap_check "    in MPI_Finalize, too" seen '^# right in MPI_Finalize'
in_all && test_program "buffers, without single copy" 3 --mca coll_gpuring_single_copy 0 -- buffers
in_all && test_program "children, with a progress thread" 3 --mca coll_gpuring_progress_thread 1 -- process children
test_program "messages from threads with small stacks" 2 --mca coll_gpuring_verbose 2 -- process stacks
test_program "spawned processes, and some behind a port" 2 -- spawn

# ---- ranks with namespaces of their own ----

# namespace KIND OPTIONS...: each rank has its own
namespace() {
    local kind=$1
    shift
    if ! unshare "$@" true 2>/dev/null; then
        tap_skip "a $kind namespace for each rank" "unshare $* is refused here"
        return
    fi
    WRAPPER="unshare $*" grun 3 -- addresses
    tap_check "a $kind namespace for each rank" all_good
}
namespace mount -m
namespace user -Ur # no rank may read another one's memory, or open its files

# ---- one processor, and ranks that do not yield ----

if taskset -c 0 true 2>/dev/null; then
    MPIRUN="taskset -c 0 ${MPIRUN/mpi_yield_when_idle 1/mpi_yield_when_idle 0}" test_program \
        "all ranks on one processor, without yielding" 3 -- hello_coll
else
    tap_skip "all ranks on one processor" "processor 0 is not ours"
fi

# ---- a program that loads libmpi for itself alone ----

cat >"$work/local.py" <<'EOP'
import ctypes, sys
mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL)
at = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
world, double, add = at("ompi_mpi_comm_world"), at("ompi_mpi_double"), at("ompi_mpi_op_sum")
mpi.MPI_Init(None, None)
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
for count in 1, 1000, 200000:
    given, got = ((ctypes.c_double * count)(*[rank.value + i for i in range(count)]) for _ in "ab")
    mpi.MPI_Allreduce(given, got, count, double, add, world)
    ranks = size.value * (size.value - 1) // 2
    assert all(got[i] == ranks + size.value * i for i in range(count)), count
mpi.MPI_Finalize()
EOP
libmpi=$(in_make print-libmpi)
PROGDIR='' grun 3 --mca coll_gpuring_report summary -- python3 "$work/local.py" "$libmpi"
tap_check "libmpi loaded with RTLD_LOCAL" [ "$rc" = 0 ]
tap_check "    through gpuring" seen '^# allreduce +host +[a-z]+ +[1-9]'

tap_done
