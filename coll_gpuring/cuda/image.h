/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The compiled kernels for all architectures of the build, a fatbin in this object's data, and
 * loading them. Internal to cuda/.
 */
#ifndef GR_CUDA_IMAGE_H
#define GR_CUDA_IMAGE_H

#include "cuda/context.h"

extern const unsigned char gr_cuda_image[];
extern const unsigned char gr_cuda_image_end[];

/* The version of the toolkit that compiled the kernels, as CUDA_VERSION: 13000 is CUDA 13.0. */
extern const int gr_cuda_image_toolkit;

/*
 * A kernel of the device, loaded when it is first asked for: that takes some milliseconds, and the
 * driver may wait for kernels that run, which of gpuring's leave in bounded time. The library must be
 * loaded and the context current. Returns 0 or an error, after which the next call tries again.
 */
int gr_cuda_kernel(struct gr_gpu *gpu, enum gr_kernel_entry entry, enum gr_kernel which,
                   CUfunction *function);

/*
 * Load a library of kernels to a device, which has none, and one kernel of it, which shows that the
 * image has code for the device. The lock of gpus is held. Returns 0 or an error, as
 * gr_gpu_load_kernels().
 */
int gr_cuda_load_library(struct gr_gpu *gpu, const void *image);

#endif
