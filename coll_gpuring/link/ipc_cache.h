/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory of the application, for kernels of other processes: the owner of a buffer exports a
 * handle, and another process maps the allocation that the buffer lies in. Both are cached by
 * allocation:
 *
 *      owner                                     another process
 *      export(buffer) -> handle, plain bytes ->  map(handle) -> address for its device
 *                                                ... kernels load and store there ...
 *                                                unmap(): the mapping stays in the cache
 *
 * The driver does not report when an allocation is freed. So a handle has the driver's buffer id,
 * which no later allocation of the process gets: cache entries are never used for another
 * allocation at the same addresses. The mapping of a freed allocation is closed when its addresses
 * are mapped again, when the cache is full, or by gr_ipc_cache_trim() and gr_ipc_cache_close().
 * Until then the driver does not free its memory.
 *
 * Memory can be shared if it is from cuMemAlloc (cudaMalloc) in the primary context of the cache's
 * device. Other memory (host, pinned and managed memory, reserved ranges, pools, other contexts and
 * devices, a driver without IPC) gets a handle that says so. A process has one cache per device.
 *
 * Thread-safe. A thread that holds the lock waits only for the driver.
 */
#ifndef GR_LINK_IPC_CACHE_H
#define GR_LINK_IPC_CACHE_H

#include "cuda/device.h"
#include "cuda/ipc.h"
#include "link/pool.h"

struct gr_ipc_cache;

/* An allocation of device memory, among those of all processes of the host. Plain bytes. */
struct gr_gpu_allocation {
    uint64_t process; /* random number of its process, because pids are reused */
    int32_t pid;      /* of its process; 0: there is no allocation */
    int32_t device;   /* ordinal in its process */
    uint64_t base;    /* address in its process */
    uint64_t bytes;   /* size */
    uint64_t id;      /* the driver's buffer id, never reused in its process */
};

/* What the owner of a buffer sends to another process. Plain bytes, without padding. */
struct gr_ipc_handle {
    struct gr_peer_id owner;
    struct gr_gpu_id gpu;        /* the owner's device */
    struct gr_gpu_allocation of; /* that the buffer lies in */
    uint64_t offset;             /* of the buffer, from of.base */
    unsigned char ipc[GR_GPU_IPC_BYTES];
};

/*
 * Open a cache for a device of process `self`, of at most max_exports handles and max_mapped
 * mappings. max_mapped 0: memory of other processes cannot be mapped. NULL: no memory.
 */
struct gr_ipc_cache *gr_ipc_cache_open(struct gr_gpu *gpu, struct gr_peer_id self, int max_exports,
                                       int max_mapped);

/* Close all mappings, also those in use, and free the cache. cache may be NULL. */
void gr_ipc_cache_close(struct gr_ipc_cache *cache);

/*
 * The handle of a buffer of this process, in any memory. A buffer that cannot be shared has of.pid
 * 0. Costs one call of the driver if the allocation's handle is cached.
 */
struct gr_ipc_handle gr_ipc_cache_export(struct gr_ipc_cache *cache, const void *buffer,
                                         size_t bytes);

/* Whether the buffer can be shared. */
static inline int gr_ipc_handle_valid(const struct gr_ipc_handle *handle)
{
    return 0 != handle->of.pid;
}

struct gr_ipc_cache_usage {
    int exports; /* handles in the cache */
    int mapped;  /* open mappings */
    int in_use;  /* open mappings that are in use */
};
struct gr_ipc_cache_usage gr_ipc_cache_usage(struct gr_ipc_cache *cache);

#endif
