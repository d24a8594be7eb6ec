#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Shared memory: none remains, however a job ends; one line reports that there is none; and what an application does to its
# own descriptors and limits harms nothing. The test has an IPC namespace and a /dev/shm of its own. Open MPI's segments are
# elsewhere.
if [ -z "${GR_OWN_SHM:-}" ]; then
    if unshare -m -i sh -c 'mount -t tmpfs -o size=256k tmpfs /dev/shm' 2>/dev/null; then
        # shellcheck disable=SC2016
        GR_OWN_SHM=1 exec unshare -m -i bash -c 'mount -t tmpfs -o size=256k tmpfs /dev/shm && exec bash "$0"' "$0"
    fi
    GR_OWN_SHM=0
fi
. "$(dirname "$0")/lib.sh"

stock_segments_to_work
np=4

segments() { tail -n +2 /proc/sysvipc/shm; }
# In the machine's own namespace others have segments, too.
nothing_left() { [ "$GR_OWN_SHM" = 0 ] || [ -z "$(segments)$(ls -A /dev/shm)" ]; }
# Each is marked for removal: the mode of column 3 has 01000.
all_marked() { [ "$GR_OWN_SHM" = 0 ] || { [ -n "$(segments)" ] && ! segments | awk '{ print $3 }' | grep -qv '^1'; }; }

test_program "a job that ends well" $np -- lifecycle 20
tap_check "nothing is left of it" nothing_left

gstart $np -- stall loop
tap_check "a job in the middle of its calls" wait_for 60 seen '^# looping'
tap_check "its segments go with it" wait_for 60 all_marked
tap_check "    and it still runs" kill -0 "$job"
kill_all "$job"
gwait
tap_check "killed: nothing is left" wait_for 60 nothing_left

for delay in $(depth '0.6 1.0' '0.4 0.6 0.8 1.0 1.3'); do
    gstart $np -- lifecycle 1000
    sleep $delay
    kill_all "$job"
    gwait
    tap_check "killed after $delay s, while setting up: nothing is left" wait_for 60 nothing_left
done

for end in kill exit abort crash; do
    gstart $np -- stall $end
    wait_for 60 seen '^# rank 1 stalls'
    gwait
    tap_check "one rank ends by $end: so does the job" [ "$rc" -ne 0 ]
    tap_check "one rank ends by $end: nothing is left" wait_for 60 nothing_left
done

test_program "all descriptors closed, and others opened" 2 -- limits descriptors
tap_check "    and no call falls back" seen '^# gpuring calls [1-9][0-9]* handovers 0'
test_program "no file may be written" 2 -- limits files
tap_check "    and no call falls back" seen '^# gpuring calls [1-9][0-9]* handovers 0'
test_program "a rank without address space" 3 -- limits addresses
tap_check "    and one line says so" [ "$(lines_seen 'gpuring: no shared memory left .*ulimit')" -eq 1 ]
# with none left Open MPI's own collectives end some jobs
for left in $(depth '2 4' '2 4 8 12 16 18 20 30 40'); do
    test_program "a rank that may make $left mappings more" 2 -- limits mappings "$left"
done

if [ "$GR_OWN_SHM" = 1 ]; then
    echo 64 >/proc/sys/kernel/shmall # pages, of this namespace
    grun $np --mca coll_gpuring_slots 16 -- hello_coll
    tap_check "shared memory of 64 pages: right results" all_good
    tap_check "    and one line says so" [ "$(lines_seen 'gpuring: no shared memory left')" -eq 1 ]
    tap_check "    and what to do" seen 'gpuring: no shared memory left .*(kernel.shmall|coll_gpuring_slot)'
    tap_check "    and the calls fall back" seen '^# gpuring calls 0 handovers [1-9]'
    tap_check "nothing is left" nothing_left
    grun $np --mca coll_gpuring_slots 16 -- lifecycle 20
    tap_check "shared memory of 64 pages: communicators come and go" all_good
    echo 1000000 >/proc/sys/kernel/shmall
    test_program "a small /dev/shm, and enough memory" $np --mca coll_gpuring_slots 16 -- hello_coll
else
    tap_skip "little shared memory" "no namespaces for us (unshare -m -i)"
fi

tap_done
