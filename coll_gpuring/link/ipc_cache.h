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
 * allocation at the same addresses.
 *
 * While an allocation is mapped the driver does not free its memory, and refuses to map what the
 * owner allocates at its addresses later, also to the application. So mappings are closed soon:
 *
 *      freed       the owner asks the driver at each of its calls whether its exported allocations
 *                  exist (gr_ipc_cache_begin_call()), and names those that do not to the ranks of
 *                  the call, which close them (gr_ipc_cache_end_call())
 *      unused      after 16 to 24 calls that did not use it, a process closes a mapping by itself:
 *                  its owner may make no call with it any more. Where such an allocation is mapped
 *                  again, unused mappings are kept for twice the calls between its two uses
 *      else        when the allocation's addresses are mapped again, when the cache is full, or by
 *                  gr_ipc_cache_trim() and gr_ipc_cache_close()
 *
 * Memory can be shared if it is from cuMemAlloc (cudaMalloc) in the primary context of the cache's
 * device. Other memory (host, pinned and managed memory, reserved ranges, pools, other contexts and
 * devices, a driver without IPC) gets a handle that says so. A process has one cache per device.
 *
 * Thread-safe. A thread that holds the lock waits only for the driver.
 */
#ifndef GR_LINK_IPC_CACHE_H
#define GR_LINK_IPC_CACHE_H

#include "cuda/memory.h"
#include "link/pool.h"

#include <pthread.h>
#include <stdatomic.h>

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

struct gr_ipc_cache;

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

/* The same where the caller has asked the driver for the buffer id: costs nothing if cached. */
struct gr_ipc_handle gr_ipc_cache_export_known(struct gr_ipc_cache *cache, const void *buffer,
                                               uint64_t id, size_t bytes);

/*
 * The name of an allocation: one of 64 bits, by which its owner tells others that it was freed. Two
 * allocations may have the same name: then a mapping is closed that is opened again when it is
 * needed.
 */
uint64_t gr_ipc_name(const struct gr_gpu_allocation *of);

/*
 * This process begins a call in which it can name allocations to others. Returns the names of those
 * that it has exported and freed, found by this call; 0: none. Costs one driver call for each
 * allocation that was exported in the last GR_IPC_RECENT calls, and one for another of them in
 * turn.
 */
uint64_t gr_ipc_cache_begin_call(struct gr_ipc_cache *cache);
enum { GR_IPC_RECENT = 16 };

/* Whether the buffer can be shared. */
static inline int gr_ipc_handle_valid(const struct gr_ipc_handle *handle)
{
    return 0 != handle->of.pid;
}

/* ---- mapping the memory of other processes ---- */

struct gr_ipc_mapping;

/* The buffer of a handle, mapped. */
struct gr_ipc_mapped {
    gr_gpu_ptr at;                  /* address for this process's device */
    struct gr_ipc_mapping *mapping; /* in use; NULL: the buffer is of this process */
};

/*
 * Map the buffer of a handle, until gr_ipc_cache_unmap(). Returns 0; GR_ERR_NOMEM; or GR_ERR_PEER:
 * it cannot be mapped, or not now, because all mappings of a full cache are in use, or a mapping in
 * use overlaps the allocation. What the driver has refused is not tried again.
 *
 * The first mapping of an allocation opens it, and may close others, which can wait for work on the
 * device. Later ones search a list; for a buffer of this process they call the driver once.
 */
int gr_ipc_cache_map(struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle,
                     struct gr_ipc_mapped *mapped);

/* Whether gr_ipc_cache_map() would only search: it opens nothing, so it waits for nothing. */
int gr_ipc_cache_is_mapped(struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle);

/*
 * No kernel of this process uses the buffer any more. Once for each gr_ipc_cache_map(). The mapping
 * stays in the cache.
 */
void gr_ipc_cache_unmap(struct gr_ipc_cache *cache, struct gr_ipc_mapped *mapped);

/*
 * In a call of this process, others have said the names of allocations that they have freed; 0:
 * none. Closes their mappings, those in use when they are unmapped, and the mappings that no call
 * has used for a while. Without a mapping it costs nothing.
 */
void gr_ipc_cache_end_call(struct gr_ipc_cache *cache, uint64_t names);

/* Close all mappings that are not in use, so that memory that their owners have freed is free. */
void gr_ipc_cache_trim(struct gr_ipc_cache *cache);

/* ---- state, internal to ipc_cache.c and tests ---- */

/* The handle of an allocation of this process. */
struct gr_ipc_export {
    uint64_t used;               /* the cache's clock when it was last used */
    uint64_t calls;              /* the cache's own_calls then */
    struct gr_ipc_handle handle; /* offset 0 */
};

/* An allocation of another process. */
struct gr_ipc_mapping {
    struct gr_ipc_mapping *next; /* the one that was used before it */
    struct gr_gpu_allocation of;
    gr_gpu_ptr at; /* address of of.base for this process's device */
    uint64_t used; /* the cache's peer_calls when it was last used */
    int users;     /* gr_ipc_cache_map() without gr_ipc_cache_unmap() */
    int freed;     /* 1: its owner has named it in gr_ipc_cache_end_call() while it was in use */
};

/* An allocation whose mapping was closed because no call had used it for a while. */
struct gr_ipc_unused {
    struct gr_gpu_allocation of; /* pid 0: the entry is empty */
    uint64_t used;               /* the mapping's `used` */
};

/* Number of allocations that are remembered because the driver has refused to map them. */
enum { GR_IPC_REFUSED = 16 };

/* Number of allocations that are remembered because their mappings were closed unused. */
enum { GR_IPC_UNUSED = 64 };

struct gr_ipc_cache {
    struct gr_gpu *gpu;              /* borrowed */
    struct gr_peer_id self;          /* this process */
    uint64_t process;                /* its random number */
    int max_exports;                 /* size of exports[] */
    int max_mapped;                  /* bound of `mapped` */
    pthread_mutex_t lock;            /* of everything below; held while the driver works */
    uint64_t clock;                  /* counts uses of exports[] */
    uint64_t own_calls;              /* gr_ipc_cache_begin_call() so far */
    uint64_t dropped;                /* names of exports that were replaced since its last call */
    struct gr_ipc_mapping *mappings; /* the last used one first; owned */
    atomic_int mapped;               /* their number; read without the lock, too */
    atomic_ullong peer_calls;        /* gr_ipc_cache_end_call() so far, but those with no mapping */
    uint64_t keep;                   /* calls for which an unused mapping is kept */
    struct gr_gpu_allocation refused[GR_IPC_REFUSED]; /* ring of refused allocations */
    unsigned nrefused;                                /* how many were ever put into it */
    struct gr_ipc_unused unused[GR_IPC_UNUSED];       /* ring of closed mappings */
    unsigned nunused;                                 /* how many were ever put into it */
    atomic_int nexports;                              /* read without the lock, too */
    struct gr_ipc_export exports[];                   /* the first nexports are in use */
};

#endif
