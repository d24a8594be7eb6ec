/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stream-ordered allocation. Pool memory has no context, and no handle for other processes by
 * cuIpcGetMemHandle: a pool goes to another process as a file descriptor, whose file says which
 * pool it is, and each allocation of it after that as 64 bytes.
 */
#include "capture.h"
#include "ipc.h"
#include "stream.h"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

/* What names a pool among all processes. */
struct pool_name {
    uint64_t magic; /* a constant; 0: the pool was never exported */
    uint64_t pid, number;
    int64_t machine; /* the device, by its number on the machine */
};

struct CUmemPoolHandle_st {
    int device; /* ordinal */
    bool created;
    uint64_t threshold;
    unsigned long long handle_types;
    std::atomic<uint64_t> access; /* a bit for each other device that may use its memory */
    bool imported;
    pool_name name;
};

namespace fake
{

static CUmemPoolHandle_st default_pools[MAX_DEVICES];
static std::atomic<CUmemoryPool> current_pools[MAX_DEVICES];
static std::mutex pools_mutex;
static std::set<CUmemoryPool> created_pools;

constexpr uint64_t POOL = 0x4643504f4f4c;

/* What a process tells another of an allocation. */
struct shared_pointer {
    ticket at;
    uint64_t pool; /* its number at the exporter */
};
static_assert(sizeof(shared_pointer) == sizeof(CUmemPoolPtrExportData), "fits");

bool pool_gives(CUmemoryPool pool, int ordinal)
{
    return 0 != (pool->access >> ordinal & 1);
}

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
    NEED(nullptr != at && pool_known(pool) && !pool->imported, CUDA_ERROR_INVALID_VALUE);
    NEED(pool->device == s->context->device, CUDA_ERROR_INVALID_VALUE);
    CUresult status = memory_alloc(s->context, KIND_POOL, bytes, &r);
    NEED(CUDA_SUCCESS == status, status);
    memory_set_pool(r, pool);
    r->handle_types = pool->handle_types;
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
             device_known(props->location.id) &&
             props->handleTypes <= CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
         CUDA_ERROR_INVALID_VALUE);
    CUmemoryPool p = new CUmemPoolHandle_st {};
    p->device = props->location.id;
    p->created = true;
    p->handle_types = props->handleTypes;
    std::lock_guard<std::mutex> lock(pools_mutex);
    created_pools.insert(p);
    *pool = p;
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

FAKE_API cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    NEED_DRIVER();
    NEED(device_known(device), CUDA_ERROR_INVALID_DEVICE);
    NEED(pool_known(pool) && device == pool->device && !pool->imported, CUDA_ERROR_INVALID_VALUE);
    current_pools[device] = pool;
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

/* ---- other processes ---- */

static void name_pool(CUmemoryPool pool)
{
    static std::atomic<uint64_t> next {1};
    std::lock_guard<std::mutex> lock(pools_mutex);

    if (0 == pool->name.magic) {
        pool->name = pool_name {POOL, (uint64_t) getpid(), next++, device_machine(pool->device)};
    }
}

FAKE_API cuMemPoolExportToShareableHandle(void *out, CUmemoryPool pool,
                                          CUmemAllocationHandleType type, unsigned long long flags)
{
    NEED_DRIVER();
    NEED(opt().ipc, CUDA_ERROR_NOT_SUPPORTED);
    NEED(nullptr != out && pool_known(pool) && !pool->imported && 0 == flags &&
             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR == type && type == pool->handle_types,
         CUDA_ERROR_INVALID_VALUE);
    name_pool(pool);
    const int fd = memory_file(0);
    NEED(fd >= 0 && sizeof(pool->name) == pwrite(fd, &pool->name, sizeof(pool->name), 0),
         CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(out, &fd, sizeof(fd));
    return CUDA_SUCCESS;
}

/* The descriptor stays the caller's. Nothing can be allocated from such a pool. */
FAKE_API cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *from,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags)
{
    pool_name name;

    NEED_DRIVER();
    NEED(opt().ipc, CUDA_ERROR_NOT_SUPPORTED);
    NEED(nullptr != pool && CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR == type && 0 == flags,
         CUDA_ERROR_INVALID_VALUE);
    NEED(sizeof(name) == pread((int) (intptr_t) from, &name, sizeof(name), 0) &&
             POOL == name.magic && name.pid != (uint64_t) getpid(),
         CUDA_ERROR_INVALID_VALUE);
    NEED(device_ordinal((int) name.machine) >= 0, CUDA_ERROR_INVALID_DEVICE);
    CUmemoryPool p = new CUmemPoolHandle_st {};
    p->device = device_ordinal((int) name.machine);
    p->created = p->imported = true;
    p->name = name;
    std::lock_guard<std::mutex> lock(pools_mutex);
    created_pools.insert(p);
    *pool = p;
    return CUDA_SUCCESS;
}

FAKE_API cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr at)
{
    shared_pointer p;

    NEED_DRIVER();
    NEED(opt().ipc, CUDA_ERROR_NOT_SUPPORTED);
    region_ref r = memory_find(at);
    NEED(nullptr != data && nullptr != r && KIND_POOL == r->kind && at == r->base &&
             0 == r->exporter && 0 != r->handle_types,
         CUDA_ERROR_INVALID_VALUE);
    name_pool(r->pool);
    NEED(ticket_make(r, &p.at), CUDA_ERROR_OUT_OF_MEMORY);
    p.pool = r->pool->name.number;
    memcpy(data, &p, sizeof(p));
    return CUDA_SUCCESS;
}

/* The address is freed by cuMemFree or cuMemFreeAsync, before the exporter frees the memory. */
FAKE_API cuMemPoolImportPointer(CUdeviceptr *at, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
    shared_pointer p;
    region_ref r;

    NEED_CONTEXT(c);
    NEED(nullptr != at && nullptr != data && pool_known(pool) && pool->imported,
         CUDA_ERROR_INVALID_VALUE);
    memcpy(&p, data, sizeof(p));
    NEED(ticket_good(p.at) && (uint64_t) p.at.pid == pool->name.pid && p.pool == pool->name.number,
         CUDA_ERROR_INVALID_VALUE);
    CUresult status = ticket_attach(p.at, KIND_POOL, c, &r);
    NEED(CUDA_SUCCESS == status, status);
    memory_set_pool(r, pool);
    *at = r->base;
    return CUDA_SUCCESS;
}
