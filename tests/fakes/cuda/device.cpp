/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a device says of itself. A device keeps its UUID and bus address whatever ordinal a process
 * gives it.
 */
#include "context.h"

#include <cstdio>
#include <cstring>

namespace fake
{

int device_count()
{
    return (int) opt().visible.size();
}

bool device_known(int ordinal)
{
    return ordinal >= 0 && ordinal < device_count();
}

int device_machine(int ordinal)
{
    return opt().visible[(size_t) ordinal];
}

int device_ordinal(int machine)
{
    for (int i = 0; i < device_count(); i++) {
        if (machine == device_machine(i)) {
            return i;
        }
    }
    return -1;
}

bool device_reaches(int machine, int other)
{
    return machine == other || (PEER_ALL == opt().peer && 0 == opt().mig) ||
           (PEER_PAIRS == opt().peer && machine / 2 == other / 2);
}

static int bus_of(int ordinal)
{
    return 0x10 + device_machine(ordinal) / (0 == opt().mig ? 1 : opt().mig);
}

/* What is not here is 0. */
static const struct {
    CUdevice_attribute name;
    int value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
};

} /* namespace fake */

using namespace fake;

FAKE_API cuDriverGetVersion(int *version)
{
    NEED(nullptr != version, CUDA_ERROR_INVALID_VALUE);
    *version = opt().version;
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceGetCount(int *count)
{
    NEED_DRIVER();
    NEED(nullptr != count, CUDA_ERROR_INVALID_VALUE);
    *count = device_count();
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceGet(CUdevice *device, int ordinal)
{
    NEED_DRIVER();
    NEED(nullptr != device, CUDA_ERROR_INVALID_VALUE);
    NEED(device_known(ordinal), CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    NEED_DRIVER();
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    snprintf(name, (size_t) bytes, "fakecuda");
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    NEED_DRIVER();
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    *bytes = opt().memory;
    return CUDA_SUCCESS;
}

/* As read_options() writes it: "fakecuda", zeros, and the number on the machine from 1. */
FAKE_API cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    NEED_DRIVER();
    NEED(nullptr != uuid, CUDA_ERROR_INVALID_VALUE);
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    memset(uuid, 0, sizeof(*uuid));
    memcpy(uuid->bytes, "fakecuda", 8);
    uuid->bytes[15] = (char) (device_machine(device) + 1);
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device)
{
    NEED_DRIVER();
    NEED(nullptr != id && bytes > 0, CUDA_ERROR_INVALID_VALUE);
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    snprintf(id, (size_t) bytes, "0000:%02X:00.0", bus_of(device));
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceGetAttribute(int *value, CUdevice_attribute name, CUdevice device)
{
    NEED_DRIVER();
    NEED(nullptr != value, CUDA_ERROR_INVALID_VALUE);
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    NEED(name > 0 && name < CU_DEVICE_ATTRIBUTE_MAX, CUDA_ERROR_INVALID_VALUE);
    *value = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == name ? opt().sms
             : CU_DEVICE_ATTRIBUTE_PCI_BUS_ID == name         ? bus_of(device)
             : CU_DEVICE_ATTRIBUTE_MPS_ENABLED == name        ? opt().mps
                                                              : nic_attribute(name);
    for (const auto &a : attributes) {
        if (name == a.name) {
            *value = a.value;
        }
    }
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    NEED_DRIVER();
    NEED(nullptr != can, CUDA_ERROR_INVALID_VALUE);
    NEED(device_known(device) && device_known(peer), CUDA_ERROR_INVALID_DEVICE);
    *can = device != peer && device_reaches(device_machine(device), device_machine(peer));
    return CUDA_SUCCESS;
}
