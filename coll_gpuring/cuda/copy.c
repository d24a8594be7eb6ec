/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies that the host waits for (copy.h). */
#include "cuda/copy.h"

#include "cuda/context.h"

/* Wait for the work on the default stream of the current context. */
static CUresult wait_default(const struct gr_cuda *cuda)
{
    CUstream stream;
    CUresult result = gr_cuda_default_open(cuda, &stream);

    if (CUDA_SUCCESS == result) {
        result = cuda->cuStreamSynchronize(stream);
        gr_cuda_default_close(cuda, stream);
    }
    return result;
}

/*
 * Wait for the work on the default stream of the current context, unless it is the context `but`.
 * The application may use a context of its own, or another device.
 */
static int wait_for_current(const struct gr_cuda *cuda, CUcontext but)
{
    CUcontext current = NULL;
    CUstreamCaptureMode mode;
    CUresult result;

    if (CUDA_SUCCESS != cuda->cuCtxGetCurrent(&current) || NULL == current || but == current) {
        return 0;
    }
    mode = gr_cuda_relax(cuda);
    result = wait_default(cuda);
    gr_cuda_restore(cuda, mode);
    if (CUDA_ERROR_CONTEXT_IS_DESTROYED == result || CUDA_ERROR_INVALID_CONTEXT == result) {
        return 0; /* its work is gone, too */
    }
    return gr_cuda_check(cuda, "cuStreamSynchronize", result);
}

int gr_gpus_wait_current(struct gr_gpus *gpus, int but)
{
    return wait_for_current(&gpus->cuda, gpus->slots[but].primary);
}

int gr_gpu_wait_default(struct gr_gpu *gpu)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    int rc;

    GR_TRY_IN_CONTEXT(rc, gpu, gr_cuda_check(cuda, "cuStreamSynchronize", wait_default(cuda)));
    return rc;
}

/* Largest pitch of a 2D copy, in bytes, that every device supports. */
#define MAX_PITCH ((ptrdiff_t) INT32_MAX)

static ptrdiff_t distance(const void *a, const void *b)
{
    return (ptrdiff_t) ((uintptr_t) b - (uintptr_t) a);
}

int gr_gpu_run_join(struct gr_gpu_run *run, const struct gr_gpu_run *next)
{
    ptrdiff_t bytes = (ptrdiff_t) run->bytes, dst = distance(run->dst, next->dst),
              src = distance(run->src, next->src);
    ptrdiff_t rows = (ptrdiff_t) run->more_rows;

    if (0 != next->more_rows) {
        return 0;
    }
    if (0 == rows && dst == bytes && src == bytes) {
        run->bytes += next->bytes;
        return 1;
    }
    if (run->bytes != next->bytes) {
        return 0;
    }
    if (0 == rows) {
        if (dst < bytes || src < bytes || dst > MAX_PITCH || src > MAX_PITCH) {
            return 0;
        }
        run->dst_pitch = (size_t) dst;
        run->src_pitch = (size_t) src;
    } else if (dst != (rows + 1) * (ptrdiff_t) run->dst_pitch ||
               src != (rows + 1) * (ptrdiff_t) run->src_pitch) {
        return 0;
    }
    run->more_rows++;
    return 1;
}

static int copy_run(const struct gr_cuda *cuda, const struct gr_gpu_run *run, CUstream stream)
{
    const CUDA_MEMCPY2D c = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = gr_cuda_ptr(run->src),
        .srcPitch = run->src_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = gr_cuda_ptr(run->dst),
        .dstPitch = run->dst_pitch,
        .WidthInBytes = run->bytes,
        .Height = run->more_rows + 1,
    };

    if (0 == run->bytes) {
        return 0;
    }
    return 0 == run->more_rows
               ? GR_CUDA(cuda, cuMemcpyAsync, c.dstDevice, c.srcDevice, run->bytes, stream)
               : GR_CUDA(cuda, cuMemcpy2DAsync, &c, stream);
}

int gr_cuda_copy_runs(const struct gr_cuda *cuda, const struct gr_gpu_run *runs, size_t n,
                      CUstream stream)
{
    size_t k;
    int rc = 0;

    for (k = 0; k < n && 0 == rc; k++) {
        rc = copy_run(cuda, &runs[k], stream);
    }
    return rc;
}

/*
 * The copies use the legacy default stream, so that they follow the application's work. gpuring's
 * own streams are not ordered with it, so its kernels may run at the same time.
 */
static int copy_runs(const struct gr_cuda *cuda, const struct gr_gpu_run *runs, size_t n)
{
    CUstream stream;
    int rc = gr_cuda_check(cuda, "the default stream", gr_cuda_default_open(cuda, &stream));

    if (rc < 0) {
        return rc;
    }
    rc = gr_cuda_copy_runs(cuda, runs, n, stream);
    if (0 == rc) {
        rc = GR_CUDA(cuda, cuStreamSynchronize, stream);
    }
    gr_cuda_default_close(cuda, stream);
    return rc;
}

int gr_gpu_copy_runs(struct gr_gpu *gpu, const struct gr_gpu_run *runs, size_t n)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    int rc = wait_for_current(cuda, gpu->context);

    if (0 == rc) {
        GR_TRY_IN_CONTEXT(rc, gpu, copy_runs(cuda, runs, n));
    }
    return rc;
}

int gr_gpu_copy(struct gr_gpu *gpu, void *dst, const void *src, size_t bytes)
{
    const struct gr_gpu_run run = {.dst = dst, .src = src, .bytes = bytes};

    return 0 == bytes ? 0 : gr_gpu_copy_runs(gpu, &run, 1);
}
