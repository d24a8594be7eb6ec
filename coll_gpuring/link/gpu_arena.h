/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What pools of devices (gpu_pool.h) are made of, and what is known of it in the whole process:
 * arenas of device memory, numbered, so that a slab offered inside the process is found; and host
 * memory that is pinned, which two pools may use while the driver lets it be pinned only once.
 */
#ifndef GR_LINK_GPU_ARENA_H
#define GR_LINK_GPU_ARENA_H

#include "cuda/device.h"
#include "cuda/ipc.h"

/*
 * Arenas are multiples of this. The driver cuts smaller allocations out of blocks of that size and
 * exports the whole block, with whatever else lies in it.
 */
#define GR_ARENA_BYTES ((size_t) 2 << 20)

struct gr_arena {
    struct gr_arena *next; /* of the pool */
    struct gr_arena *link; /* of the process */
    struct gr_gpu *gpu;
    uint64_t number; /* in the process, from 1, never used twice */
    gr_gpu_ptr at;
    size_t bytes, used; /* used: what is cut into slabs */
    /* all zero: the driver gives no handle for other processes */
    unsigned char ipc[GR_GPU_IPC_BYTES];
};

/* Allocate an arena. 0, GR_ERR_NOMEM, GR_ERR_GPU_SPACE or GR_ERR_CUDA. */
int gr_arena_create(struct gr_gpu *gpu, size_t bytes, struct gr_arena **arena);
void gr_arena_destroy(struct gr_arena *arena);

/*
 * An arena of this process by its number: its device's ordinal and its address. 0, or
 * GR_ERR_FOREIGN: there is none.
 */
int gr_arena_find(uint64_t number, int *ordinal, gr_gpu_ptr *at);

/*
 * Pin whole pages, or count one more user of pages that are pinned already. 0, or what
 * gr_gpu_host_pin() returns, or GR_ERR_NOMEM. The last gr_pin_drop() unpins.
 */
int gr_pin_take(struct gr_gpu *gpu, void *base, size_t bytes, gr_gpu_ptr *at);
void gr_pin_drop(struct gr_gpu *gpu, void *base);

#endif
