/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts of devices (state.h): current for a moment, retained, reset by others, and at each
 * other's memory.
 */
#include "cuda/state.h"

CUstreamCaptureMode gr_cuda_relax(const struct gr_cuda *cuda)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    (void) cuda->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

void gr_cuda_restore(const struct gr_cuda *cuda, CUstreamCaptureMode mode)
{
    (void) cuda->cuThreadExchangeStreamCaptureMode(&mode);
}

int gr_cuda_enter(const struct gr_cuda *cuda, CUcontext context, struct gr_cuda_saved *saved)
{
    CUcontext current = NULL;
    int rc;

    saved->pushed = 0;
    saved->mode = gr_cuda_relax(cuda);
    if (CUDA_SUCCESS == cuda->cuCtxGetCurrent(&current) && context == current) {
        return 0;
    }
    rc = GR_CUDA(cuda, cuCtxPushCurrent, context);
    saved->pushed = 0 == rc;
    if (rc < 0) {
        gr_cuda_restore(cuda, saved->mode);
    }
    return rc;
}

void gr_cuda_leave(const struct gr_cuda *cuda, const struct gr_cuda_saved *saved)
{
    CUcontext ours;

    if (saved->pushed) {
        (void) cuda->cuCtxPopCurrent(&ours);
    }
    gr_cuda_restore(cuda, saved->mode);
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
    struct gr_cuda_saved saved;
    CUstreamCaptureMode mode;
    int rc;

    *context = slot->primary;
    if (NULL != *context) {
        return 0;
    }
    mode = gr_cuda_relax(cuda);
    rc = GR_CUDA(cuda, cuDevicePrimaryCtxRetain, context, slot->device);
    if (0 == rc) {
        rc = gr_cuda_enter(cuda, *context, &saved);
        if (rc < 0) {
            (void) cuda->cuDevicePrimaryCtxRelease(slot->device);
        }
    }
    if (0 == rc) {
        slot->id = current_id(cuda);
        slot->primary = *context;
        gr_cuda_leave(cuda, &saved);
    }
    gr_cuda_restore(cuda, mode);
    return rc;
}

int gr_cuda_enter_alive(struct gr_gpus *gpus, int ordinal, struct gr_cuda_saved *saved)
{
    const struct gr_cuda *cuda = &gpus->cuda;
    const struct gr_gpu_slot *slot = &gpus->slots[ordinal];
    unsigned int flags;
    int active = 0, rc = GR_CUDA(cuda, cuDevicePrimaryCtxGetState, slot->device, &flags, &active);

    if (0 == rc && active) {
        rc = gr_cuda_enter(cuda, slot->primary, saved);
    }
    if (rc < 0) {
        return rc;
    }
    if (!active || current_id(cuda) != slot->id) {
        if (active) {
            gr_cuda_leave(cuda, saved);
        }
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
