/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs in device memory: cut from arenas, which peers map by CUDA IPC. Internal to gpu_*.c. */
#ifndef GR_LINK_GPU_DEVICE_H
#define GR_LINK_GPU_DEVICE_H

#include "link/gpu_slab.h"

extern const struct gr_gpu_memory gr_gpu_device_memory;

#endif
