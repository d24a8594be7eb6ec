/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of a device, the same for both kinds of memory (gpu_slab.c). */
#include "link/gpu_pool.h"

#include "base/memory.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/stream.h"

#include <stdlib.h>
#include <string.h>

/* where: an enum gr_gpu_where, perhaps from another process. */
static const struct gr_gpu_memory *memory_of(int32_t where)
{
    return GR_ON_HOST == where ? &gr_gpu_pinned_memory : &gr_gpu_device_memory;
}

struct gr_gpu_pool *gr_gpu_pool_open(struct gr_gpu *gpu, struct gr_pool *host, size_t max_bytes)
{
    struct gr_gpu_pool *pool = gr_calloc(1, sizeof(*pool));

    if (NULL != pool) {
        pthread_mutex_init(&pool->lock, NULL);
        pool->gpu = gpu;
        pool->host = host;
        pool->max_bytes = max_bytes;
    }
    return pool;
}

void gr_gpu_pool_close(struct gr_gpu_pool *pool)
{
    struct gr_gpu_slab *slab;
    struct gr_arena *a;
    struct gr_mapping *m;
    struct gr_pinned *p;

    if (NULL == pool) {
        return;
    }
    while (GR_POP(m, pool->mappings)) {
        gr_gpu_ipc_close(pool->gpu, m->at);
        free(m);
    }
    while (GR_POP(slab, pool->slabs)) {
        if (GR_SLAB_FREE != slab->state) { /* it holds its host slab */
            gr_pool_release(pool->host, slab->host, 1);
        }
        free(slab);
    }
    while (GR_POP(p, pool->pinned)) {
        gr_pin_drop(pool->gpu, p->base);
        free(p);
    }
    while (GR_POP(a, pool->arenas)) {
        gr_arena_destroy(a);
    }
    gr_gpu_stream_close(pool->stream);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

int gr_gpu_pool_lease(struct gr_gpu_pool *pool, enum gr_gpu_where where, size_t bytes, size_t clean,
                      int n, struct gr_gpu_slab **slabs)
{
    struct gr_slab **host;
    int rc;

    if (0 == n) {
        return 0;
    }
    host = gr_malloc((size_t) n * sizeof(*host));
    if (NULL == host) {
        return GR_ERR_NOMEM;
    }
    pthread_mutex_lock(&pool->lock);
    rc = memory_of(where)->lease(pool, bytes, clean, n, host, slabs);
    pthread_mutex_unlock(&pool->lock);
    free(host);
    return rc;
}

void gr_gpu_pool_release(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab, int used)
{
    pthread_mutex_lock(&pool->lock);
    slab->memory->release(pool, slab, used);
    pthread_mutex_unlock(&pool->lock);
}

struct gr_gpu_slab_handle gr_gpu_pool_export(const struct gr_gpu_pool *pool,
                                             const struct gr_gpu_slab *slab)
{
    struct gr_gpu_slab_handle handle;

    memset(&handle, 0, sizeof(handle));
    handle.host = gr_pool_export(pool->host, slab->host);
    handle.gpu = gr_gpu_id(pool->gpu);
    handle.offset = slab->offset;
    slab->memory->export(slab, &handle);
    return handle;
}

int gr_gpu_pool_map(struct gr_gpu_pool *pool, const struct gr_gpu_slab_handle *handle,
                    struct gr_gpu_mapped *mapped)
{
    int rc;
    void *host = gr_pool_map(pool->host, &handle->host, &rc);

    if (NULL == host) {
        return rc;
    }
    mapped->user = host;
    mapped->lease = handle->host.lease;
    pthread_mutex_lock(&pool->lock);
    rc = memory_of(handle->where)->map(pool, handle, host, &mapped->at);
    pthread_mutex_unlock(&pool->lock);
    return rc;
}
