/* SPDX-License-Identifier: BSD-3-Clause */
/* GPUDirect RDMA: device memory that network adapters write to. */
#ifndef GR_CUDA_RDMA_H
#define GR_CUDA_RDMA_H

#include "cuda/device.h"

/*
 * What it takes to make RDMA writes visible to kernels, once the host has seen their completion and
 * before it signals the kernels through memory.
 */
enum gr_gpu_rdma {
    GR_RDMA_NONE,   /* not possible: no GPUDirect RDMA, or no flush */
    GR_RDMA_FLUSH,  /* a call of gr_gpu_flush() */
    GR_RDMA_ORDERED /* nothing */
};
enum gr_gpu_rdma gr_gpu_rdma(const struct gr_gpu *gpu);

/*
 * Wait until completed RDMA writes to the device's memory are visible to its kernels. Returns 0 or
 * GR_ERR_CUDA.
 */
int gr_gpu_flush(struct gr_gpu *gpu);

#endif
