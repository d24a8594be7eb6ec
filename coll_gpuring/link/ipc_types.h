/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The types of the IPC cache (ipc_cache.h): what owners of buffers send, and its state, which is
 * internal to ipc_cache*.c.
 */
#ifndef GR_LINK_IPC_TYPES_H
#define GR_LINK_IPC_TYPES_H

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

/* ---- state ---- */

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
