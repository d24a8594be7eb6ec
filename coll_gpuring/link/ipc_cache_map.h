/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapping the application's device memory of other processes (ipc_cache.h). */
#ifndef GR_LINK_IPC_CACHE_MAP_H
#define GR_LINK_IPC_CACHE_MAP_H

#include "link/ipc_cache.h"

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

#endif
