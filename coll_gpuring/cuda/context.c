/* SPDX-License-Identifier: BSD-3-Clause */
/* The contexts of devices, and their default streams (context.h). */
#include "cuda/context.h"

#include <stdlib.h>

/* The context of this thread's innermost bracket; NULL: none is open. */
static _Thread_local CUcontext entered;

CUstreamCaptureMode gr_cuda_relax(const struct gr_cuda *cuda)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    if (NULL == entered) {
        (void) cuda->cuThreadExchangeStreamCaptureMode(&mode);
    }
    return mode;
}

void gr_cuda_restore(const struct gr_cuda *cuda, CUstreamCaptureMode mode)
{
    if (CU_STREAM_CAPTURE_MODE_RELAXED != mode) {
        (void) cuda->cuThreadExchangeStreamCaptureMode(&mode);
    }
}

int gr_cuda_enter(const struct gr_cuda *cuda, CUcontext context, struct gr_cuda_saved *saved)
{
    CUcontext current = NULL;
    int rc = 0;

    saved->within = entered;
    saved->pushed = 0;
    if (context == entered) {
        return 0;
    }
    saved->mode = gr_cuda_relax(cuda);
    if (CUDA_SUCCESS != cuda->cuCtxGetCurrent(&current) || context != current) {
        rc = GR_CUDA(cuda, cuCtxPushCurrent, context);
        saved->pushed = 0 == rc;
    }
    if (rc < 0) {
        gr_cuda_restore(cuda, saved->mode);
    } else {
        entered = context;
    }
    return rc;
}

void gr_cuda_leave(const struct gr_cuda *cuda, const struct gr_cuda_saved *saved)
{
    CUcontext popped;

    if (saved->within == entered) { /* within a bracket of the same context */
        return;
    }
    entered = saved->within;
    if (saved->pushed) {
        (void) cuda->cuCtxPopCurrent(&popped);
    }
    gr_cuda_restore(cuda, saved->mode);
}

/* The unique id of the current context; 0: the driver has no ids. */
static unsigned long long current_id(const struct gr_cuda *cuda)
{
    unsigned long long id = 0;

    if (NULL == cuda->cuCtxGetId || CUDA_SUCCESS != cuda->cuCtxGetId(NULL, &id)) {
        return 0;
    }
    return id;
}

/*
 * Create the primary context. Each hardware queue takes memory in a context: under MPS, those of 4
 * processes with CUDA_DEVICE_MAX_CONNECTIONS=32 do not fit, and those of 8 without it do.
 */
static int retain_primary(const struct gr_cuda *cuda, CUdevice device, CUcontext *context)
{
    int rc = GR_CUDA(cuda, cuDevicePrimaryCtxRetain, context, device);
    const char *queues = GR_ERR_GPU_SPACE == rc ? getenv("CUDA_DEVICE_MAX_CONNECTIONS") : NULL;

    if (NULL != queues) {
        gr_gpu_error_set("cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY "
                         "(CUDA_DEVICE_MAX_CONNECTIONS is %.20s, which takes memory in each "
                         "context: unset it)",
                         queues);
    }
    return rc;
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
    rc = retain_primary(cuda, slot->device, context);
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
    int active = 0, rc;

    if (NULL != entered &&
        slot->primary == entered) { /* it was alive when that bracket was opened */
        return gr_cuda_enter(cuda, entered, saved);
    }
    rc = GR_CUDA(cuda, cuDevicePrimaryCtxGetState, slot->device, &flags, &active);
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
        gr_gpu_error_set("the context of device %d was reset", ordinal);
        return GR_ERR_CUDA;
    }
    return 0;
}
