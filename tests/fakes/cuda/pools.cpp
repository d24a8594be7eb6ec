/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stream-ordered allocation, from the default pool of each device. Pool memory has no context, and
 * no handle for other processes.
 */
#include "capture.h"
#include "memory.h"
#include "stream.h"

struct CUmemPoolHandle_st {
    int device;                   /* ordinal */
    std::atomic<uint64_t> access; /* a bit for each other device that may use its memory */
};

namespace fake
{

static CUmemPoolHandle_st default_pools[MAX_DEVICES];

bool pool_gives(CUmemoryPool pool, int ordinal)
{
    return 0 != (pool->access >> ordinal & 1);
}

static CUmemoryPool default_pool(int device)
{
    default_pools[device].device = device;
    return &default_pools[device];
}

static bool pool_known(CUmemoryPool pool)
{
    return pool >= default_pools && pool < default_pools + MAX_DEVICES;
}

} /* namespace fake */

using namespace fake;

FAKE_API cuMemAllocAsync(CUdeviceptr *at, size_t bytes, CUstream stream)
{
    region_ref r;

    NEED_CONTEXT(c);
    NEED_STREAM(s, stream);
    NEED_CAPTURE(use(s));
    NEED(!is_captured(s), CUDA_ERROR_NOT_SUPPORTED);
    NEED(nullptr != at && c->device == s->context->device, CUDA_ERROR_INVALID_VALUE);
    CUresult status = memory_alloc(s->context, KIND_POOL, bytes, &r);
    NEED(CUDA_SUCCESS == status, status);
    memory_set_pool(r, default_pool(c->device));
    *at = r->base;
    return CUDA_SUCCESS;
}

FAKE_API cuMemFreeAsync(CUdeviceptr at, CUstream handle)
{
    NEED_STREAM(s, handle);
    NEED_CAPTURE(use(s));
    NEED(!is_captured(s), CUDA_ERROR_NOT_SUPPORTED);
    region_ref r = memory_find(at);
    NEED(nullptr != r && at == r->base && (KIND_POOL == r->kind || KIND_DEVICE == r->kind),
         CUDA_ERROR_INVALID_VALUE);
    stream_put(s, [r] { memory_free(r); });
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    NEED_DRIVER();
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    *pool = default_pool(device);
    return CUDA_SUCCESS;
}

/* A pool's own device has access in any case. */
FAKE_API cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *desc, size_t n)
{
    NEED_DRIVER();
    NEED(pool_known(pool) && (nullptr != desc || 0 == n), CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < n; i++) {
        NEED(CU_MEM_LOCATION_TYPE_DEVICE == desc[i].location.type, CUDA_ERROR_INVALID_VALUE);
        const int device = desc[i].location.id;
        NEED(device_known(device) &&
                 device_reaches(device_machine(device), device_machine(pool->device)),
             CUDA_ERROR_INVALID_DEVICE);
        NEED(device != pool->device || CU_MEM_ACCESS_FLAGS_PROT_READWRITE == desc[i].flags,
             CUDA_ERROR_INVALID_VALUE);
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t bit = uint64_t(1) << desc[i].location.id;
        if (CU_MEM_ACCESS_FLAGS_PROT_READWRITE == desc[i].flags) {
            pool->access |= bit;
        } else {
            pool->access &= ~bit;
        }
    }
    memory_changed();
    return CUDA_SUCCESS;
}

FAKE_API cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *where)
{
    NEED_DRIVER();
    NEED_CAPTURE(unsafe());
    NEED(pool_known(pool) && nullptr != flags && nullptr != where &&
             CU_MEM_LOCATION_TYPE_DEVICE == where->type,
         CUDA_ERROR_INVALID_VALUE);
    NEED(device_known(where->id), CUDA_ERROR_INVALID_DEVICE);
    *flags = where->id == pool->device || pool_gives(pool, where->id)
                 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}
