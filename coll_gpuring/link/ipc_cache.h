/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory of the application, for kernels of other processes: its owner gives a ticket of a
 * buffer, another process maps the allocation that the buffer lies in. Both are kept for the next
 * time, by allocation:
 *
 *      owner                                     another process
 *      export(buffer) -> ticket, plain bytes ->  map(ticket) -> address for its device
 *                                                ... kernels load and store there ...
 *                                                drop()
 *
 * Who frees an allocation tells nobody. So a ticket carries the driver's buffer id, which no later
 * allocation of the process has: what was kept for an allocation is never used for another at the
 * same addresses. What is kept of an allocation that is gone is closed when its addresses come
 * again, when the bound asks for room, or by gr_ipc_cache_trim() and gr_ipc_cache_close(). Until
 * then the driver keeps its memory taken.
 *
 * Shared is what cuMemAlloc (cudaMalloc) gave in the primary context of the cache's own device. The
 * rest (host, pinned and managed memory, reserved ranges, pools, other contexts, other devices, a
 * driver without IPC) gives a ticket that says so. A process has one cache per device.
 *
 * Thread-safe; no lock is held while waiting for anything but the driver.
 */
#ifndef GR_LINK_IPC_CACHE_H
#define GR_LINK_IPC_CACHE_H

#include "cuda/device.h"
#include "cuda/ipc.h"
#include "link/pool.h"

struct gr_ipc_cache;
struct gr_ipc_mapping;

/* An allocation of device memory, among those of all processes of the host; plain bytes. */
struct gr_gpu_allocation {
    uint64_t process;     /* a number that its process drew: pids are used again; */
    int32_t pid;          /* its process; 0: there is no allocation */
    int32_t device;       /* ordinal there */
    uint64_t base, bytes; /* in the addresses of that process */
    /* the driver's buffer id: no other allocation of that process has it, nor will */
    uint64_t id;
};

/* What the owner of a buffer tells another process; plain bytes, without holes. */
struct gr_ipc_handle {
    struct gr_peer_id owner;
    struct gr_gpu_id gpu;
    struct gr_gpu_allocation of;
    uint64_t offset; /* of the buffer, from of.base */
    unsigned char ipc[GR_GPU_IPC_BYTES];
};

/* A buffer of a ticket, as this process's device has it. */
struct gr_ipc_mapped {
    gr_gpu_ptr at;
    struct gr_ipc_mapping *mapping; /* NULL: of this process */
};

/*
 * A cache for the device, of process `self`: keeps at most max_exports tickets, and at most
 * max_mapped mappings (0: nothing of other processes can be mapped). NULL: no memory.
 */
struct gr_ipc_cache *gr_ipc_cache_open(struct gr_gpu *gpu, struct gr_peer_id self, int max_exports,
                                       int max_mapped);

/* Close everything, mappings in use too. NULL is fine. */
void gr_ipc_cache_close(struct gr_ipc_cache *share);

/*
 * The ticket of a buffer of this process, of any kind of memory. Never fails: what cannot be shared
 * has of.pid 0. Costs one question to the driver and a look into a table when the buffer's
 * allocation was exported lately.
 */
struct gr_ipc_handle gr_ipc_cache_export(struct gr_ipc_cache *share, const void *buffer,
                                         size_t bytes);

static inline int gr_ipc_handle_shared(const struct gr_ipc_handle *ticket)
{
    return 0 != ticket->of.pid;
}

/*
 * Where this device has the buffer, until gr_gpu_share_drop(). 0; GR_ERR_PEER: it cannot be had
 * here, or not now, and goes through slots; GR_ERR_NOMEM. Not now: the bound is reached by mappings
 * in use, or a mapping in use stands where the ticket says that another allocation is by now. What
 * the driver refused once is not asked for again. The first time the driver opens, and perhaps
 * closes, which may wait for what runs on the device; after that it is a look into a list, for own
 * buffers one question to the driver.
 */
int gr_ipc_cache_map(struct gr_ipc_cache *share, const struct gr_ipc_handle *ticket,
                     struct gr_ipc_mapped *shared);

/*
 * No kernel of ours touches the buffer any more. Once for each gr_ipc_cache_map(), which keeps the
 * mapping.
 */
void gr_gpu_share_drop(struct gr_ipc_cache *share, struct gr_ipc_mapped *shared);

/*
 * Close all mappings that nobody uses: the memory of those that their owners have freed becomes
 * free.
 */
void gr_ipc_cache_trim(struct gr_ipc_cache *share);

/* Tickets kept, mappings open, and those of them that are in use. */
struct gr_ipc_cache_usage {
    int exports, mapped, in_use;
};
struct gr_ipc_cache_usage gr_ipc_cache_usage(struct gr_ipc_cache *share);

#endif
