/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool of one device: its memory, cut into slabs that hold the slots or counters of links, and
 * the mappings of other processes' pools.
 *
 * Each slab holds a slab of the process's host pool (pool.h), the host slab, while it is leased: in
 * it the peer says when it has left the lease. The rules of leases are those of pool.h. A slab
 * whose peer was killed stays out of use.
 *
 * Device memory is allocated in arenas, which other processes map by CUDA IPC, each once. Arenas
 * are kept until the pool is closed; their sum is bounded. Between devices that cannot map each
 * other's memory, a slab lies in its host slab, which both processes pin.
 *
 * Thread-safe. A thread that holds the lock waits only for the driver.
 */
#ifndef GR_LINK_GPU_POOL_H
#define GR_LINK_GPU_POOL_H

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

struct gr_gpu_pool;

/* A leased slab, or a free one. Only its pool writes. */
struct gr_gpu_slab {
    struct gr_gpu_slab *next; /* of the pool */
    enum gr_slab_state state;
    struct gr_arena *arena;     /* that it is cut from; NULL: its data are in the host slab */
    size_t offset;              /* of its data, in the arena or in the host slab */
    size_t bytes;               /* of its data */
    gr_gpu_ptr at;              /* address of its data for this process's device */
    struct gr_slab *host;       /* the host slab that it holds while it is not free */
    struct gr_lease_user *user; /* the peer's record, at the start of the host slab */
    uint64_t lease;             /* number of the present or last lease of the host slab */
};

/* A slab of a peer, mapped. */
struct gr_gpu_mapped {
    gr_gpu_ptr at;              /* address of its data for this process's device; 0: not mapped */
    struct gr_lease_user *user; /* this process's record in the host slab */
    uint64_t lease;             /* number of the lease */
};

/*
 * Open an empty pool for a device, with host slabs from `host` and at most max_bytes of device
 * memory, in arenas of multiples of 2 MiB. gpu and host must outlive the pool. NULL: no memory.
 */
struct gr_gpu_pool *gr_gpu_pool_open(struct gr_gpu *gpu, struct gr_pool *host, size_t max_bytes);

/* Free, unmap and close everything. pool may be NULL. */
void gr_gpu_pool_close(struct gr_gpu_pool *pool);

/*
 * Lease n slabs of `bytes` each, owned by the pool: all or none. Their first `clean` bytes are
 * zero; the rest is left from the last lease. Returns 0, GR_ERR_GPU_SPACE, GR_ERR_GPU_LIMIT,
 * GR_ERR_CUDA, GR_ERR_NOMEM, or an error of gr_pool_lease().
 */
int gr_gpu_pool_lease(struct gr_gpu_pool *pool, enum gr_gpu_where where, size_t bytes, size_t clean,
                      int n, struct gr_gpu_slab **slabs);

/*
 * The owner ends the lease. used: a peer knows of it, and the slab stays out of use until the peer
 * has left it, too.
 */
void gr_gpu_pool_release(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab, int used);

/* Address of a slab's data for the host; of a slab in host memory only. */
static inline void *gr_gpu_slab_base(const struct gr_gpu_slab *slab)
{
    return (unsigned char *) slab->user + slab->offset;
}

/* The handle of a leased slab. */
struct gr_gpu_slab_handle gr_gpu_pool_export(const struct gr_gpu_pool *pool,
                                             const struct gr_gpu_slab *slab);

/*
 * Map the slab of a handle, also one of this process; its data stay mapped until the pool is
 * closed. Returns 0; GR_ERR_PEER: this device cannot access that memory; GR_ERR_FOREIGN,
 * GR_ERR_SYS, GR_ERR_NOMEM, GR_ERR_CUDA.
 */
int gr_gpu_pool_map(struct gr_gpu_pool *pool, const struct gr_gpu_slab_handle *handle,
                    struct gr_gpu_mapped *mapped);

/* Leave the lease of a mapped slab; only after a set-up that succeeded. */
static inline void gr_gpu_leave(const struct gr_gpu_mapped *mapped)
{
    gr_lease_leave(mapped->user, mapped->lease);
}

/* ---- state, internal to gpu_pool.c and its tests ---- */

/* An arena of another process. */
struct gr_mapping {
    struct gr_mapping *next;
    struct gr_peer_id owner;
    int32_t pid;          /* of the owner */
    uint64_t arena;       /* number in the owner */
    struct gr_gpu_id gpu; /* its device */
    gr_gpu_ptr at;        /* address for this process's device */
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
    struct gr_gpu_stream *stream; /* for zeroing slabs; NULL before the first lease */
};

/*
 * Whether the slab can be leased. Ends the lease that owner and user have left; until then the host
 * slab stays leased, whose memory may be anything's afterwards. The pool's lock is held.
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

#endif
