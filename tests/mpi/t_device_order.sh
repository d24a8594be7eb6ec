#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Order of calls and the application's work on streams, in contexts and in graph captures.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

export GPURING_MEMORY=device
pieces='--mca coll_gpuring_device_pool_mib 1 --mca coll_gpuring_stage_bytes 2048'
in_all && FAKECUDA_DELAY=5 on_devices "order against the default stream" good_on_devices 3 $small -- streams own
FAKECUDA_DELAY=5 on_devices "order against another device's default stream" good_on_devices 3 $small -- streams elsewhere
in_all && FAKECUDA_PEER=none FAKECUDA_DELAY=5 on_devices "the same, out of reach" good_on_devices 3 $small -- streams elsewhere
FAKECUDA_DELAY=5 on_devices "order in a context of the application's" good_on_devices 3 $small -- streams foreign
FAKECUDA_DELAY=5 on_devices "nonblocking calls do not wait for what is put behind them" good_on_devices 3 $small -- streams beside
FAKECUDA_DELAY=6 on_devices "the same of staged calls, in pieces" good_by_staging 3 $small $pieces -- streams beside
for where in $(depth elsewhere 'own elsewhere foreign'); do
    FAKECUDA_DELAY=5 on_devices "while a graph is captured, order as $where" good_on_devices 3 $small -- streams $where capture
done
on_devices "first calls of several threads at the same time" good_on_devices 2 $small -- devices threads
on_devices "progress without calls" good_on_devices 3 $small -- devices progress
on_devices "the current context" good_on_devices 2 $small -- devices context
in_all && FAKECUDA_DEVICES=1 FAKECUDA_SMS=2 on_devices "opposite order, four ranks on one device, more channels than SMs" \
    good_on_devices 4 --mca coll_gpuring_device_channels 8 --mca coll_gpuring_device_slot_bytes 4096 -- devices crossed
FAKECUDA_WEAK=5 FAKECUDA_SCHED=lag:3 on_devices "weak memory, a thread lags" good_on_devices 3 $small -- devices crossed
in_all && FAKECUDA_WEAK=9 FAKECUDA_SCHED=rand:4 FAKECUDA_JITTER=2 on_devices "weak memory, any order, jitter" good_on_devices 3 \
    $small -- devices crossed
tap_done
