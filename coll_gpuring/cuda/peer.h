/* SPDX-License-Identifier: BSD-3-Clause */
/* Access of devices to each other's memory. */
#ifndef GR_CUDA_PEER_H
#define GR_CUDA_PEER_H

#include "cuda/device.h"

/*
 * Whether kernels on gpu can access memory of device `other` of this process. Enables peer access.
 * Returns 1 or 0.
 */
int gr_gpu_can_access(struct gr_gpu *gpu, int other);

#endif
