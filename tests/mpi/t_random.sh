#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Random legal programs of all kinds, drawn from GPURING_SEED. tools/random_programs.py runs more, and shrinks.
. "$(dirname "$0")/lib.sh"

ompi='--mca op ^avx' # which saturates sums of small integers in 4.1.4
small='--mca coll_gpuring_slots 2 --mca coll_gpuring_slot_bytes 512 --mca coll_gpuring_channels 2'

short=$(depth 1 3) # seconds
for np in $(depth '2 5' '2 3 5'); do
    programs "programs" good_through_gpuring $short $np --
done
programs "calls that repeat" good_through_gpuring $short 3 -- --profile=eight,again
in_all && programs "calls that repeat, many ranks" good_through_gpuring 3 9 --mca coll_gpuring_progress_thread 1 -- --profile=eight,again
in_all && programs "without mailboxes" good_through_gpuring 3 4 --mca coll_gpuring_mailbox_bytes 0 --
programs "small slots" good_through_gpuring $short 3 $small --mca coll_gpuring_mailbox_bytes 0 -- --max-bytes=40000
programs "with a thread" good_through_gpuring $short 3 --mca coll_gpuring_progress_thread 1 --
in_all && programs "three threads" good_through_gpuring 3 3 -- --threads=3
programs "two threads, and one of gpuring's" good_through_gpuring $short 2 --mca coll_gpuring_progress_thread 1 -- --threads=2

# what the program would find: an allreduce whose output is written to afterwards, and one that no other rank calls
grun 2 $ompi -- random_programs --seed=1 --count=3 --plant=wrong
tap_check "a wrong result is found, and named" seen '^FAILED seed 1 .* rank [01]: .* should be .*: step [0-9]'
grun 2 $ompi -- random_programs --seed=1 --count=3 --limit=4 --plant=hang
tap_check "a call that does not end is found, and named" seen '^HANGS seed 1 .* rank 1: step [0-9]+, '

# the tool: what fails is shrunk to one step
if in_all && command -v python3 >/dev/null; then
    rc=0
    grun_line='tools/random_programs.py --plant'
    timeout 1200 "$srcdir/tools/random_programs.py" --build="${builddir:?}" --seed=1 --count=1 --ranks=2 --mca= -- \
        --plant=wrong >"$out" 2>&1 || rc=$?
    one_step() { [ "$rc" -eq 1 ] && [ "$(lines_seen '^    thread 0: [0-9]+: ')" -eq 1 ]; }
    tap_check "the tool leaves one step of a program that fails" one_step
fi

# ---- buffers on devices ----

fake=${FAKECUDA:?the directory of the fake driver}
if [ -e "$fake/libcuda.so.1" ]; then
    . "$(dirname "$0")/device_lib.sh"
    GPURING_MEMORY=mixed programs "host memory and devices" good_on_devices $(depth 2 4) 2 \
        --mca coll_gpuring_device_channels 2 --mca coll_gpuring_device_slot_bytes 16384 --
    GPURING_MEMORY=mixed GR_HOST=1 programs "host memory and devices, host calls are ours, too" good_on_devices $(depth 2 4) 3 \
        --mca coll_gpuring_device_channels 2 --mca coll_gpuring_device_slot_bytes 16384 --
    # one that kernels read beyond the end of its staged buffers: 59770 MPI_LONG_INT, the last without its gap
    GPURING_MEMORY=mixed GR_HOST=1 grun 3 $ompi --mca coll_gpuring_device_channels 2 \
        --mca coll_gpuring_device_slot_bytes 16384 -- random_programs --seed=71846549 --count=1 --no-neighbors --no-inter
    tap_check "the last element of a staged buffer has its whole extent" good_on_devices
else
    tap_skip "host memory and devices" "no CUDA toolkit: nothing to run on devices with"
fi

tap_done
