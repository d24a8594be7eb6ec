/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of devices for the tests of link/gpu_pool.h, each process with a directory's shared memory
 * for its host.
 */
#ifndef GR_TESTS_GPU_POOL_FIXTURE_H
#define GR_TESTS_GPU_POOL_FIXTURE_H

#include "device_app.h"

#include "link/gpu_pool.h"
#include "cuda/stream.h"
#include "cuda/device.h"

#define MIB ((size_t) 1 << 20)

/* A process's side: a driver, host, and a pool for one device. */
struct side {
    struct gr_gpus *gpus;
    struct gr_gpu *gpu;
    struct gr_pool *host;
    struct gr_gpu_pool *pool;
};

static inline struct side open_side(uint64_t rank, int ordinal, size_t max_bytes)
{
    struct side s;

    s.gpus = open_gpus();
    s.gpu = get_gpu(s.gpus, ordinal);
    s.host = gr_pool_open((struct gr_peer_id) {1, rank}, 16 * MIB);
    CHECK(NULL != s.host);
    s.pool = gr_gpu_pool_open(s.gpu, s.host, max_bytes);
    CHECK(NULL != s.pool);
    return s;
}

static inline void close_side(struct side *s)
{
    gr_gpu_pool_close(s->pool);
    gr_pool_close(s->host);
    gr_gpus_close(s->gpus);
}

static inline struct gr_gpu_slab *lease_one(struct gr_gpu_pool *pool, enum gr_gpu_where where,
                                            size_t bytes)
{
    struct gr_gpu_slab *slab = NULL;

    CHECK_INT(gr_gpu_pool_lease(pool, where, bytes, 2 * GR_GPU_ALIGN, 1, &slab), 0);
    return slab;
}

static inline struct gr_gpu_mapped map(struct gr_gpu_pool *pool,
                                       const struct gr_gpu_slab_handle *handle)
{
    struct gr_gpu_mapped mapped;

    CHECK_INT(gr_gpu_pool_map(pool, handle, &mapped), 0);
    CHECK(NULL != mapped.user);
    CHECK_INT(mapped.lease, handle->host.lease);
    return mapped;
}

/* Fill memory and look at it, through a device. */
static inline void fill(struct gr_gpu *gpu, gr_gpu_ptr at, int byte, size_t bytes)
{
    unsigned char *data = malloc(bytes);

    CHECK(NULL != data);
    memset(data, byte, bytes);
    CHECK_INT(gr_gpu_copy(gpu, (void *) (uintptr_t) at, data, bytes), 0);
    free(data);
}

static inline int holds(struct gr_gpu *gpu, gr_gpu_ptr at, int byte, size_t bytes)
{
    unsigned char *data = malloc(bytes);
    size_t k;

    CHECK(NULL != data);
    memset(data, ~byte, bytes);
    CHECK_INT(gr_gpu_copy(gpu, data, (void *) (uintptr_t) at, bytes), 0);
    for (k = 0; k < bytes && (unsigned char) byte == data[k]; k++) {
    }
    free(data);
    return k == bytes;
}

#endif
