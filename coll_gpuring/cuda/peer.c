/* SPDX-License-Identifier: BSD-3-Clause */
/* Access to other devices' memory (peer.h). */
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
