/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts of devices (cuda_state.h): current for a moment, retained, reset by others, and at each other's memory. */
#include "cuda_state.h"

int gr_cuda_enter(const struct gr_cuda *cuda, CUcontext context, int *pushed)
{
    CUcontext current = NULL;
    int rc;

    *pushed = 0;
    if (CUDA_SUCCESS == cuda->cuCtxGetCurrent(&current) && context == current) {
        return 0;
    }
    rc = GR_CUDA(cuda, cuCtxPushCurrent, context);
    *pushed = 0 == rc;
    return rc;
}

void gr_cuda_leave(const struct gr_cuda *cuda, int pushed)
{
    CUcontext ours;

    if (pushed) {
        (void) cuda->cuCtxPopCurrent(&ours);
    }
}

/* Number of the context that is current, never given to another; 0: the driver has none. */
static unsigned long long current_id(const struct gr_cuda *cuda)
{
    unsigned long long id = 0;

    if (NULL == cuda->cuCtxGetId || CUDA_SUCCESS != cuda->cuCtxGetId(NULL, &id)) {
        return 0;
    }
    return id;
}

int gr_cuda_primary(struct gr_gpus *gpus, int ordinal, CUcontext *context)
{
    const struct gr_cuda *cuda = &gpus->cuda;
    struct gr_gpu_slot *slot = &gpus->slots[ordinal];
    int pushed, rc;

    *context = slot->primary;
    if (NULL != slot->primary) {
        return 0;
    }
    rc = GR_CUDA(cuda, cuDevicePrimaryCtxRetain, context, slot->device);
    if (rc < 0) {
        return rc;
    }
    rc = gr_cuda_enter(cuda, *context, &pushed);
    if (rc < 0) {
        (void) cuda->cuDevicePrimaryCtxRelease(slot->device);
        return rc;
    }
    slot->id = current_id(cuda);
    slot->primary = *context;
    gr_cuda_leave(cuda, pushed);
    return 0;
}

int gr_cuda_enter_alive(struct gr_gpus *gpus, int ordinal, int *pushed)
{
    const struct gr_cuda *cuda = &gpus->cuda;
    const struct gr_gpu_slot *slot = &gpus->slots[ordinal];
    unsigned int flags;
    int active = 0, rc = GR_CUDA(cuda, cuDevicePrimaryCtxGetState, slot->device, &flags, &active);

    *pushed = 0;
    if (0 == rc && active) {
        rc = gr_cuda_enter(cuda, slot->primary, pushed);
    }
    if (rc < 0) {
        return rc;
    }
    if (!active || current_id(cuda) != slot->id) {
        gr_cuda_leave(cuda, *pushed);
        gr_cuda_say("the context of device %d was reset", ordinal);
        return GR_ERR_CUDA;
    }
    return 0;
}

int gr_cuda_ordinal(const struct gr_gpus *gpus, CUdevice device)
{
    int k;

    for (k = 0; k < gpus->count; k++) {
        if (gpus->slots[k].device == device) {
            return k;
        }
    }
    return -1;
}

/* Whether the device can use memory of another; makes it so. The lock is held. */
static int enable_peer(struct gr_gpu *gpu, int other)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    const struct gr_gpu_slot *slots = gpu->gpus->slots;
    CUcontext context;
    CUresult result;
    int can = 0, pushed;

    if (0 != GR_CUDA(cuda, cuDeviceCanAccessPeer, &can, slots[gpu->ordinal].device, slots[other].device) || !can ||
        gr_cuda_primary(gpu->gpus, other, &context) < 0 || gr_cuda_enter(cuda, gpu->context, &pushed) < 0) {
        return 0;
    }
    result = cuda->cuCtxEnablePeerAccess(context, 0);
    gr_cuda_leave(cuda, pushed);
    /* the application may have done it */
    return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED == result ||
           0 == gr_cuda_check(cuda, "cuCtxEnablePeerAccess", result);
}

int gr_gpu_reaches(struct gr_gpu *gpu, int other)
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
    if (GR_REACH_UNKNOWN == gpu->reach[other]) {
        gpu->reach[other] = enable_peer(gpu, other) ? GR_REACH_YES : GR_REACH_NO;
    }
    yes = GR_REACH_YES == gpu->reach[other];
    pthread_mutex_unlock(&gpus->lock);
    return yes;
}
