#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads that call collectives at the same time on communicators of their own, and threads that wait for what
# others have posted.
. "$(dirname "$0")/lib.sh"

# Threads that send at the same time mix up the numbers in the eager buffers of Open MPI 6.0.0rc2 (docs/testing.md).
[ "$OMPI_SERIES" -lt 6 ] || MPIRUN="$MPIRUN --mca btl_sm_fbox_max 0"

small='--mca coll_gpuring_algorithm tree --mca coll_gpuring_channels 2 --mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes 1024'
for np in $(depth '3' '2 3 4'); do
    programs "threads" good_through_gpuring 1 $np -- --threads=3 --profile=eight
    test_program "threads, all forms, $np ranks" $np -- nbthreads 8
done
in_all && programs "threads, tree, small slots" good_through_gpuring 2 3 $small -- --threads=3 --profile=eight --max-bytes=40000
test_program "threads, all forms, tree, small slots" 3 $small -- nbthreads 6
test_program "threads, all forms, with a progress thread" 2 --mca coll_gpuring_progress_thread 1 -- nbthreads 6

tap_done
