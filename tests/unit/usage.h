/* SPDX-License-Identifier: BSD-3-Clause */
/* What networks, device pools and IPC caches have in use, as tests compare it. */
#ifndef GR_TESTS_UNIT_USAGE_H
#define GR_TESTS_UNIT_USAGE_H

#include "link/gpu_pool.h"
#include "link/ipc_cache.h"
#include "net/net_state.h"

struct net_usage {
    int links;    /* open, or closed and not freed yet */
    int peers;    /* with a connection */
    int messages; /* being sent or received */
};

static inline struct net_usage net_usage(struct gr_net *net)
{
    struct net_usage u = {0, 0, 0};
    const struct gr_net_peer *p;
    uint32_t k;

    gr_net_lock(net);
    for (p = net->peers; NULL != p; p = p->next) {
        u.peers += NULL != p->connection;
    }
    for (k = 0; k < net->nlinks; k++) {
        if (NULL != net->links[k]) {
            u.links++;
            u.messages += net->links[k]->in_flight;
        }
    }
    gr_net_unlock(net);
    return u;
}

/* Bytes of device memory held and leased, and arenas of other processes mapped. */
static inline struct gr_pool_usage gpu_pool_usage(struct gr_gpu_pool *pool)
{
    struct gr_pool_usage u = {0, 0, 0};
    struct gr_gpu_slab *slab;
    struct gr_mapping *m;

    pthread_mutex_lock(&pool->lock);
    u.held = pool->held;
    for (slab = pool->slabs; NULL != slab; slab = slab->next) {
        u.leased += NULL == slab->arena || gr_slab_is_free(pool, slab) ? 0 : slab->bytes;
    }
    for (m = pool->mappings; NULL != m; m = m->next) {
        u.mapped++;
    }
    pthread_mutex_unlock(&pool->lock);
    return u;
}

struct ipc_cache_usage {
    int exports; /* handles in the cache */
    int mapped;  /* open mappings */
    int in_use;  /* open mappings that are in use */
};

static inline struct ipc_cache_usage ipc_cache_usage(struct gr_ipc_cache *cache)
{
    struct ipc_cache_usage u = {0, 0, 0};
    const struct gr_ipc_mapping *m;

    pthread_mutex_lock(&cache->lock);
    u.exports = cache->nexports;
    for (m = cache->mappings; NULL != m; m = m->next) {
        u.mapped++;
        u.in_use += m->users > 0;
    }
    pthread_mutex_unlock(&cache->lock);
    return u;
}

#endif
