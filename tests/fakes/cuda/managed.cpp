/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program says of managed memory, and asks of it. Nothing moves: the memory is one here. */
#include "capture.h"
#include "memory.h"
#include "stream.h"

#include <cstring>

namespace fake
{

/* Managed memory that holds the bytes; NULL. */
static region_ref managed(CUdeviceptr at, size_t bytes)
{
    bool bad = false;
    region_ref r = memory_range(at, bytes, &bad);

    return nullptr != r && KIND_MANAGED == r->kind && 0 != bytes && !bad ? r : nullptr;
}

/* A device number or CU_DEVICE_CPU; CU_DEVICE_INVALID: neither. */
static int place(CUmemLocation where)
{
    if (CU_MEM_LOCATION_TYPE_HOST == where.type) {
        return CU_DEVICE_CPU;
    }
    return CU_MEM_LOCATION_TYPE_DEVICE == where.type && device_known(where.id) ? where.id
                                                                               : CU_DEVICE_INVALID;
}

static CUmemLocation location(CUdevice device)
{
    return CU_DEVICE_CPU == device ? CUmemLocation {CU_MEM_LOCATION_TYPE_HOST, 0}
                                   : CUmemLocation {CU_MEM_LOCATION_TYPE_DEVICE, device};
}

} /* namespace fake */

using namespace fake;

#undef cuMemPrefetchAsync

FAKE_API cuMemRangeGetAttribute(void *out, size_t bytes, CUmem_range_attribute name, CUdeviceptr at,
                                size_t count)
{
    NEED_DRIVER();
    region_ref r = managed(at, count);
    NEED(nullptr != out && nullptr != r && sizeof(int) == bytes, CUDA_ERROR_INVALID_VALUE);
    NEED(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION == name ||
             CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION == name,
         CUDA_ERROR_INVALID_VALUE);
    int value =
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION == name ? r->prefetched : CU_DEVICE_INVALID;
    memcpy(out, &value, sizeof(value));
    return CUDA_SUCCESS;
}

FAKE_API cuMemPrefetchAsync_v2(CUdeviceptr at, size_t bytes, CUmemLocation where, unsigned flags,
                               CUstream handle)
{
    NEED_STREAM(s, handle);
    NEED_CAPTURE(use(s));
    region_ref r = managed(at, bytes);
    NEED(nullptr != r && 0 == flags, CUDA_ERROR_INVALID_VALUE);
    NEED(CU_DEVICE_INVALID != place(where), CUDA_ERROR_INVALID_DEVICE);
    stream_put(s, [=] { r->prefetched = place(where); });
    return CUDA_SUCCESS;
}
FAKE_API cuMemPrefetchAsync(CUdeviceptr at, size_t bytes, CUdevice device, CUstream stream)
{
    return cuMemPrefetchAsync_v2(at, bytes, location(device), 0, stream);
}
FAKE_API cuMemPrefetchAsync_ptsz(CUdeviceptr at, size_t bytes, CUdevice device, CUstream stream)
{
    return cuMemPrefetchAsync_v2(at, bytes, location(device), 0, of_thread(stream));
}
