/* SPDX-License-Identifier: BSD-3-Clause */
/* The compiled kernels for all architectures of the build: a fatbin in this object's data. */
#ifndef GR_CUDA_IMAGE_H
#define GR_CUDA_IMAGE_H

#include <stddef.h>

extern const unsigned char gr_cuda_image[];
extern const unsigned char gr_cuda_image_end[];

/* The version of the toolkit that compiled the kernels, as CUDA_VERSION: 13000 is CUDA 13.0. */
extern const int gr_cuda_image_toolkit;

#endif
