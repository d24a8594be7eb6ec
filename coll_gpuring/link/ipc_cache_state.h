/* SPDX-License-Identifier: BSD-3-Clause */
/* What is behind the names of ipc_cache.h, for its own files. */
#ifndef GR_LINK_IPC_CACHE_STATE_H
#define GR_LINK_IPC_CACHE_STATE_H

#include "link/ipc_cache.h"

#include <pthread.h>

/* The ticket of an allocation of this process, from its base. */
struct gr_ipc_export {
    uint64_t used; /* when, by the cache's clock; 0: nothing here */
    struct gr_ipc_handle ticket;
};

/* An allocation of another process. */
struct gr_ipc_mapping {
    struct gr_ipc_mapping *next; /* the one that was taken before it */
    struct gr_gpu_allocation of;
    gr_gpu_ptr at; /* of.base, here */
    int users;
};

/*
 * Allocations that could not be mapped are remembered, so that not every call tries again: so many.
 */
enum { GR_SHARE_REFUSED = 16 };

struct gr_ipc_cache {
    struct gr_gpu *gpu;
    struct gr_peer_id self;
    uint64_t process;
    int max_exports, max_mapped;
    pthread_mutex_t lock; /* of all below; held while the driver exports, opens and closes */
    uint64_t clock;
    struct gr_ipc_mapping *mappings; /* the one taken last comes first */
    int mapped;
    struct gr_gpu_allocation refused[GR_SHARE_REFUSED];
    unsigned nrefused;
    struct gr_ipc_export exports[];
};

#endif
