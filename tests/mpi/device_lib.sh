# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by the scripts that run on the fake CUDA driver, after lib.sh. FAKECUDA: its directory.

fake=${FAKECUDA:?the directory of the fake driver}
if [ ! -e "$fake/libcuda.so.1" ]; then
    echo "1..0 # SKIP no CUDA toolkit: nothing to run on devices with"
    exit 0
fi
without=${LD_LIBRARY_PATH:-} # the driver
export LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export FAKECUDA_SMS=64 FAKECUDA_DEVICES=2 FAKECUDA_MPS=1
export GR_HOST=0
small='--mca coll_gpuring_device_channels 2 --mca coll_gpuring_device_slot_bytes 16384 --mca op ^avx'

device_calls() { counted 'calls .* device'; }
good_on_devices() { all_good && [ "$(device_calls)" -gt 0 ]; }
good_by_staging() { all_good && [ "$(device_calls)" -eq 0 ]; }
good_falls_back() { all_good && seen '^# gpuring calls [0-9]+ handovers [1-9]'; }
said_once() { [ "$(lines_seen "$1")" -eq 1 ]; }

# on_devices TEXT JUDGE NP [OPTIONS...] -- PROGRAM [ARGS...]
on_devices() {
    local text=$1 judge=$2
    shift 2
    grun "$@"
    tap_check "$text" "$judge"
}
