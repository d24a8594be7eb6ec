/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory and pinned host memory. */
#ifndef GR_CUDA_MEMORY_H
#define GR_CUDA_MEMORY_H

#include "cuda/device.h"
#include "exec/gpu/args.h"

#include <stddef.h>

/*
 * Allocate device memory: not initialised, 256-byte aligned. Returns 0, GR_ERR_GPU_SPACE or
 * GR_ERR_CUDA.
 */
int gr_gpu_alloc(struct gr_gpu *gpu, size_t bytes, gr_gpu_ptr *at);
void gr_gpu_free(struct gr_gpu *gpu, gr_gpu_ptr at);

/*
 * Allocate zeroed pinned host memory near the device. The host and all devices of this process use
 * it at the same address. Returns NULL on error.
 */
void *gr_gpu_host_alloc(struct gr_gpu *gpu, size_t bytes);
void gr_gpu_host_free(struct gr_gpu *gpu, void *at);

/* Pin whole pages of existing host memory. *at: their address for the devices. */
int gr_gpu_host_pin(struct gr_gpu *gpu, void *base, size_t bytes, gr_gpu_ptr *at);
void gr_gpu_host_unpin(struct gr_gpu *gpu, void *base);

#endif
