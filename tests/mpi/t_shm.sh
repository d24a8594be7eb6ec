#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Shared memory: nothing remains in /dev/shm, however a job ends, and one line reports a full one. The test has a /dev/shm
# of its own. Open MPI's segments are elsewhere.
if [ -z "${GR_OWN_SHM:-}" ]; then
    if unshare -m sh -c 'mount -t tmpfs -o size=256m tmpfs /dev/shm' 2>/dev/null; then
        # shellcheck disable=SC2016
        GR_OWN_SHM=1 exec unshare -m bash -c 'mount -t tmpfs -o size=256m tmpfs /dev/shm && exec bash "$0"' "$0"
    fi
    GR_OWN_SHM=0
fi
. "$(dirname "$0")/lib.sh"

stock_segments_to_work
np=4
ls -A /dev/shm >"$work/before"

nothing_left() {
    if [ "$GR_OWN_SHM" = 1 ]; then
        [ -z "$(ls -A /dev/shm)" ]
    else
        ! find /dev/shm -mindepth 1 -printf "%f\n" | grep -vxFf "$work/before" | grep -q gpuring
    fi
}

test_program "a job that ends well" $np -- lifecycle 20
tap_check "nothing is left of it" nothing_left

gstart $np -- stall loop
tap_check "a job in the middle of its calls" wait_for 60 seen '^# looping'
tap_check "nothing has a name while it runs" wait_for 60 nothing_left
tap_check "    and it still runs" kill -0 "$job"
kill_all "$job"
gwait
tap_check "killed: nothing is left" nothing_left

for delay in $(depth '0.6 1.0' '0.4 0.6 0.8 1.0 1.3'); do
    gstart $np -- mixorder 50
    sleep $delay
    kill_all "$job"
    gwait
    tap_check "killed after $delay s, while setting up: nothing is left" nothing_left
done

for end in kill exit abort crash; do
    gstart $np -- stall $end
    wait_for 60 seen '^# rank 1 stalls'
    gwait
    tap_check "one rank ends by $end: so does the job" [ "$rc" -ne 0 ]
    tap_check "one rank ends by $end: nothing is left" nothing_left
done

if [ "$GR_OWN_SHM" = 1 ]; then
    wait_for 60 mount -o remount,size=256k /dev/shm # refused while what killed ranks held is more than that
    grun $np --mca coll_gpuring_slots 16 -- hello_coll
    tap_check "a /dev/shm of 256 KiB: right results" all_good
    tap_check "a /dev/shm of 256 KiB: one line says so" [ "$(lines_seen 'gpuring: /dev/shm .*full')" -eq 1 ]
    tap_check "a /dev/shm of 256 KiB: it says what to do" seen 'gpuring: /dev/shm .*(shm-size|coll_gpuring_slot)'
    tap_check "a /dev/shm of 256 KiB: the calls fall back" seen '^# gpuring calls 0 handovers [1-9]'
    tap_check "nothing is left" nothing_left
    grun $np --mca coll_gpuring_slots 16 -- lifecycle 20
    tap_check "a /dev/shm of 256 KiB: communicators come and go" all_good
    mount -o remount,size=256m /dev/shm
    test_program "a /dev/shm that is large again" $np --mca coll_gpuring_slots 16 -- hello_coll
else
    tap_skip "a /dev/shm of 256 KiB" "no mount namespace for us (unshare -m)"
fi

tap_done
