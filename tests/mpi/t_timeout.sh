#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that is late: the other ranks report the rank, the call and the communicator, and continue to wait, or abort the
# job if a parameter says so. With --enable-recovery, Open MPI 4 and 5 keep the survivors of a killed rank alive.
. "$(dirname "$0")/lib.sh"

stock_segments_to_work
np=3
waiting='gpuring: rank [0-9]+ of .* waits'

# A line that has all of them: which rank waits, communicator, collective, sequence, step, whom for.
names_all() { # COLLECTIVE STEP [RANK]
    grep -aE -- "$waiting" "$out" | grep -aF 'stalled communicator' | grep -aw "$1" | grep -aE 'sequence,? [0-9]+' |
        grep -aE "$2" | grep -qaE "waits for ranks?( [0-9]+,?)* ${3:-1}\b"
}

stalled_pid() { sed -n 's/^# rank 1 pid \([0-9]*\)$/\1/p' "$out"; }
said_again() { [ "$(lines_seen "$waiting")" -ge $((2 * np)) ]; } # by one of two ranks three times or more
continue_rank() { kill -CONT "$(stalled_pid)"; }
ended() { ! kill -0 "$job" 2>/dev/null; }

for coll in $(depth allgather 'allreduce allgather reduce_scatter reduce_scatter_block'); do
    begin=$SECONDS
    gstart $np --mca coll_gpuring_timeout 1 -- stall stop $coll
    tap_check "$coll, stopped rank: it is named, with the call" wait_for 60 names_all $coll 'step [0-9]+'
    tap_check "$coll, stopped rank: it is reported again and again" wait_for 60 said_again
    tap_check "$coll, stopped rank: the others keep waiting" kill -0 "$job"
    continue_rank
    gwait
    tap_check "$coll, continued rank: all finish right" good_through_gpuring
    tap_check "$coll, continued rank: it says so" seen '^# finished right'
    tap_check "$coll: each of the others said it once a second at most" \
        [ "$(lines_seen "$waiting")" -le $(((np - 1) * (SECONDS - begin + 1))) ]
done

# The others wait in MPI_Wait.
for coll in $(depth reduce_scatter 'allreduce reduce_scatter'); do
    for form in nonblocking persistent; do
        gstart $np --mca coll_gpuring_timeout 1 -- stall stop $coll 3 $form
        tap_check "$form $coll, stopped rank: it is named, with the call" wait_for 60 names_all $coll 'step [0-9]+'
        continue_rank
        gwait
        tap_check "$form $coll, continued rank: all finish right" good_through_gpuring
    done
done
for form in nonblocking persistent; do
    gstart $np --mca coll_gpuring_timeout 1 -- stall first allreduce 3 $form
    tap_check "$form, stopped before the first call: named" wait_for 60 names_all allreduce 'set-up|step [0-9]+'
    continue_rank
    gwait
    tap_check "$form, stopped before the first call, continued: all finish right" good_through_gpuring
done

# Who has a core of its own looks many times before it gives that away.
MPIRUN=${MPIRUN/mpi_yield_when_idle 1/mpi_yield_when_idle 0} gstart 2 --mca coll_gpuring_timeout 1 -- stall stop allreduce
tap_check "stopped rank, cores to spare: it is named" wait_for 60 names_all allreduce 'step [0-9]+'
continue_rank
gwait
tap_check "stopped rank, cores to spare, continued: all finish right" good_through_gpuring

gstart $np --mca coll_gpuring_timeout 1 -- stall first allreduce
tap_check "stopped before the first call: named in set-up" wait_for 60 names_all allreduce 'set-up|step [0-9]+'
continue_rank
gwait
tap_check "stopped before the first call, continued: all finish right" good_through_gpuring

if in_all; then
    grun $np --mca coll_gpuring_timeout 0 -- stall sleep allreduce 3
    tap_check "timeout 0: nothing is said" not_seen "$waiting"
    tap_check "timeout 0: all finish right" good_through_gpuring
fi

# a timeout that a loaded machine does not use up by itself
gstart $np --mca coll_gpuring_timeout 5 --mca coll_gpuring_timeout_abort 1 -- stall stop allreduce
wait_for 60 seen '^# rank 1 stalls'
tap_check "timeout_abort: the job ends" wait_for 60 ended
ended || kill_all "$job"
gwait
tap_check "timeout_abort: with an exit status" [ "$rc" -ne 0 ]
# The first to run out of time ends the job; it may be one that waits for a rank that itself waits.
tap_check "timeout_abort: after a line about the call" names_all allreduce 'set-up|step [0-9]+' '[0-9]+'
tap_check "timeout_abort: which is named" seen 'timeout_abort'

gstart $np --enable-recovery --mca coll_gpuring_timeout 1 -- stall kill allreduce
tap_check "killed rank: the survivors name it" wait_for 60 names_all allreduce 'step [0-9]+'
kill_all "$job"
job=

tap_done
