#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost model's constants of devices on the fake CUDA driver: built in, by parameters, by a tuning file; a file of
# another device; and gpuring_tune -d cuda, whose numbers mean nothing there. Two ranks, on one device but where a row has two. TUNE, BENCH: the programs (default: those on the PATH).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"
TUNE=${TUNE:-gpuring_tune}
BENCH=${BENCH:-gpuring_bench}
export FAKECUDA_DEVICES=1 HOME=$work/home
links='one device'
mkdir "$HOME"

# job OPTIONS...: three Allreduces of 8 bytes, checked. The first one makes the links; the others know what these are like.
# With an algorithm that is forced: ranks that share a device have a leader else, and nothing to choose.
job() {
    grun_line="job $*" rc=0
    # shellcheck disable=SC2046,SC2086 # words
    timeout -k 5 "${TEST_LIMIT:-300}" $MPIRUN $(component_options) --mca op ^avx --mca coll_gpuring_verbose 2 \
        --mca coll_gpuring_algorithm_allreduce oneshot "$@" -np 2 \
        ${WRAPPER:-} "$BENCH" allreduce -d cuda -m 8:8 -i 2 -x 1 -B 10 -c -o csv >"$out" 2>&1 </dev/null || rc=$?
}
said() { [ "$(grep -acF -- "$1" "$out")" -eq 1 ]; } # WORDS: in one line, once
constants() { # WORDS PROTOCOL: they are said, results are right, and 8 bytes go by that protocol
    [ $rc -eq 0 ] && grep -aq '^allreduce,.*,0$' "$out" && said "constants between devices: $links: $1" &&
        [[ $(grep -aF "on devices ($links)" "$out" | tail -n 1) == *", $2, "* ]]
}

job
tap_check "nothing is given" constants "built in" ll

# tune FILE: gpuring_tune on devices that hold few blocks
tune() { FAKECUDA_SMS=2 "$TUNE" -q -t 0 -d cuda -o "$1" >"$work/out" 2>"$work/err"; }
# tuned FILE PATH...: it measures some constants of each path. A busy machine makes others impossible, which are left out:
# several tries
tuned() {
    local file=$1 path
    shift
    for _ in 1 2 3 4 5; do
        tune "$file" && grep -qx 'device = fakecuda' "$file" || return 1
        for path in "$@"; do
            [ "$(grep -cE "^$path\.device_[a-z0-9_]+ = [0-9.e+-]+$" "$file")" -ge 2 ] || continue 2
        done
        return 0
    done
    return 1
}
made=$work/made
tuned "$made" one_device && ! grep -q '^pcie' "$made"
tap_result $? "gpuring_tune measures one device" "$work/err" "$made"
FAKECUDA_DEVICES=2 tuned "$work/two" one_device pcie && ! grep -q "^pcie.*ll128" "$work/two"
tap_result $? "and two of them" "$work/err" "$work/two"
if in_all; then
    FAKECUDA_DEVICES=2 FAKECUDA_PEER=none tuned "$work/two" host_memory && ! grep -q '^pcie' "$work/two"
    tap_result $? "and two that do not reach each other" "$work/err" "$work/two"
fi
nvml=$(cd "$FAKECUDA/../../.libs" 2>/dev/null && pwd)
if ! in_all; then
    :
elif [ -e "$nvml/libnvidia-ml.so.1" ]; then
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$nvml FAKENVML_BUSSES=16,17 FAKECUDA_DEVICES=2 tuned "$work/two" nvlink
    tap_result $? "and two joined by NVLink" "$work/err" "$work/two"
else
    tap_skip "and two joined by NVLink" "no fake NVML was built"
fi
job --mca coll_gpuring_tune_file "$made"
tap_check "what it measured is used" said "constants between devices: one device: file $made: device_"
status=0
LD_LIBRARY_PATH=$without tune "$work/none" || status=$?
[ $status -eq 1 ] && [ ! -e "$work/none" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q 'needs a CUDA driver' "$work/err"
tap_result $? "without a driver it says so" "$work/err"

if [ "$(nproc)" -lt 2 ]; then # gpuring_tune has no pair of processors to measure
    tap_done
fi
grep '^one_device' "$made" >"$work/devices"
"$TUNE" -q -t 0 -o "$made" 2>"$work/err" && grep -q '^[a-z]*\.exchange' "$made" && grep -qx 'device = fakecuda' "$made" &&
    cmp -s "$work/devices" <(grep '^one_device' "$made")
tap_result $? "processors are measured, devices stay in the file" "$work/err" "$made"
grep '^[a-z]*\.[es]' "$made" >"$work/processors"
tuned "$made" one_device && cmp -s "$work/processors" <(grep '^[a-z]*\.[es]' "$made")
tap_result $? "and the reverse" "$work/err" "$made"

file=$work/file
"$TUNE" -q -t 0 -o "$file" 2>"$work/err"
tap_result $? "a file" "$work/err"
cp "$file" "$work/processors"
printf 'device = fakecuda\none_device.device_ll_step = 5000\none_device.device_own = 0.75\npcie.device_ll_step = 4000\n' >>"$file"
job --mca coll_gpuring_tune_file "$file" --mca coll_gpuring_report json:"$work/report.json"
tap_check "a file, where ranks share cores" constants "file $file: device_own 0.75 us, device_ll_step 5000 us" simple
ok "the report says where constants come from" grep -q '"memory": "cuda".*"constants": "file"' "$work/report.json"
job --mca coll_gpuring_tune_file "$file" --mca coll_gpuring_report summary
tap_check "and its summary which" said "# constants between devices: one device: file $file: device_own 0.75 us"
ok "gpuring_tune shows them" "$TUNE" -c "$file"
grep -q '^device: fakecuda' "$work/why" && grep -q '^one_device: file: device_own 0.75 us' "$work/why"
tap_result $? "with the device" "$work/why"
links=PCIe FAKECUDA_DEVICES=2 job --mca coll_gpuring_tune_file "$file"
links=PCIe tap_check "of two devices it has others" constants "file $file: device_ll_step 4000 us" simple
sed -i 's/^device = .*/device = another/' "$file"
job --mca coll_gpuring_tune_file "$file"
tap_check "a file of another device: one line" said 'were measured on "another", which is not the device of rank 0'
tap_check "a file of another device: built-in constants" constants "built in" ll
job --mca coll_gpuring_tune_file "$work/processors"
tap_check "a file without devices" constants "built in" ll
tap_check "a file without devices: no line" not_seen 'tuning file'

tap_done
