/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stream-ordered allocation. Pool memory has no context, and no handle for other processes by
 * cuIpcGetMemHandle.
 */
#include "capture.h"
#include "memory.h"
#include "stream.h"

#include <cstring>

struct CUmemPoolHandle_st {
    int device; /* ordinal */
    bool created;
    uint64_t threshold;
};

namespace fake
{

static CUmemPoolHandle_st default_pools[MAX_DEVICES];
static std::atomic<CUmemoryPool> current_pools[MAX_DEVICES];
static std::mutex pools_mutex;
static std::set<CUmemoryPool> created_pools;

static CUmemoryPool default_pool(int device)
{
    default_pools[device].device = device;
    return &default_pools[device];
}

static CUmemoryPool current_pool(int device)
{
    CUmemoryPool p = current_pools[device];
    return nullptr == p ? default_pool(device) : p;
}

static bool pool_known(CUmemoryPool pool)
{
    std::lock_guard<std::mutex> lock(pools_mutex);
    return (pool >= default_pools && pool < default_pools + MAX_DEVICES) ||
           0 != created_pools.count(pool);
}

static CUresult give(CUdeviceptr *at, size_t bytes, CUmemoryPool pool, CUstream handle)
{
    region_ref r;

    NEED_STREAM(s, handle);
    NEED_CAPTURE(use(s));
    NEED(!is_captured(s), CUDA_ERROR_NOT_SUPPORTED);
    NEED(nullptr != at && pool_known(pool), CUDA_ERROR_INVALID_VALUE);
    NEED(pool->device == s->context->device, CUDA_ERROR_INVALID_VALUE);
    CUresult status = memory_alloc(s->context, KIND_POOL, bytes, &r);
    NEED(CUDA_SUCCESS == status, status);
    r->pool = pool;
    *at = r->base;
    return CUDA_SUCCESS;
}

} /* namespace fake */

using namespace fake;

FAKE_API cuMemAllocAsync(CUdeviceptr *at, size_t bytes, CUstream stream)
{
    NEED_CONTEXT(c);
    return give(at, bytes, current_pool(c->device), stream);
}

FAKE_API cuMemAllocFromPoolAsync(CUdeviceptr *at, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    NEED_DRIVER();
    return give(at, bytes, pool, stream);
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

FAKE_API cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    NEED_DRIVER();
    NEED(nullptr != pool && nullptr != props &&
             CU_MEM_LOCATION_TYPE_DEVICE == props->location.type &&
             device_known(props->location.id),
         CUDA_ERROR_INVALID_VALUE);
    *pool = new CUmemPoolHandle_st {props->location.id, true, 0};
    std::lock_guard<std::mutex> lock(pools_mutex);
    created_pools.insert(*pool);
    return CUDA_SUCCESS;
}

FAKE_API cuMemPoolDestroy(CUmemoryPool pool)
{
    NEED_DRIVER();
    NEED(pool_known(pool) && pool->created, CUDA_ERROR_INVALID_VALUE);
    CUmemoryPool expected = pool;
    current_pools[pool->device].compare_exchange_strong(expected, nullptr);
    std::lock_guard<std::mutex> lock(pools_mutex);
    created_pools.erase(pool);
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    NEED_DRIVER();
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    *pool = default_pool(device);
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    NEED_DRIVER();
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    *pool = current_pool(device);
    return CUDA_SUCCESS;
}

FAKE_API cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    NEED_DRIVER();
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    NEED(pool_known(pool) && device == pool->device, CUDA_ERROR_INVALID_VALUE);
    current_pools[device] = pool;
    return CUDA_SUCCESS;
}

FAKE_API cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute name, void *value)
{
    NEED_DRIVER();
    NEED(pool_known(pool), CUDA_ERROR_INVALID_VALUE);
    if (CU_MEMPOOL_ATTR_RELEASE_THRESHOLD == name) {
        memcpy(&pool->threshold, value, sizeof(pool->threshold));
    }
    return CUDA_SUCCESS;
}

FAKE_API cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute name, void *value)
{
    NEED_DRIVER();
    NEED(pool_known(pool), CUDA_ERROR_INVALID_VALUE);
    NEED(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD == name, CUDA_ERROR_NOT_SUPPORTED);
    memcpy(value, &pool->threshold, sizeof(pool->threshold));
    return CUDA_SUCCESS;
}

FAKE_API cuMemPoolTrimTo(CUmemoryPool pool, size_t)
{
    NEED_DRIVER();
    NEED(pool_known(pool), CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

/* Access for other devices cannot be given here. */
FAKE_API cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *, size_t)
{
    NEED_DRIVER();
    NEED(pool_known(pool), CUDA_ERROR_INVALID_VALUE);
    return CUDA_ERROR_NOT_SUPPORTED;
}

FAKE_API cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *where)
{
    NEED_DRIVER();
    NEED(pool_known(pool) && nullptr != flags && nullptr != where, CUDA_ERROR_INVALID_VALUE);
    *flags = where->id == pool->device ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                       : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}
