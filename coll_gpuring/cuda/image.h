/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels, compiled for all architectures that we build for, as bytes of this object (a
 * fatbin).
 */
#ifndef GR_CUDA_IMAGE_H
#define GR_CUDA_IMAGE_H

#include <stddef.h>

extern const unsigned char gr_cuda_image[];
extern const unsigned char gr_cuda_image_end[];

#endif
