/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slabs in pinned host memory. The data are whole pages behind the first page of the host slab:
 *
 *      host slab    [user's record, to the end of the page][data]
 */
#include "link/gpu_pinned.h"

#include "base/list.h"
#include "base/memory.h"
#include "cuda/device.h"
#include "topo/numa.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE ((size_t) sysconf(_SC_PAGESIZE))

/* Pin pages, once for this pool, until it is closed. */
static int pin(struct gr_gpu_pool *pool, void *base, size_t bytes, gr_gpu_ptr *at)
{
    struct gr_pinned *p;
    int rc;

    for (p = pool->pinned; NULL != p; p = p->next) {
        if (base == p->base) {
            *at = p->at;
            return 0;
        }
    }
    p = gr_calloc(1, sizeof(*p));
    if (NULL == p) {
        return GR_ERR_NOMEM;
    }
    rc = gr_pin_take(pool->gpu, base, bytes, &p->at);
    if (rc < 0) {
        free(p);
        return rc;
    }
    p->base = base;
    GR_PUSH(p, pool->pinned);
    *at = p->at;
    return 0;
}

/* A slab in the pages of a leased host slab. */
static int create(struct gr_gpu_pool *pool, struct gr_slab *host, size_t bytes, size_t clean,
                  struct gr_gpu_slab **out)
{
    struct gr_gpu_slab *slab = gr_calloc(1, sizeof(*slab));
    unsigned char *data = (unsigned char *) gr_slab_base(host) + PAGE;
    int rc;

    if (NULL == slab) {
        return GR_ERR_NOMEM;
    }
    rc = pin(pool, data, bytes, &slab->at);
    if (rc < 0) {
        free(slab);
        return rc;
    }
    memset(data, 0, clean);
    slab->memory = &gr_gpu_pinned_memory;
    slab->offset = PAGE;
    slab->bytes = bytes;
    GR_PUSH(slab, pool->slabs);
    gr_slab_attach(pool, slab, host);
    *out = slab;
    return 0;
}

/* The pages stay pinned, for the next lease of the host slab. */
static void release(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab, int used)
{
    struct gr_gpu_slab **at;

    gr_pool_release(pool->host, slab->host, used);
    for (at = &pool->slabs; slab != *at; at = &(*at)->next) {
    }
    *at = slab->next;
    free(slab);
}

/* Host slabs are allocated on the NUMA node of the device. */
static int lease(struct gr_gpu_pool *pool, size_t bytes, size_t clean, int n, struct gr_slab **host,
                 struct gr_gpu_slab **slabs)
{
    size_t data = gr_round_up(0 == bytes ? 1 : bytes, PAGE);
    struct gr_numa_saved policy;
    int k, created, rc;

    (void) gr_numa_prefer(gr_gpu_numa(pool->gpu), &policy);
    rc = gr_pool_lease(pool->host, GR_SLAB_PINNED, PAGE + data, 1, n, host);
    gr_numa_restore(&policy);
    if (rc < 0) {
        return rc;
    }
    for (created = 0; created < n && 0 == rc; created += 0 == rc) {
        rc = create(pool, host[created], data, clean, &slabs[created]);
    }
    for (k = 0; k < n && rc < 0; k++) {
        if (k < created) {
            release(pool, slabs[k], 0);
        } else {
            gr_pool_release(pool->host, host[k], 0);
        }
    }
    return rc;
}

static void export(const struct gr_gpu_slab *slab, struct gr_gpu_slab_handle *handle)
{
    handle->where = GR_ON_HOST;
    handle->arena = slab->bytes;
}

static int map(struct gr_gpu_pool *pool, const struct gr_gpu_slab_handle *handle,
               unsigned char *host, gr_gpu_ptr *at)
{
    uint64_t room = gr_slab_handle_room(&handle->host);

    if (handle->offset > room || handle->arena > room - handle->offset) {
        return GR_ERR_FOREIGN;
    }
    return pin(pool, host + handle->offset, handle->arena, at);
}

const struct gr_gpu_memory gr_gpu_pinned_memory = {lease, release, export, map};
