/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory and pinned host memory (memory.h). */
#include "cuda/memory.h"

#include "base/memory.h"
#include "cuda/context.h"
#include "topo/cpus.h"

#include <string.h>

int gr_gpu_alloc(struct gr_gpu *gpu, size_t bytes, gr_gpu_ptr *at)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUdeviceptr base = 0;
    int rc = GR_IN_CONTEXT(gpu, GR_CUDA(cuda, cuMemAlloc, &base, bytes));

    *at = 0 == rc ? base : 0;
    return rc;
}

void gr_gpu_free(struct gr_gpu *gpu, gr_gpu_ptr at)
{
    if (0 != at) {
        (void) GR_IN_LIVE_CONTEXT(gpu, gpu->gpus->cuda.cuMemFree(at));
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
    if (NULL != at) {
        (void) GR_IN_LIVE_CONTEXT(gpu, gpu->gpus->cuda.cuMemFreeHost(at));
    }
}

/* gr_gpu_host_pin(); the context is current. */
static int pin(const struct gr_cuda *cuda, void *base, size_t bytes, gr_gpu_ptr *at)
{
    int rc = GR_CUDA(cuda, cuMemHostRegister, base, bytes,
                     CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);

    if (0 == rc) {
        rc = device_address(cuda, base, at);
        if (rc < 0) {
            (void) cuda->cuMemHostUnregister(base);
        }
    }
    return rc;
}

int gr_gpu_host_pin(struct gr_gpu *gpu, void *base, size_t bytes, gr_gpu_ptr *at)
{
    return GR_IN_CONTEXT(gpu, pin(&gpu->gpus->cuda, base, bytes, at));
}

void gr_gpu_host_unpin(struct gr_gpu *gpu, void *base)
{
    (void) GR_IN_LIVE_CONTEXT(gpu, gpu->gpus->cuda.cuMemHostUnregister(base));
}

/* ---- memory of other processes ---- */

_Static_assert(GR_GPU_IPC_BYTES == sizeof(CUipcMemHandle), "size of the driver's handles");

int gr_gpu_ipc_export(struct gr_gpu *gpu, gr_gpu_ptr at, unsigned char handle[GR_GPU_IPC_BYTES])
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUipcMemHandle h = {.reserved = {0}};

    if (0 != GR_IN_CONTEXT(gpu, GR_CUDA(cuda, cuIpcGetMemHandle, &h, at))) {
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
    int rc;

    memcpy(&h, handle, sizeof(h));
    rc = GR_IN_CONTEXT(
        gpu, GR_CUDA(cuda, cuIpcOpenMemHandle, &base, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    *at = base;
    return 0 == rc ? 0 : GR_ERR_PEER;
}

void gr_gpu_ipc_close(struct gr_gpu *gpu, gr_gpu_ptr at)
{
    (void) GR_IN_LIVE_CONTEXT(gpu, gpu->gpus->cuda.cuIpcCloseMemHandle(at));
}

int gr_gpu_ipc_range(struct gr_gpu *gpu, gr_gpu_ptr at, gr_gpu_ptr *base, size_t *bytes)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUdeviceptr first = 0;
    unsigned int capable = 0;

    if (CUDA_SUCCESS != cuda->cuPointerGetAttribute(
                            &capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at) ||
        !capable) {
        return GR_ERR_PEER;
    }
    if (0 != GR_IN_CONTEXT(gpu, GR_CUDA(cuda, cuMemGetAddressRange, &first, bytes, at))) {
        return GR_ERR_PEER;
    }
    *base = first;
    return 0;
}

uint64_t gr_gpus_buffer_id(const struct gr_gpus *gpus, gr_gpu_ptr at)
{
    unsigned long long id = 0;

    if (CUDA_SUCCESS != gpus->cuda.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at)) {
        return 0;
    }
    return id;
}

int gr_gpus_buffer_exists(const struct gr_gpus *gpus, gr_gpu_ptr at, uint64_t id)
{
    CUpointer_attribute name = CU_POINTER_ATTRIBUTE_BUFFER_ID;
    unsigned long long now = 0;
    void *value = &now;

    return 0 != id && CUDA_SUCCESS == gpus->cuda.cuPointerGetAttributes(1, &name, &value, at) &&
           now == id;
}

/* ---- GPUDirect RDMA ---- */

/* The value of a device attribute; 0 if the driver does not know it. */
static int attribute(const struct gr_gpu *gpu, CUdevice_attribute which)
{
    CUdevice device = gpu->gpus->slots[gpu->ordinal].device;
    int value = 0;

    return CUDA_SUCCESS == gpu->gpus->cuda.cuDeviceGetAttribute(&value, which, device) ? value : 0;
}

enum gr_gpu_rdma gr_gpu_rdma(const struct gr_gpu *gpu)
{
    int options = attribute(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);

    if (0 == attribute(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED)) {
        return GR_RDMA_NONE;
    }
    if (attribute(gpu, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >=
        CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER) {
        return GR_RDMA_ORDERED;
    }
    return 0 != (options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) &&
                   NULL != gpu->gpus->cuda.cuFlushGPUDirectRDMAWrites
               ? GR_RDMA_FLUSH
               : GR_RDMA_NONE;
}

int gr_gpu_flush(struct gr_gpu *gpu)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;

    return GR_IN_CONTEXT(gpu, GR_CUDA(cuda, cuFlushGPUDirectRDMAWrites,
                                      CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                      CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
}

/* ---- SYNC_MEMOPS ---- */

/* Make room for one more entry: in the place of allocations that were freed, or at the end. */
static int reserve_mark(struct gr_gpus *gpus)
{
    size_t room = 0 == gpus->marked_room ? 64 : 2 * gpus->marked_room, n = 0, k;
    struct gr_gpu_marked *marked;

    if (gpus->nmarked < gpus->marked_room) {
        return 1;
    }
    for (k = 0; k < gpus->nmarked; k++) {
        if (gr_gpus_buffer_exists(gpus, gpus->marked[k].start, gpus->marked[k].id)) {
            gpus->marked[n++] = gpus->marked[k];
        }
    }
    gpus->nmarked = n;
    if (2 * n < gpus->marked_room) {
        return 1;
    }
    marked = gr_realloc(gpus->marked, room * sizeof(*marked));
    if (NULL == marked) {
        return 0;
    }
    gpus->marked = marked;
    gpus->marked_room = room;
    return 1;
}

void gr_marks_set(struct gr_gpus *gpus, gr_gpu_ptr start, uint64_t id, int is_set)
{
    unsigned int yes = 1;

    /* the driver refuses it for some kinds of memory, which their stream synchronises */
    if (is_set || CUDA_SUCCESS != gpus->cuda.cuPointerSetAttribute(
                                      &yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, start)) {
        return;
    }
    pthread_mutex_lock(&gpus->marks_lock);
    if (0 != id && reserve_mark(gpus)) {
        gpus->marked[gpus->nmarked++] = (struct gr_gpu_marked) {start, id};
    }
    pthread_mutex_unlock(&gpus->marks_lock);
}

void gr_marks_clear(struct gr_gpus *gpus)
{
    CUstreamCaptureMode mode;
    unsigned int no = 0;
    size_t k;

    pthread_mutex_lock(&gpus->marks_lock);
    mode = gr_cuda_relax(&gpus->cuda);
    for (k = 0; k < gpus->nmarked; k++) {
        if (gr_gpus_buffer_exists(gpus, gpus->marked[k].start, gpus->marked[k].id)) {
            (void) gpus->cuda.cuPointerSetAttribute(&no, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                                    gpus->marked[k].start);
        }
    }
    gpus->nmarked = 0;
    gr_cuda_restore(&gpus->cuda, mode);
    pthread_mutex_unlock(&gpus->marks_lock);
}
