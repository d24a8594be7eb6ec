/* SPDX-License-Identifier: BSD-3-Clause */
/* Access of devices to memory of their own and of each other. */
#ifndef GR_CUDA_PEER_H
#define GR_CUDA_PEER_H

#include "cuda/device.h"
#include "cuda/pointer.h"

/*
 * Whether kernels on gpu can access memory of device `other` of this process. Enables peer access.
 * Returns 1 or 0.
 */
int gr_gpu_can_access(struct gr_gpu *gpu, int other);

/*
 * Whether kernels on gpu can read and write `bytes` of device memory of this process: p is what
 * gr_pointer_find() returned for the first byte, a part of the primary context of p.device or of
 * none. Peer access is enabled where that gives access; rights of pools and mappings are the
 * application's and stay as they are. Returns 1 or 0.
 */
int gr_gpu_can_use(struct gr_gpu *gpu, const struct gr_pointer *p, size_t bytes);

#endif
