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

static int type_of(int device)
{
    return CU_DEVICE_INVALID == device ? CU_MEM_LOCATION_TYPE_INVALID
           : CU_DEVICE_CPU == device   ? CU_MEM_LOCATION_TYPE_HOST
                                       : CU_MEM_LOCATION_TYPE_DEVICE;
}

static CUresult ask(void *out, size_t bytes, CUmem_range_attribute name, const region &r)
{
    int value;

    switch (name) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        value = r.read_mostly;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        value = r.preferred;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        value = type_of(r.preferred);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        value = r.prefetched;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        value = type_of(r.prefetched);
        break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: /* an array of devices, filled up */
        NEED(0 != bytes && 0 == bytes % sizeof(int), CUDA_ERROR_INVALID_VALUE);
        value = CU_DEVICE_INVALID;
        for (size_t i = 0; i < bytes / sizeof(int); i++) {
            memcpy((int *) out + i, &value, sizeof(value));
        }
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    NEED(sizeof(value) == bytes, CUDA_ERROR_INVALID_VALUE);
    memcpy(out, &value, sizeof(value));
    return CUDA_SUCCESS;
}

} /* namespace fake */

using namespace fake;

#undef cuMemAdvise
#undef cuMemPrefetchAsync

FAKE_API cuMemRangeGetAttribute(void *out, size_t bytes, CUmem_range_attribute name, CUdeviceptr at,
                                size_t count)
{
    NEED_DRIVER();
    region_ref r = managed(at, count);
    NEED(nullptr != out && nullptr != r, CUDA_ERROR_INVALID_VALUE);
    return ask(out, bytes, name, *r);
}

FAKE_API cuMemRangeGetAttributes(void **out, size_t *bytes, CUmem_range_attribute *names, size_t n,
                                 CUdeviceptr at, size_t count)
{
    NEED_DRIVER();
    region_ref r = managed(at, count);
    NEED(nullptr != out && nullptr != bytes && nullptr != names && 0 != n && nullptr != r,
         CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < n; i++) {
        CUresult status = ask(out[i], bytes[i], names[i], *r);
        NEED(CUDA_SUCCESS == status, status);
    }
    return CUDA_SUCCESS;
}

FAKE_API cuMemAdvise_v2(CUdeviceptr at, size_t bytes, CUmem_advise advice, CUmemLocation where)
{
    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    region_ref r = managed(at, bytes);
    NEED(nullptr != r, CUDA_ERROR_INVALID_VALUE);
    switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        r->read_mostly = CU_MEM_ADVISE_SET_READ_MOSTLY == advice;
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        NEED(CU_DEVICE_INVALID != place(where), CUDA_ERROR_INVALID_DEVICE);
        r->preferred = place(where);
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        r->preferred = CU_DEVICE_INVALID;
        return CUDA_SUCCESS;
    default: /* who accesses it is not kept */
        NEED(CU_DEVICE_INVALID != place(where), CUDA_ERROR_INVALID_DEVICE);
        return CUDA_SUCCESS;
    }
}
FAKE_API cuMemAdvise(CUdeviceptr at, size_t bytes, CUmem_advise advice, CUdevice device)
{
    return cuMemAdvise_v2(at, bytes, advice, location(device));
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
FAKE_API cuMemPrefetchAsync_v2_ptsz(CUdeviceptr at, size_t bytes, CUmemLocation where,
                                    unsigned flags, CUstream stream)
{
    return cuMemPrefetchAsync_v2(at, bytes, where, flags, of_thread(stream));
}
FAKE_API cuMemPrefetchAsync(CUdeviceptr at, size_t bytes, CUdevice device, CUstream stream)
{
    return cuMemPrefetchAsync_v2(at, bytes, location(device), 0, stream);
}
FAKE_API cuMemPrefetchAsync_ptsz(CUdeviceptr at, size_t bytes, CUdevice device, CUstream stream)
{
    return cuMemPrefetchAsync_v2(at, bytes, location(device), 0, of_thread(stream));
}
