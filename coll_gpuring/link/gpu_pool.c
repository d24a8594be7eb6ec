/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool of gpu_pool.h: leases, offers, and the cache of peers' arenas.
 *
 *      on the device     arena: [slab][slab]...        its door: a slab of its own in the pool of the doors
 *      on the host       slab of the pool of the doors: [door, to the end of the page][data: whole pages, pinned]
 */
#include "link/gpu_slab.h"
#include "cuda/device.h"
#include "cuda/ipc.h"
#include "cuda/peer.h"
#include "cuda/stream.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gr_gpu_pool *gr_gpu_pool_open(struct gr_gpu *gpu, struct gr_pool *doors, size_t max_bytes)
{
    struct gr_gpu_pool *pool = calloc(1, sizeof(*pool));

    if (NULL != pool) {
        pthread_mutex_init(&pool->lock, NULL);
        pool->gpu = gpu;
        pool->doors = doors;
        pool->max_bytes = max_bytes;
    }
    return pool;
}

/* Take the first element off a list: NULL when it is empty. */
#define POP(element, list) (NULL != ((element) = (list)) && ((list) = (element)->next, 1))

void gr_gpu_pool_close(struct gr_gpu_pool *pool)
{
    struct gr_gpu_slab *f;
    struct gr_arena *a;
    struct gr_mapping *m;
    struct gr_pinned *p;

    if (NULL == pool) {
        return;
    }
    while (POP(m, pool->mappings)) {
        gr_gpu_ipc_close(pool->gpu, m->at);
        free(m);
    }
    while (POP(f, pool->slabs)) {
        if (GR_FRAME_LEASED == f->state) {
            gr_pool_release(pool->doors, f->door, 1);
        }
        free(f);
    }
    while (POP(p, pool->pinned)) {
        gr_pin_drop(pool->gpu, p->base);
        free(p);
    }
    while (POP(a, pool->arenas)) {
        gr_arena_destroy(a);
    }
    gr_gpu_stream_close(pool->stream);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* ---- leases ---- */

int gr_gpu_pool_lease(struct gr_gpu_pool *pool, enum gr_gpu_where where, size_t bytes, size_t clean,
                      int n, struct gr_gpu_slab **slabs)
{
    struct gr_slab **doors;
    int rc;

    if (0 == n) {
        return 0;
    }
    doors = malloc((size_t) n * sizeof(*doors));
    if (NULL == doors) {
        return GR_ERR_NOMEM;
    }
    pthread_mutex_lock(&pool->lock);
    rc = (GR_ON_HOST == where ? gr_lease_on_host : gr_lease_on_device)(pool, bytes, clean, n, doors,
                                                                       slabs);
    pthread_mutex_unlock(&pool->lock);
    free(doors);
    return rc;
}

gr_gpu_ptr gr_gpu_slab_at(const struct gr_gpu_slab *slab)
{
    return slab->at;
}

struct gr_gpu_offer gr_gpu_pool_offer(const struct gr_gpu_pool *pool,
                                      const struct gr_gpu_slab *slab)
{
    struct gr_gpu_offer o;

    memset(&o, 0, sizeof(o));
    o.door = gr_pool_offer(pool->doors, slab->door);
    o.where = slab->where;
    o.gpu = gr_gpu_id(pool->gpu);
    o.offset = slab->offset;
    if (GR_ON_HOST == slab->where) {
        o.arena = slab->bytes;
    } else {
        o.arena = slab->arena->number;
        memcpy(o.ipc, slab->arena->ipc, sizeof(o.ipc));
    }
    return o;
}

void gr_gpu_pool_release(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab, int used)
{
    pthread_mutex_lock(&pool->lock);
    gr_pool_release(pool->doors, slab->door, used);
    if (GR_ON_HOST == slab->where) {
        gr_drop_on_host(pool, slab);
    } else {
        slab->state = used ? GR_FRAME_LEAVING : GR_FRAME_FREE;
    }
    pthread_mutex_unlock(&pool->lock);
}

struct gr_gpu_usage gr_gpu_pool_usage(struct gr_gpu_pool *pool)
{
    struct gr_gpu_usage u = {0, 0, 0};
    struct gr_gpu_slab *f;
    struct gr_mapping *m;

    pthread_mutex_lock(&pool->lock);
    u.held = pool->held;
    for (f = pool->slabs; NULL != f; f = f->next) {
        u.leased += GR_ON_HOST == f->where || gr_slab_is_free(f) ? 0 : f->bytes;
    }
    for (m = pool->mappings; NULL != m; m = m->next) {
        u.mapped++;
    }
    pthread_mutex_unlock(&pool->lock);
    return u;
}

/* ---- slabs of others ---- */

static int same_arena(const struct gr_mapping *m, const struct gr_gpu_offer *offer)
{
    return m->arena == offer->arena && m->pid == offer->door.pid &&
           m->owner.job == offer->door.owner.job && m->owner.vpid == offer->door.owner.vpid &&
           0 == memcmp(&m->gpu, &offer->gpu, sizeof(m->gpu));
}

/* The arena of another process, mapped at the first use. */
static int map_arena(struct gr_gpu_pool *pool, const struct gr_gpu_offer *offer, gr_gpu_ptr *at)
{
    static const unsigned char none[GR_GPU_IPC_BYTES];
    struct gr_mapping *m;
    int rc;

    for (m = pool->mappings; NULL != m; m = m->next) {
        if (same_arena(m, offer)) {
            *at = m->at;
            return 0;
        }
    }
    if (0 == memcmp(none, offer->ipc, sizeof(none))) {
        return GR_ERR_PEER; /* its owner's driver gave no handle */
    }
    m = calloc(1, sizeof(*m));
    if (NULL == m) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_ipc_open(pool->gpu, offer->ipc, &m->at);
    if (rc < 0) {
        free(m);
        return rc;
    }
    m->owner = offer->door.owner;
    m->pid = offer->door.pid;
    m->arena = offer->arena;
    m->gpu = offer->gpu;
    m->next = pool->mappings;
    pool->mappings = m;
    *at = m->at;
    return 0;
}

static int map_on_device(struct gr_gpu_pool *pool, const struct gr_gpu_offer *offer, gr_gpu_ptr *at)
{
    int ordinal, rc;

    if ((int32_t) getpid() == offer->door.pid) {
        /* of this process, where the driver opens no handle: gr_pool_map() made sure that it is */
        rc = gr_arena_find(offer->arena, &ordinal, at);
        if (0 == rc && !gr_gpu_can_access(pool->gpu, ordinal)) {
            rc = GR_ERR_PEER;
        }
    } else {
        rc = map_arena(pool, offer, at);
    }
    *at += offer->offset;
    return rc;
}

static int map_on_host(struct gr_gpu_pool *pool, const struct gr_gpu_offer *offer,
                       unsigned char *slab, gr_gpu_ptr *at)
{
    uint64_t room = offer->door.segment_bytes - offer->door.offset;

    if (offer->offset > room || offer->arena > room - offer->offset) {
        return GR_ERR_FOREIGN;
    }
    return gr_pool_pin(pool, slab + offer->offset, offer->arena, at);
}

int gr_gpu_pool_map(struct gr_gpu_pool *pool, const struct gr_gpu_offer *offer,
                    struct gr_gpu_mapped *mapped)
{
    int rc;
    void *slab = gr_pool_map(pool->doors, &offer->door, &rc);

    if (NULL == slab) {
        return rc;
    }
    mapped->door = slab;
    mapped->lease = offer->door.lease;
    pthread_mutex_lock(&pool->lock);
    rc = GR_ON_HOST == offer->where ? map_on_host(pool, offer, slab, &mapped->at)
                                    : map_on_device(pool, offer, &mapped->at);
    pthread_mutex_unlock(&pool->lock);
    return rc;
}
