/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kind of memory of a buffer, from its address, and which devices can use it. Kinds are cached
 * by allocation: its address range and the driver's buffer id. The id changes when an allocation is
 * freed and another one gets its addresses.
 */
#ifndef GR_CUDA_POINTER_H
#define GR_CUDA_POINTER_H

#include "cuda/types.h"
#include "exec/gpu/args.h"

enum gr_memory {
    GR_MEMORY_HOST,    /* plain host memory, or unknown to the driver */
    GR_MEMORY_PINNED,  /* host memory that devices can access */
    GR_MEMORY_MANAGED, /* cudaMallocManaged: host and devices can access it */
    GR_MEMORY_DEVICE   /* device memory: cudaMalloc, memory pools, virtual memory management */
};

/* What gives devices access to device memory. */
enum gr_access {
    GR_ACCESS_PEER,   /* memory of a context: peer access of contexts */
    GR_ACCESS_POOL,   /* rights of the pool; its own device has access */
    GR_ACCESS_MAPPING /* virtual memory management: rights of each mapping, for any device */
};

/* The memory at an address. */
struct gr_pointer {
    enum gr_memory memory;
    int device;            /* ordinal; -1: host memory, or unknown */
    int primary;           /* 1: memory of the device's primary context, or of none */
    enum gr_access access; /* device memory only */
    void *pool;            /* GR_ACCESS_POOL: the driver's handle of the pool; else NULL */
    gr_gpu_ptr at;         /* address for the devices; 0 for plain host memory */
};

/*
 * Classify an address. Never fails: memory unknown to the driver is host memory; NULL is host
 * memory; and if the driver fails, gr_pointer_guess() decides. When it first finds an allocation of
 * device memory, it sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, if the driver permits it: synchronous
 * operations on the memory then are synchronous. gr_marks_clear() undoes that. For a cached
 * allocation it costs one driver call.
 */
struct gr_pointer gr_pointer_find(struct gr_gpus *gpus, const void *pointer);

/*
 * Classify without the driver: memory that the host can read is host memory; other memory is device
 * memory of an unknown device (-1).
 */
struct gr_pointer gr_pointer_guess(const void *pointer);

/* ---- access of devices to memory ---- */

/*
 * Whether kernels on gpu can access memory of device `other` of this process. Enables peer access.
 * Returns 1 or 0.
 */
int gr_gpu_can_access(struct gr_gpu *gpu, int other);

/*
 * Whether kernels on gpu can read and write `bytes` of device memory of this process: p is what
 * gr_pointer_find() returned for the first byte, a part of the primary context of p.device or of
 * none. Peer access is enabled where that gives access; rights of pools and mappings are the
 * application's and stay as they are. Returns 1 or 0.
 */
int gr_gpu_can_use(struct gr_gpu *gpu, const struct gr_pointer *p, size_t bytes);

#endif
