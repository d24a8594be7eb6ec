/* SPDX-License-Identifier: BSD-3-Clause */
/* GPUDirect RDMA of a device (rdma.h). */
#include "cuda/rdma.h"

#include "cuda/context.h"
#include "cuda/state.h"

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
    int rc;

    GR_IN_CONTEXT(rc, gpu,
                  GR_CUDA(cuda, cuFlushGPUDirectRDMAWrites,
                          CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                          CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    return rc;
}
