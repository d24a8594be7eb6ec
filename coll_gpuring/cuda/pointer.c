/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kind of memory of a buffer (pointer.h), and the cost of finding it:
 *
 *      address in a cached allocation    one driver call for one attribute: the buffer id
 *      other addresses                   one driver call for all attributes
 *      device memory, the first time     seven more: set SYNC_MEMOPS, find the primary context
 *
 * The cache cannot do without a driver call: an allocation may have been freed, and its addresses
 * may belong to another kind of memory, another device, or malloc. The buffer id is unique, so it
 * detects that. Plain host memory has no id, so it costs a full query each time. Only memory of a
 * context (cudaMalloc, cudaMallocManaged) is cached. In memory pools and reserved address ranges
 * the memory at an address may change without a new id.
 *
 * No function here creates a context.
 */
#include "cuda/pointer.h"

#include "base/cma.h"
#include "cuda/context.h"
#include "cuda/memory.h"

/* A cached allocation. */
struct allocation {
    uint64_t serial; /* gr_gpus.serial; 0: the entry is empty */
    uintptr_t start;
    size_t bytes;
    unsigned long long id;     /* the driver's buffer id */
    struct gr_pointer pointer; /* the result for `start` */
};

/* The cache of this thread, replaced in turn. */
#define CACHED 16
static _Thread_local struct allocation cache[CACHED];
static _Thread_local unsigned next_entry;

static const struct gr_pointer host = {.memory = GR_MEMORY_HOST, .device = -1};

/* The driver's attributes of an address. */
struct attributes {
    unsigned int type;     /* a CUmemorytype; 0: unknown */
    unsigned int managed;  /* 1: managed memory */
    int ordinal;           /* device */
    CUcontext context;     /* NULL: memory of a pool, or a mapping */
    CUmemoryPool pool;     /* NULL: none */
    CUdeviceptr start;     /* of the allocation */
    CUdeviceptr at;        /* the address for devices */
    size_t bytes;          /* of the allocation */
    unsigned long long id; /* buffer id */
    unsigned int sync;     /* SYNC_MEMOPS */
};

/* The cached allocation that contains the address, if it still exists. */
static const struct allocation *find_cached(const struct gr_gpus *gpus, uintptr_t address)
{
    int k;

    for (k = 0; k < CACHED; k++) {
        struct allocation *s = &cache[k];
        unsigned long long id = 0;

        if (s->serial != gpus->serial || address - s->start >= s->bytes) {
            continue;
        }
        if (CUDA_SUCCESS ==
                gpus->cuda.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address) &&
            id == s->id) {
            return s;
        }
        s->serial = 0;
    }
    return NULL;
}

/* Ask the driver for all attributes. Returns 0 if it fails. */
static int query(const struct gr_gpus *gpus, uintptr_t address, struct attributes *a)
{
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_BUFFER_ID,        CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
    };
    void *values[] = {
        &a->type, &a->managed, &a->ordinal, &a->context, &a->id,
        &a->at,   &a->start,   &a->bytes,   &a->sync,    &a->pool,
    };

    *a = (struct attributes) {0};
    return CUDA_SUCCESS == gpus->cuda.cuPointerGetAttributes(sizeof(names) / sizeof(names[0]),
                                                             names, values, address);
}

/* Whether memory of a context on a device belongs to the primary context, or to none. */
static int is_primary(const struct gr_gpus *gpus, int ordinal, CUcontext context)
{
    CUdevice device = gpus->slots[ordinal].device;
    CUcontext primary = NULL;
    unsigned int flags;
    int active = 0;

    if (NULL == context) {
        return 1;
    }
    if (CUDA_SUCCESS != gpus->cuda.cuDevicePrimaryCtxGetState(device, &flags, &active) || !active ||
        CUDA_SUCCESS != gpus->cuda.cuDevicePrimaryCtxRetain(&primary, device)) {
        return 0;
    }
    (void) gpus->cuda.cuDevicePrimaryCtxRelease(device);
    return primary == context;
}

static struct gr_pointer classify(const struct gr_gpus *gpus, const struct attributes *a)
{
    struct gr_pointer p = host;
    int known = a->ordinal >= 0 && a->ordinal < gpus->count;

    if (a->managed) {
        p.memory = GR_MEMORY_MANAGED;
    } else if (CU_MEMORYTYPE_DEVICE == a->type) {
        p.memory = GR_MEMORY_DEVICE;
    } else if (CU_MEMORYTYPE_HOST == a->type && 0 != a->at) {
        p.memory = GR_MEMORY_PINNED;
    } else {
        return p;
    }
    p.at = a->at;
    if (GR_MEMORY_PINNED != p.memory && known) {
        p.device = a->ordinal;
        p.primary = is_primary(gpus, a->ordinal, a->context);
        p.access = NULL != a->context ? GR_ACCESS_PEER
                   : NULL != a->pool  ? GR_ACCESS_POOL
                                      : GR_ACCESS_MAPPING;
        p.pool = a->pool;
    }
    return p;
}

/* Cache an allocation of a context, and set SYNC_MEMOPS. */
static void cache_allocation(struct gr_gpus *gpus, uintptr_t address, const struct attributes *a,
                             const struct gr_pointer *p)
{
    struct allocation *s;

    if (GR_MEMORY_DEVICE == p->memory) {
        gr_marks_set(gpus, a->start, a->id, 0 != a->sync);
    }
    if (0 == a->id || 0 == a->bytes) {
        return;
    }
    s = &cache[next_entry++ % CACHED];
    s->serial = gpus->serial;
    s->start = (uintptr_t) a->start;
    s->bytes = a->bytes;
    s->id = a->id;
    s->pointer = *p;
    s->pointer.at = a->at - (address - s->start);
}

struct gr_pointer gr_pointer_guess(const void *pointer)
{
    struct gr_pointer device = {.memory = GR_MEMORY_DEVICE, .device = -1};

    return NULL == pointer || gr_cma_readable(pointer) ? host : device;
}

/*
 * Classify memory that is not cached. A query of attributes may be made in any capture mode; what
 * is done with the memory of a context that is new may not.
 */
static struct gr_pointer find_new(struct gr_gpus *gpus, uintptr_t address)
{
    struct attributes a;
    struct gr_pointer p;
    CUstreamCaptureMode mode;

    if (!query(gpus, address, &a)) {
        return gr_pointer_guess((const void *) address);
    }
    if (NULL == a.context) {
        return classify(gpus, &a);
    }
    mode = gr_cuda_relax(&gpus->cuda);
    p = classify(gpus, &a);
    if (GR_MEMORY_DEVICE == p.memory || GR_MEMORY_MANAGED == p.memory) {
        cache_allocation(gpus, address, &a, &p);
    }
    gr_cuda_restore(&gpus->cuda, mode);
    return p;
}

struct gr_pointer gr_pointer_find(struct gr_gpus *gpus, const void *pointer)
{
    uintptr_t address = (uintptr_t) pointer;
    const struct allocation *s;
    struct gr_pointer p;

    if (NULL == gpus || NULL == pointer) {
        return host;
    }
    s = find_cached(gpus, address);
    if (NULL == s) {
        return find_new(gpus, address);
    }
    p = s->pointer;
    p.at += address - s->start;
    return p;
}

/*
 * ---- access of devices ----
 *
 * Peer access is between contexts, and for memory of contexts. A pool's memory, and mappings of
 * virtual memory management, have rights of their own for each device.
 */

/* Enable access to another device's memory. Returns whether it works. The lock is held. */
static int enable_peer(struct gr_gpu *gpu, int other)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    const struct gr_gpu_slot *slots = gpu->gpus->slots;
    CUcontext context;
    CUresult result;
    struct gr_cuda_saved saved;
    int can = 0;

    if (0 != GR_CUDA(cuda, cuDeviceCanAccessPeer, &can, slots[gpu->ordinal].device,
                     slots[other].device) ||
        !can || gr_cuda_primary(gpu->gpus, other, &context) < 0 ||
        gr_cuda_enter(cuda, gpu->context, &saved) < 0) {
        return 0;
    }
    result = cuda->cuCtxEnablePeerAccess(context, 0);
    gr_cuda_leave(cuda, &saved);
    /* the application may have enabled it already */
    return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED == result ||
           0 == gr_cuda_check(cuda, "cuCtxEnablePeerAccess", result);
}

int gr_gpu_can_access(struct gr_gpu *gpu, int other)
{
    struct gr_gpus *gpus = gpu->gpus;
    int yes;

    if (other < 0 || other >= gpus->count) {
        return 0;
    }
    if (other == gpu->ordinal) {
        return 1;
    }
    pthread_mutex_lock(&gpus->lock);
    if (GR_PEER_UNKNOWN == gpu->peers[other]) {
        gpu->peers[other] = enable_peer(gpu, other) ? GR_PEER_YES : GR_PEER_NO;
    }
    yes = GR_PEER_YES == gpu->peers[other];
    pthread_mutex_unlock(&gpus->lock);
    return yes;
}

static CUmemLocation location(const struct gr_gpu *gpu)
{
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE};

    here.id = gpu->gpus->slots[gpu->ordinal].device;
    return here;
}

/* Whether a pool has given the device access. Errors count as no. */
static int pool_gives(const struct gr_gpu *gpu, CUmemoryPool pool)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUmemLocation here = location(gpu);
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUstreamCaptureMode mode = gr_cuda_relax(cuda);
    CUresult result = cuda->cuMemPoolGetAccess(&flags, pool, &here);

    gr_cuda_restore(cuda, mode);
    return CUDA_SUCCESS == result && CU_MEM_ACCESS_FLAGS_PROT_READWRITE == flags;
}

/* Whether each mapping from `at` to `end` has given the device access. Errors count as no. */
static int mappings_give(struct gr_gpu *gpu, CUdeviceptr at, CUdeviceptr end)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUmemLocation here = location(gpu);
    struct gr_cuda_saved saved;
    int yes = 1;

    if (gr_cuda_enter(cuda, gpu->context, &saved) < 0) {
        return 0;
    }
    while (yes && at < end) {
        unsigned long long flags = 0;
        CUdeviceptr start = 0;
        size_t bytes = 0;

        yes = CUDA_SUCCESS == cuda->cuMemGetAccess(&flags, &here, at) &&
              CU_MEM_ACCESS_FLAGS_PROT_READWRITE == flags &&
              CUDA_SUCCESS == cuda->cuMemGetAddressRange(&start, &bytes, at) && start + bytes > at;
        at = start + bytes;
    }
    gr_cuda_leave(cuda, &saved);
    return yes;
}

int gr_gpu_can_use(struct gr_gpu *gpu, const struct gr_pointer *p, size_t bytes)
{
    switch (p->access) {
    case GR_ACCESS_POOL:
        return gpu->ordinal == p->device || pool_gives(gpu, p->pool);
    case GR_ACCESS_MAPPING:
        return mappings_give(gpu, p->at, p->at + bytes);
    default:
        return gr_gpu_can_access(gpu, p->device);
    }
}
