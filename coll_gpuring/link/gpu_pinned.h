/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs in pages of the host slab, which both processes pin. Internal to gpu_*.c. */
#ifndef GR_LINK_GPU_PINNED_H
#define GR_LINK_GPU_PINNED_H

#include "link/gpu_slab.h"

extern const struct gr_gpu_memory gr_gpu_pinned_memory;

#endif
