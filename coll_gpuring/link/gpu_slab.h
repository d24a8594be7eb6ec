/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is behind the names of gpu_pool.h, for its own files; all is called with the pool's lock
 * held.
 */
#ifndef GR_LINK_GPU_SLAB_H
#define GR_LINK_GPU_SLAB_H

#include "link/gpu_arena.h"
#include "cuda/device.h"
#include "link/gpu_pool.h"

#include <pthread.h>

enum gr_slab_state {
    GR_FRAME_FREE,
    GR_FRAME_LEASED,
    GR_FRAME_LEAVING /* the owner has left, the other end may not have */
};

struct gr_gpu_slab {
    struct gr_gpu_slab *next;
    enum gr_gpu_where where;
    enum gr_slab_state state;
    struct gr_arena *arena; /* GR_ON_DEVICE */
    size_t offset, bytes;   /* in the arena, or behind the door; bytes without the door */
    gr_gpu_ptr at;
    struct gr_slab *door;   /* held while leased; */
    struct gr_door *shared; /* its memory, */
    uint64_t lease;         /* and number of the present or last lease */
};

/* An arena of another process. */
struct gr_mapping {
    struct gr_mapping *next;
    struct gr_peer_id owner;
    int32_t pid;
    uint64_t arena;
    struct gr_gpu_id gpu;
    gr_gpu_ptr at;
};

/* Pages that this pool uses pinned. */
struct gr_pinned {
    struct gr_pinned *next;
    void *base;
    gr_gpu_ptr at;
};

struct gr_gpu_pool {
    pthread_mutex_t lock;
    struct gr_gpu *gpu;
    struct gr_pool *doors;
    size_t max_bytes, held;
    struct gr_arena *arenas;
    struct gr_gpu_slab *slabs;
    struct gr_mapping *mappings;
    struct gr_pinned *pinned;
    struct gr_gpu_stream *stream; /* for cleaning slabs; NULL before the first lease */
};

static inline size_t gr_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Whether the slab can be leased; ends the lease of one that its other end has left. */
static inline int gr_slab_is_free(struct gr_gpu_slab *f)
{
    /* not ==: the door may have served later leases of its own by now */
    if (GR_FRAME_LEAVING == f->state &&
        atomic_load_explicit(&f->shared->left, memory_order_acquire) >= f->lease) {
        f->state = GR_FRAME_FREE;
    }
    return GR_FRAME_FREE == f->state;
}

/* The slab becomes leased, with that door. */
static inline void gr_slab_attach(struct gr_gpu_pool *pool, struct gr_gpu_slab *f,
                                  struct gr_slab *door)
{
    f->state = GR_FRAME_LEASED;
    f->door = door;
    f->shared = gr_slab_base(door);
    f->lease = gr_pool_offer(pool->doors, door).lease;
}

/* The halves of gr_gpu_pool_lease(); doors is room for n. */
int gr_lease_on_device(struct gr_gpu_pool *pool, size_t bytes, size_t clean, int n,
                       struct gr_slab **doors, struct gr_gpu_slab **slabs);
int gr_lease_on_host(struct gr_gpu_pool *pool, size_t bytes, size_t clean, int n,
                     struct gr_slab **doors, struct gr_gpu_slab **slabs);

/* Forget a slab on the host: its memory is the door's. */
void gr_drop_on_host(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab);

/* Pin whole pages, once for this pool, until it is closed. */
int gr_pool_pin(struct gr_gpu_pool *pool, void *base, size_t bytes, gr_gpu_ptr *at);

#endif
