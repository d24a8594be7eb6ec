/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs in pinned pages of the host (gpu_slab.h). */
#include "link/gpu_slab.h"

#include "cuda/device.h"
#include "topo/numa.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE ((size_t) sysconf(_SC_PAGESIZE))

int gr_pool_pin(struct gr_gpu_pool *pool, void *base, size_t bytes, gr_gpu_ptr *at)
{
    struct gr_pinned *p;
    int rc;

    for (p = pool->pinned; NULL != p; p = p->next) {
        if (base == p->base) {
            *at = p->at;
            return 0;
        }
    }
    p = calloc(1, sizeof(*p));
    if (NULL == p) {
        return GR_ERR_NOMEM;
    }
    rc = gr_pin_take(pool->gpu, base, bytes, &p->at);
    if (rc < 0) {
        free(p);
        return rc;
    }
    p->base = base;
    p->next = pool->pinned;
    pool->pinned = p;
    *at = p->at;
    return 0;
}

/* A slab in memory that was leased for it. */
static int place_on_host(struct gr_gpu_pool *pool, struct gr_slab *door, size_t bytes, size_t clean,
                         struct gr_gpu_slab **out)
{
    struct gr_gpu_slab *f = calloc(1, sizeof(*f));
    unsigned char *data = (unsigned char *) gr_slab_base(door) + PAGE;
    int rc;

    if (NULL == f) {
        return GR_ERR_NOMEM;
    }
    rc = gr_pool_pin(pool, data, bytes, &f->at);
    if (rc < 0) {
        free(f);
        return rc;
    }
    memset(data, 0, clean);
    f->where = GR_ON_HOST;
    f->offset = PAGE;
    f->bytes = bytes;
    f->next = pool->slabs;
    pool->slabs = f;
    gr_slab_attach(pool, f, door);
    *out = f;
    return 0;
}

void gr_drop_on_host(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab)
{
    struct gr_gpu_slab **at;

    for (at = &pool->slabs; slab != *at; at = &(*at)->next) {
    }
    *at = slab->next;
    free(slab);
}

void *gr_gpu_slab_base(const struct gr_gpu_slab *slab)
{
    return (unsigned char *) slab->shared + slab->offset;
}

struct gr_door *gr_gpu_slab_door(const struct gr_gpu_slab *slab)
{
    return slab->shared;
}

uint64_t gr_gpu_slab_lease(const struct gr_gpu_slab *slab)
{
    return slab->lease;
}

int gr_lease_on_host(struct gr_gpu_pool *pool, size_t bytes, size_t clean, int n,
                     struct gr_slab **doors, struct gr_gpu_slab **slabs)
{
    size_t data = gr_round_up(0 == bytes ? 1 : bytes, PAGE);
    struct gr_numa_saved policy;
    int k, placed, rc;

    (void) gr_numa_prefer(gr_gpu_numa(pool->gpu), &policy);
    rc = gr_pool_lease(pool->doors, PAGE + data, 1, n, doors);
    gr_numa_restore(&policy);
    if (rc < 0) {
        return rc;
    }
    for (placed = 0; placed < n && 0 == rc; placed += 0 == rc) {
        rc = place_on_host(pool, doors[placed], data, clean, &slabs[placed]);
    }
    for (k = 0; k < n && rc < 0; k++) {
        if (k < placed) {
            gr_drop_on_host(pool, slabs[k]);
        }
        gr_pool_release(pool->doors, doors[k], 0);
    }
    return rc;
}
