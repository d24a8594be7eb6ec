/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool of one device: its memory, cut into slabs that hold the slots or counters of links, and
 * the mappings of other processes' pools.
 *
 * A slab has a door (lease.h) in host shared memory, leased from the process's pool (pool.h): it
 * says when the other process has left it. Slabs are leased, left and used again by the same rules;
 * a slab whose other end was killed stays out of use.
 *
 * Device memory is allocated in arenas, which other processes map by CUDA IPC, once each, and which
 * are kept until the pool is closed: their sum is bounded. Between devices that cannot map each
 * other a slab lies in the host shared memory instead, pinned by both processes.
 *
 * Thread-safe; no lock is held while waiting for anything but the driver.
 */
#ifndef GR_LINK_GPU_POOL_H
#define GR_LINK_GPU_POOL_H

#include "cuda/device.h"
#include "cuda/ipc.h"
#include "link/pool.h"

struct gr_gpu_pool;
struct gr_gpu_slab;

enum gr_gpu_where { GR_ON_DEVICE, GR_ON_HOST };

/* What the owner of a slab tells the process at its other end; plain bytes. */
struct gr_gpu_offer {
    struct gr_offer door; /* door.pid 0: nothing is offered */
    int32_t where;        /* an enum gr_gpu_where */
    int32_t pad;
    struct gr_gpu_id gpu;
    /* GR_ON_DEVICE: number of the arena in its process, never used twice; */
    uint64_t arena;
    /* the slab's in the arena. GR_ON_HOST: bytes behind the door, and where they begin */
    uint64_t offset;
    unsigned char ipc[GR_GPU_IPC_BYTES];
};

/* A slab of another process, as mapped here. */
struct gr_gpu_mapped {
    gr_gpu_ptr at;
    struct gr_door *door;
    uint64_t lease;
};

/*
 * A pool for the device that takes its doors from `doors` and holds at most max_bytes of device
 * memory, in arenas of 2 MiB or multiples of it. NULL: no memory.
 */
struct gr_gpu_pool *gr_gpu_pool_open(struct gr_gpu *gpu, struct gr_pool *doors, size_t max_bytes);

/* Free, unmap and close everything; before the pool of the doors. NULL is fine. */
void gr_gpu_pool_close(struct gr_gpu_pool *pool);

/*
 * Lease n slabs of `bytes` each: all or none. Their first `clean` bytes are zero, the rest is what
 * the last lease left. 0, GR_ERR_GPU_SPACE, GR_ERR_GPU_LIMIT, GR_ERR_CUDA; GR_ERR_NOMEM; for the
 * doors and for GR_ON_HOST also what gr_pool_lease() returns.
 */
int gr_gpu_pool_lease(struct gr_gpu_pool *pool, enum gr_gpu_where where, size_t bytes, size_t clean,
                      int n, struct gr_gpu_slab **slabs);

/* Its address for this process's device. */
gr_gpu_ptr gr_gpu_slab_at(const struct gr_gpu_slab *slab);

/* Of one in host memory: where this process has it. */
void *gr_gpu_slab_base(const struct gr_gpu_slab *slab);

/* Its door, and what that is to be told, for who leaves the slab at its other end. */
struct gr_door *gr_gpu_slab_door(const struct gr_gpu_slab *slab);
uint64_t gr_gpu_slab_lease(const struct gr_gpu_slab *slab);

/* What to tell the other end. */
struct gr_gpu_offer gr_gpu_pool_offer(const struct gr_gpu_pool *pool,
                                      const struct gr_gpu_slab *slab);

/*
 * The owner leaves. used 0: nobody else ever learnt that it may touch the slab, the lease ends at
 * once.
 */
void gr_gpu_pool_release(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab, int used);

/*
 * Map a slab that was offered; also one of this process. 0; GR_ERR_PEER: this device cannot use
 * that memory; GR_ERR_FOREIGN, GR_ERR_SYS, GR_ERR_NOMEM, GR_ERR_CUDA.
 */
int gr_gpu_pool_map(struct gr_gpu_pool *pool, const struct gr_gpu_offer *offer,
                    struct gr_gpu_mapped *mapped);

/* Leave a slab that was mapped; only after a set-up that succeeded. */
static inline void gr_gpu_leave(const struct gr_gpu_mapped *mapped)
{
    gr_door_leave(mapped->door, mapped->lease);
}

/*
 * Bytes of device memory that the pool holds, of slabs that are leased now, and arenas of others
 * mapped.
 */
struct gr_gpu_usage {
    size_t held, leased;
    int mapped;
};
struct gr_gpu_usage gr_gpu_pool_usage(struct gr_gpu_pool *pool);

#endif
