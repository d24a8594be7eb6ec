/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known in the whole process about the memory of device pools (gpu_pool.h): the arenas of
 * device memory by number, so that a slab can be mapped in the process that owns it; and the pages
 * that are pinned, because several pools can use pages that the driver pins only once. Thread-safe.
 */
#ifndef GR_LINK_GPU_ARENA_H
#define GR_LINK_GPU_ARENA_H

#include "cuda/device.h"
#include "cuda/memory.h"

/*
 * Arenas are multiples of this. The driver cuts smaller allocations from blocks of this size, and
 * would export the whole block, with other allocations in it.
 */
#define GR_ARENA_BYTES ((size_t) 2 << 20)

/* An allocation of device memory. */
struct gr_arena {
    struct gr_arena *next;               /* of the pool */
    struct gr_arena *link;               /* of the process */
    struct gr_gpu *gpu;                  /* borrowed */
    uint64_t number;                     /* in the process: from 1, never reused */
    gr_gpu_ptr at;                       /* its address */
    size_t bytes;                        /* its size */
    size_t used;                         /* bytes cut into slabs, from the start */
    unsigned char ipc[GR_GPU_IPC_BYTES]; /* for other processes; all 0: it cannot be exported */
};

/* Allocate an arena. 0, GR_ERR_NOMEM, GR_ERR_GPU_SPACE or GR_ERR_CUDA. */
int gr_arena_create(struct gr_gpu *gpu, size_t bytes, struct gr_arena **arena);
void gr_arena_destroy(struct gr_arena *arena);

/* Device and address of an arena of this process. 0, or GR_ERR_FOREIGN: no arena has the number. */
int gr_arena_find(uint64_t number, int *ordinal, gr_gpu_ptr *at);

/*
 * Pin whole pages for one more user; the first pins, the last gr_pin_drop() unpins. at: the address
 * for devices. 0, GR_ERR_NOMEM, or an error of gr_gpu_host_pin().
 */
int gr_pin_take(struct gr_gpu *gpu, void *base, size_t bytes, gr_gpu_ptr *at);
void gr_pin_drop(struct gr_gpu *gpu, void *base);

#endif
