/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of devices, pinned memory, copies, and memory of other processes (device.h). */
#include "cuda/state.h"

#include "topo/numa.h"

#include <string.h>

_Static_assert(GR_GPU_IPC_BYTES == sizeof(CUipcMemHandle),
               "a handle is what the driver says it is");

int gr_gpu_alloc(struct gr_gpu *gpu, size_t bytes, gr_gpu_ptr *at)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUdeviceptr base = 0;
    struct gr_cuda_saved saved;
    int rc = gr_cuda_enter(cuda, gpu->context, &saved);

    if (0 == rc) {
        rc = GR_CUDA(cuda, cuMemAlloc, &base, bytes);
        gr_cuda_leave(cuda, &saved);
    }
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

/* The address of pinned memory for the devices. The context is current. */
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

/* ---- copies ---- */

/* Wait for what the application has put on the default stream of the current context. */
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
 * Wait for what the application has put on the default stream of the context that is current, but
 * of one context: the application works in a context of its own, or on another device.
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
        return 0; /* and with it what was to be waited for */
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
    struct gr_cuda_saved saved;
    int rc = gr_cuda_enter(cuda, gpu->context, &saved);

    if (0 == rc) {
        rc = gr_cuda_check(cuda, "cuStreamSynchronize", wait_default(cuda));
        gr_cuda_leave(cuda, &saved);
    }
    return rc;
}

/* Bytes from one row to the next: what every device takes. */
#define MOST_PITCH ((ptrdiff_t) INT32_MAX)

static ptrdiff_t apart(const void *a, const void *b)
{
    return (ptrdiff_t) ((uintptr_t) b - (uintptr_t) a);
}

int gr_gpu_run_join(struct gr_gpu_run *run, const struct gr_gpu_run *next)
{
    ptrdiff_t bytes = (ptrdiff_t) run->bytes, dst = apart(run->dst, next->dst),
              src = apart(run->src, next->src);
    ptrdiff_t rows = (ptrdiff_t) run->more;

    if (0 != next->more) {
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
        if (dst < bytes || src < bytes || dst > MOST_PITCH || src > MOST_PITCH) {
            return 0;
        }
        run->dst_pitch = (size_t) dst;
        run->src_pitch = (size_t) src;
    } else if (dst != (rows + 1) * (ptrdiff_t) run->dst_pitch ||
               src != (rows + 1) * (ptrdiff_t) run->src_pitch) {
        return 0;
    }
    run->more++;
    return 1;
}

int gr_cuda_copy_run(const struct gr_cuda *cuda, const struct gr_gpu_run *run, CUstream stream)
{
    const CUDA_MEMCPY2D c = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = gr_cuda_ptr(run->src),
        .srcPitch = run->src_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = gr_cuda_ptr(run->dst),
        .dstPitch = run->dst_pitch,
        .WidthInBytes = run->bytes,
        .Height = run->more + 1,
    };

    if (0 == run->bytes) {
        return 0;
    }
    return 0 == run->more
               ? GR_CUDA(cuda, cuMemcpyAsync, c.dstDevice, c.srcDevice, run->bytes, stream)
               : GR_CUDA(cuda, cuMemcpy2DAsync, &c, stream);
}

/*
 * On the legacy default stream, since work there comes first; our own streams are not ordered with
 * it, so that kernels of ours may be running.
 */
int gr_gpu_copy_runs(struct gr_gpu *gpu, const struct gr_gpu_run *runs, size_t n)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    struct gr_cuda_saved saved;
    CUstream stream;
    int rc;
    size_t k;

    rc = wait_for_current(cuda, gpu->context);
    if (0 == rc) {
        rc = gr_cuda_enter(cuda, gpu->context, &saved);
    }
    if (rc < 0) {
        return rc;
    }
    rc = gr_cuda_check(cuda, "the default stream", gr_cuda_default_open(cuda, &stream));
    if (rc < 0) {
        gr_cuda_leave(cuda, &saved);
        return rc;
    }
    for (k = 0; k < n && 0 == rc; k++) {
        rc = gr_cuda_copy_run(cuda, &runs[k], stream);
    }
    if (0 == rc) {
        rc = GR_CUDA(cuda, cuStreamSynchronize, stream);
    }
    gr_cuda_default_close(cuda, stream);
    gr_cuda_leave(cuda, &saved);
    return rc;
}

int gr_gpu_copy(struct gr_gpu *gpu, void *dst, const void *src, size_t bytes)
{
    const struct gr_gpu_run run = {.dst = dst, .src = src, .bytes = bytes};

    return 0 == bytes ? 0 : gr_gpu_copy_runs(gpu, &run, 1);
}

/* ---- memory of other processes ---- */

int gr_gpu_ipc_export(struct gr_gpu *gpu, gr_gpu_ptr at, unsigned char handle[GR_GPU_IPC_BYTES])
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUipcMemHandle h;
    struct gr_cuda_saved saved;
    int rc = gr_cuda_enter(cuda, gpu->context, &saved);

    if (rc < 0) {
        return rc;
    }
    rc = GR_CUDA(cuda, cuIpcGetMemHandle, &h, at);
    gr_cuda_leave(cuda, &saved);
    if (rc < 0) {
        return GR_ERR_PEER;
    }
    memcpy(handle, &h, sizeof(h));
    return 0;
}

int gr_gpu_ipc_open(struct gr_gpu *gpu, const unsigned char handle[GR_GPU_IPC_BYTES],
                    gr_gpu_ptr *at)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUipcMemHandle h;
    CUdeviceptr base = 0;
    struct gr_cuda_saved saved;
    int rc = gr_cuda_enter(cuda, gpu->context, &saved);

    if (rc < 0) {
        return rc;
    }
    memcpy(&h, handle, sizeof(h));
    rc = GR_CUDA(cuda, cuIpcOpenMemHandle, &base, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    gr_cuda_leave(cuda, &saved);
    *at = base;
    return 0 == rc ? 0 : GR_ERR_PEER;
}

void gr_gpu_ipc_close(struct gr_gpu *gpu, gr_gpu_ptr at)
{
    struct gr_cuda_saved saved;

    if (0 == gr_cuda_enter_alive(gpu->gpus, gpu->ordinal, &saved)) {
        (void) gpu->gpus->cuda.cuIpcCloseMemHandle(at);
        gr_cuda_leave(&gpu->gpus->cuda, &saved);
    }
}

int gr_gpu_ipc_range(struct gr_gpu *gpu, gr_gpu_ptr at, gr_gpu_ptr *base, size_t *bytes)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUdeviceptr first = 0;
    unsigned int capable = 0;
    struct gr_cuda_saved saved;
    int rc;

    if (CUDA_SUCCESS != cuda->cuPointerGetAttribute(
                            &capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at) ||
        !capable) {
        return GR_ERR_PEER;
    }
    rc = gr_cuda_enter(cuda, gpu->context, &saved);
    if (0 == rc) {
        rc = GR_CUDA(cuda, cuMemGetAddressRange, &first, bytes, at);
        gr_cuda_leave(cuda, &saved);
    }
    *base = first;
    return 0 == rc ? 0 : GR_ERR_PEER;
}

/* 0 where the driver does not know it. */
static int attribute(const struct gr_gpu *gpu, CUdevice_attribute which)
{
    CUdevice device = gpu->gpus->slots[gpu->ordinal].device;
    int value = 0;

    return CUDA_SUCCESS == gpu->gpus->cuda.cuDeviceGetAttribute(&value, which, device) ? value : 0;
}

enum gr_gpu_direct gr_gpu_direct(const struct gr_gpu *gpu)
{
    int options = attribute(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);

    if (0 == attribute(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED)) {
        return GR_DIRECT_NO;
    }
    if (attribute(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >=
        CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER) {
        return GR_DIRECT_ORDERED;
    }
    return 0 != (options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) &&
                   NULL != gpu->gpus->cuda.cuFlushGPUDirectRDMAWrites
               ? GR_DIRECT_FLUSHED
               : GR_DIRECT_NO;
}

int gr_gpu_flush(struct gr_gpu *gpu)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    struct gr_cuda_saved saved;
    int rc = gr_cuda_enter(cuda, gpu->context, &saved);

    if (0 == rc) {
        rc = GR_CUDA(cuda, cuFlushGPUDirectRDMAWrites,
                     CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                     CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
        gr_cuda_leave(cuda, &saved);
    }
    return rc;
}

uint64_t gr_gpus_buffer_id(const struct gr_gpus *gpus, gr_gpu_ptr at)
{
    unsigned long long id = 0;

    if (CUDA_SUCCESS != gpus->cuda.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at)) {
        return 0;
    }
    return id;
}
