/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory and pinned host memory (memory.h). */
#include "cuda/memory.h"

#include "cuda/context.h"
#include "cuda/state.h"
#include "topo/numa.h"

#include <string.h>

int gr_gpu_alloc(struct gr_gpu *gpu, size_t bytes, gr_gpu_ptr *at)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUdeviceptr base = 0;
    int rc;

    GR_IN_CONTEXT(rc, gpu, GR_CUDA(cuda, cuMemAlloc, &base, bytes));
    *at = 0 == rc ? base : 0;
    return rc;
}

void gr_gpu_free(struct gr_gpu *gpu, gr_gpu_ptr at)
{
    struct gr_cuda_saved saved;

    if (0 != at && 0 == gr_cuda_enter_alive(gpu->gpus, gpu->ordinal, &saved)) {
        (void) gpu->gpus->cuda.cuMemFree(at);
        gr_cuda_leave(&gpu->gpus->cuda, &saved);
    }
}

/* ---- pinned memory ---- */

/* The device address of pinned memory. The context is current. */
static int device_address(const struct gr_cuda *cuda, void *base, gr_gpu_ptr *at)
{
    CUdeviceptr address = 0;
    int rc = GR_CUDA(cuda, cuMemHostGetDevicePointer, &address, base, 0);

    *at = address;
    return rc;
}

void *gr_gpu_host_alloc(struct gr_gpu *gpu, size_t bytes)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    struct gr_numa_saved policy;
    void *base = NULL;
    gr_gpu_ptr at;
    struct gr_cuda_saved saved;
    int rc;

    if (0 != gr_cuda_enter(cuda, gpu->context, &saved)) {
        return NULL;
    }
    (void) gr_numa_prefer(gpu->numa, &policy);
    rc = GR_CUDA(cuda, cuMemHostAlloc, &base, bytes,
                 CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    gr_numa_restore(&policy);
    if (0 != rc) {
        base = NULL;
    } else if (0 != device_address(cuda, base, &at) || at != gr_cuda_ptr(base)) {
        (void) cuda->cuMemFreeHost(base);
        base = NULL;
    } else {
        memset(base, 0, bytes);
    }
    gr_cuda_leave(cuda, &saved);
    return base;
}

void gr_gpu_host_free(struct gr_gpu *gpu, void *at)
{
    struct gr_cuda_saved saved;

    if (NULL != at && 0 == gr_cuda_enter_alive(gpu->gpus, gpu->ordinal, &saved)) {
        (void) gpu->gpus->cuda.cuMemFreeHost(at);
        gr_cuda_leave(&gpu->gpus->cuda, &saved);
    }
}

int gr_gpu_host_pin(struct gr_gpu *gpu, void *base, size_t bytes, gr_gpu_ptr *at)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    struct gr_cuda_saved saved;
    int rc = gr_cuda_enter(cuda, gpu->context, &saved);

    if (rc < 0) {
        return rc;
    }
    rc = GR_CUDA(cuda, cuMemHostRegister, base, bytes,
                 CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (0 == rc) {
        rc = device_address(cuda, base, at);
        if (rc < 0) {
            (void) cuda->cuMemHostUnregister(base);
        }
    }
    gr_cuda_leave(cuda, &saved);
    return rc;
}

void gr_gpu_host_unpin(struct gr_gpu *gpu, void *base)
{
    struct gr_cuda_saved saved;

    if (0 == gr_cuda_enter_alive(gpu->gpus, gpu->ordinal, &saved)) {
        (void) gpu->gpus->cuda.cuMemHostUnregister(base);
        gr_cuda_leave(&gpu->gpus->cuda, &saved);
    }
}
