/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access to memory (peer.h). Peer access is between contexts, and for memory of contexts. A pool's
 * memory, and mappings of virtual memory management, have rights of their own for each device.
 */
#include "cuda/peer.h"

#include "cuda/context.h"
#include "cuda/state.h"

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
