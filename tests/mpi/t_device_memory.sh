#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Device memory: only first calls allocate it, none leaks, and calls work without CUDA IPC, without peer access, and out of
# memory.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/device_lib.sh"

export GPURING_MEMORY=device
FAKECUDA_LOG=$work/steady on_devices "calls after the first ones allocate nothing" good_on_devices 3 $small \
    -- devices steady
# so many rounds in each of two windows or more; addresses are used again at once
rounds=$(depth 60 5000)
FAKECUDA_REUSE=1 TEST_LIMIT=900 on_devices "$((2 * rounds)) communicators and their buffers: nothing grows" good_on_devices 2 $small \
    -- churn "$rounds"
FAKECUDA_REUSE=1 GPURING_MEMORY=pool on_devices "the same with buffers of a pool" good_on_devices 3 $small -- churn $(depth 40 300)
in_all && FAKECUDA_SYNC_ALLOC=1 on_devices "where allocation waits for kernels" good_on_devices 3 $small -- devices crossed
FAKECUDA_SYNC_ALLOC=1 on_devices "allocation waits for kernels that wait for other ranks" good_on_devices 3 $small \
    -- devices busy

FAKECUDA_LOG=$work/granted on_devices "memory of another device's pools and mappings, with access and without" \
    good_on_devices 3 $small -- devices granted

# zero copy maps what it uses; with addresses that are used again, or the driver under test shows nothing
FAKECUDA_REUSE=1 on_devices "the application maps other ranks' memory by CUDA IPC itself" good_on_devices 2 $small \
    --mca coll_gpuring_cuda 1 -- devices sharing

# ---- what is not there ----

FAKECUDA_IPC=none on_devices "no CUDA IPC: links in pinned host memory" good_on_devices 3 $small -- devices crossed
unmapped='gpuring: rank [0-9]+ of .* cannot map the device memory of rank [0-9]+ \('
tap_check "no CUDA IPC: said once" said_once "$unmapped"
FAKECUDA_PEER=none on_devices "devices that do not reach each other: the same" good_on_devices 4 $small -- devices crossed
tap_check "devices that do not reach each other: said once" said_once "$unmapped"
FAKECUDA_IPC=none on_devices "everything, links in pinned host memory" good_on_devices 3 $small -- $(any_case)
in_all && FAKECUDA_IPC=none on_devices "the same links, used again" good_on_devices 2 $small -- persistent types
FAKECUDA_PEER=none GPURING_MEMORY=mixed on_devices \
    "everything, memory of a device that is out of reach" good_on_devices 3 $small -- $(any_case)
FAKECUDA_MEM=2 on_devices "device memory is full: staged" good_by_staging 3 $small -- devices crossed
tap_check "device memory is full: said once" said_once 'gpuring: the device of rank [0-9]+ of .* has no memory left'
on_devices "the bound of device memory is reached: staged" good_by_staging 3 $small \
    --mca coll_gpuring_device_pool_mib 1 -- devices crossed
tap_check "the bound of device memory: said once" said_once 'gpuring: .*coll_gpuring_device_pool_mib'

# buffers in host memory at rank 0, on devices at the others: all calls are device calls
wrapper host_on_rank_0 '[ $OMPI_COMM_WORLD_RANK != 0 ] || GPURING_MEMORY=host'
WRAPPER=$work/host_on_rank_0 on_devices "rank 0 has its buffers in host memory" good_on_devices 3 $small \
    --mca coll_gpuring_cuda 1 -- devices single
GLIBC_TUNABLES=glibc.malloc.perturb=85 TEST_LIMIT=60 on_devices "an intercommunicator is freed while a call on it is under way" \
    all_good 2 $small -- devices inter

# each rank sees one device, and that is device 0 to it: two of them share the second
wrapper own_device 'export CUDA_VISIBLE_DEVICES=$((OMPI_COMM_WORLD_RANK % 2))'
WRAPPER=$work/own_device on_devices "each rank sees its own device only" good_on_devices 4 $small -- $(any_case)

tap_done
