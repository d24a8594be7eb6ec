/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of an IPC cache. Internal to ipc_cache*.c. */
#ifndef GR_LINK_IPC_CACHE_STATE_H
#define GR_LINK_IPC_CACHE_STATE_H

#include "link/ipc_cache.h"

#include <pthread.h>

/* The handle of an allocation of this process. */
struct gr_ipc_export {
    uint64_t used; /* the cache's clock when it was last used; 0: the entry is empty */
    struct gr_ipc_handle handle; /* offset 0 */
};

/* An allocation of another process. */
struct gr_ipc_mapping {
    struct gr_ipc_mapping *next; /* the one that was used before it */
    struct gr_gpu_allocation of;
    gr_gpu_ptr at; /* address of of.base for this process's device */
    int users;     /* gr_ipc_cache_map() without gr_ipc_cache_unmap() */
};

/* Number of allocations that are remembered because the driver has refused to map them. */
enum { GR_IPC_REFUSED = 16 };

struct gr_ipc_cache {
    struct gr_gpu *gpu;              /* borrowed */
    struct gr_peer_id self;          /* this process */
    uint64_t process;                /* its random number */
    int max_exports;                 /* size of exports[] */
    int max_mapped;                  /* bound of `mapped` */
    pthread_mutex_t lock;            /* of everything below; held while the driver works */
    uint64_t clock;                  /* counts uses of exports[] */
    struct gr_ipc_mapping *mappings; /* the last used one first; owned */
    int mapped;                      /* their number */
    struct gr_gpu_allocation refused[GR_IPC_REFUSED]; /* ring of refused allocations */
    unsigned nrefused;                                /* how many were ever put into it */
    struct gr_ipc_export exports[];
};

#endif
