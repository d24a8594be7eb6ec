#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that is late while other ranks' kernels wait, or that makes another call: messages name it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

export GPURING_MEMORY=device
on_devices "calls that differ: an error" all_good 3 $small -- devices differ
rank_1_said() { # on each of five communicators
    said_once 'gpuring: rank 1 of MPI_COMM_WORLD calls allreduce \(40000 bytes' &&
        [ "$(lines_seen 'gpuring: rank 1 of .* calls ')" -eq 5 ] && not_seen 'gpuring: rank [02] of .* calls '
}
tap_check "calls that differ: one rank says so" rank_1_said


gstart 3 $small --mca coll_gpuring_timeout 1 -- stall stop allgather
# what rank $1 said last
waits_for_1() { grep -aE "gpuring: rank $1 of .* waits" "$out" | tail -n 1 | grep -qaE 'agreement, .*waits for rank 1$'; }
both_wait_for_1() { waits_for_1 0 && waits_for_1 2; }
tap_check "a stopped rank is named, and no other" wait_for 60 both_wait_for_1
kill -CONT "$(sed -n 's/^# rank 1 pid \([0-9]*\)$/\1/p' "$out")"
gwait
tap_check "continued, all finish right" good_on_devices

# persistent calls have no agreement: kernels wait
gstart 3 $small --mca coll_gpuring_timeout 1 -- stall stop allgather 3 persistent
named() { grep -aE "gpuring: rank [02] of .* waits .*$1" "$out" | grep -qaE 'waits for rank( [02])* 1\b'; }
tap_check "a stopped rank is named where kernels wait" wait_for 60 named 'on devices, channel'
kill -CONT "$(sed -n 's/^# rank 1 pid \([0-9]*\)$/\1/p' "$out")"
gwait
tap_check "continued, all finish right, persistent" good_on_devices

# stopped anywhere: in a kernel, maybe
gstart 3 $small --mca coll_gpuring_timeout 1 -- stall loop bcast 3600
wait_for 60 seen '^# looping'
pid=$(sed -n 's/^# rank 1 pid \([0-9]*\)$/\1/p' "$out")
kill -STOP "$pid"
tap_check "stopped in the middle, it is named" wait_for 60 named
kill -CONT "$pid"
kill_all "$job"
job=

tap_done
