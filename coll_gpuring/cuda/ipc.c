/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory of other processes (ipc.h). */
#include "cuda/ipc.h"

#include "cuda/context.h"
#include "cuda/state.h"

#include <string.h>

_Static_assert(GR_GPU_IPC_BYTES == sizeof(CUipcMemHandle), "size of the driver's handles");

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
    int rc;

    if (CUDA_SUCCESS != cuda->cuPointerGetAttribute(
                            &capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at) ||
        !capable) {
        return GR_ERR_PEER;
    }
    GR_IN_CONTEXT(rc, gpu, GR_CUDA(cuda, cuMemGetAddressRange, &first, bytes, at));
    *base = first;
    return 0 == rc ? 0 : GR_ERR_PEER;
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
