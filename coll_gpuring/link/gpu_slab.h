/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of device pools (gpu_pool.h): the kinds of memory that their slabs lie in, and what is
 * known in the whole process about that memory. These are arenas of device memory by number, so
 * that a slab can be mapped in the process that owns it; and the pages that are pinned, because
 * several pools can use pages that the driver pins only once.
 *
 * But for handles and slabs, internal to gpu_*.c. Arenas and pins are thread-safe; in all other
 * functions the pool's lock is held.
 */
#ifndef GR_LINK_GPU_SLAB_H
#define GR_LINK_GPU_SLAB_H

#include "cuda/memory.h"
#include "link/pool.h"

#include <pthread.h>

/* Where a slab's data lie. */
enum gr_gpu_where {
    GR_ON_DEVICE, /* in device memory */
    GR_ON_HOST    /* in pinned host memory */
};

/* What the owner of a slab sends to the peer that maps it. Plain bytes. */
struct gr_gpu_slab_handle {
    struct gr_slab_handle host; /* of the host slab; all 0: there is no slab */
    int32_t where;              /* an enum gr_gpu_where */
    int32_t pad;                /* 0 */
    struct gr_gpu_id gpu;       /* the owner's device */
    uint64_t arena; /* device: the arena's number in the owner, never reused; host: bytes of data */
    uint64_t offset;                     /* of the data, in the arena or in the host slab */
    unsigned char ipc[GR_GPU_IPC_BYTES]; /* device: of the arena; all 0: it cannot be exported */
};

/* ---- arenas and pinned pages of this process ---- */

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

void gr_arena_destroy(struct gr_arena *arena);

/* A pool no longer uses the pinned pages; the last one unpins them. */
void gr_pin_drop(struct gr_gpu *gpu, void *base);

/* ---- slabs and pools ---- */

struct gr_gpu_slab {
    struct gr_gpu_slab *next;           /* of the pool */
    const struct gr_gpu_memory *memory; /* the kind of memory that it lies in */
    enum gr_slab_state state;
    struct gr_arena *arena;     /* device memory: the arena that it is cut from; otherwise NULL */
    size_t offset;              /* of its data, in the arena or in the host slab */
    size_t bytes;               /* of its data */
    gr_gpu_ptr at;              /* address of its data for this process's device */
    struct gr_slab *host;       /* the host slab that it holds while it is not free */
    struct gr_lease_user *user; /* the peer's record, at the start of the host slab */
    uint64_t lease;             /* number of the present or last lease of the host slab */
};

/* An arena of another process. */
struct gr_mapping {
    struct gr_mapping *next;
    struct gr_peer_id owner;
    int32_t pid;          /* of the owner */
    uint64_t arena;       /* number in the owner */
    struct gr_gpu_id gpu; /* its device */
    gr_gpu_ptr at;        /* address for this process's device */
};

/* Pinned pages that this pool uses. */
struct gr_pinned {
    struct gr_pinned *next;
    void *base;    /* address for the host */
    gr_gpu_ptr at; /* address for the device */
};

struct gr_gpu_pool {
    pthread_mutex_t lock;         /* of everything below; held while the driver works */
    struct gr_gpu *gpu;           /* borrowed */
    struct gr_pool *host;         /* pool of the host slabs; borrowed */
    size_t max_bytes;             /* bound of `held` */
    size_t held;                  /* bytes of device memory in arenas */
    struct gr_arena *arenas;      /* owned */
    struct gr_gpu_slab *slabs;    /* owned; pinned slabs only while leased */
    struct gr_mapping *mappings;  /* owned */
    struct gr_pinned *pinned;     /* owned */
    struct gr_gpu_stream *stream; /* for zeroing slabs; NULL before the first lease */
};

/* A kind of memory. */
struct gr_gpu_memory {
    /*
     * Lease n slabs of `bytes`, with host slabs in host[]: all or none. Their first `clean` bytes
     * are zero. 0 or an error.
     */
    int (*lease)(struct gr_gpu_pool *pool, size_t bytes, size_t clean, int n, struct gr_slab **host,
                 struct gr_gpu_slab **slabs);
    /* End the lease. used: see gr_gpu_pool_release(). */
    void (*release)(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab, int used);
    /* Write `where`, `arena` and `ipc` of the slab's handle. */
    void (*export)(const struct gr_gpu_slab *slab, struct gr_gpu_slab_handle *handle);
    /* Map a slab; host: where its host slab is mapped. 0, or an error as gr_gpu_pool_map(). */
    int (*map)(struct gr_gpu_pool *pool, const struct gr_gpu_slab_handle *handle,
               unsigned char *host, gr_gpu_ptr *at);
};

/* Slabs cut from arenas, which peers map by CUDA IPC; in pages of host slabs, which both pin. */
extern const struct gr_gpu_memory gr_gpu_device_memory, gr_gpu_pinned_memory;

/*
 * Whether the slab can be leased. Ends the lease that owner and user have left; until then the host
 * slab stays leased, whose memory may be anything's afterwards.
 */
static inline int gr_slab_is_free(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab)
{
    if (GR_SLAB_LEAVING == slab->state &&
        atomic_load_explicit(&slab->user->left, memory_order_acquire) == slab->lease) {
        slab->state = GR_SLAB_FREE;
        gr_pool_release(pool->host, slab->host, 0);
    }
    return GR_SLAB_FREE == slab->state;
}

/* The slab is leased, with that host slab. */
static inline void gr_slab_attach(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab,
                                  struct gr_slab *host)
{
    slab->state = GR_SLAB_LEASED;
    slab->host = host;
    slab->user = gr_slab_base(host);
    slab->lease = gr_pool_export(pool->host, host).lease;
}

#endif
