/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings of other processes' allocations:
 *
 *      mappings -> [last used] -> ... -> [first used]      users > 0: in use, not closed
 *                                                          users = 0: cached
 *
 * A mapping is stale if its owner has freed the allocation. That is noticed by a handle of the same
 * process for another allocation that overlaps it. The stale mapping is closed first, because the
 * driver refuses to map addresses of a process that are mapped already (CUDA_ERROR_ALREADY_MAPPED;
 * Open MPI and UCX do the same).
 *
 * The driver maps blocks of 2 MiB, and a block that was freed may have had small allocations that
 * do not overlap the new one. So if the driver refuses, all unused mappings of that process are
 * closed, and it is tried once more.
 *
 * An owner also names what it has freed (gr_ipc_cache_end_call()): it may allocate there what
 * gpuring never maps, and the application does.
 */
#include "link/ipc_cache.h"

#include "base/memory.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/pointer.h"

#include <stdlib.h>
#include <unistd.h>

/* Unused mappings are looked for in one of so many calls, which are short. */
enum { LOOK_EVERY = 8 };

static int same_process(const struct gr_gpu_allocation *a, const struct gr_gpu_allocation *b)
{
    return a->process == b->process && a->pid == b->pid;
}

static int same_allocation(const struct gr_gpu_allocation *a, const struct gr_gpu_allocation *b)
{
    return same_process(a, b) && a->base == b->base && a->bytes == b->bytes && a->id == b->id;
}

static int overlap(const struct gr_gpu_allocation *a, const struct gr_gpu_allocation *b)
{
    return same_process(a, b) && a->base < b->base + b->bytes && b->base < a->base + a->bytes;
}

/* ---- the list; the lock is held ---- */

/* The mapping of an allocation, moved to the front of the list; or NULL. */
static struct gr_ipc_mapping *find(struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of)
{
    struct gr_ipc_mapping **at, *m;

    for (at = &cache->mappings; NULL != (m = *at); at = &m->next) {
        if (same_allocation(&m->of, of)) {
            *at = m->next;
            GR_PUSH(m, cache->mappings);
            return m;
        }
    }
    return NULL;
}

static void close_one(struct gr_ipc_cache *cache, struct gr_ipc_mapping **at)
{
    struct gr_ipc_mapping *m = *at;

    *at = m->next;
    cache->mapped--;
    gr_gpu_ipc_close(cache->gpu, m->at);
    free(m);
}

/* Close the unused mappings that are related to an allocation (NULL: all). Returns their number. */
static int close_unused(struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of,
                        int (*related)(const struct gr_gpu_allocation *,
                                       const struct gr_gpu_allocation *))
{
    struct gr_ipc_mapping **at = &cache->mappings;
    int closed = 0;

    while (NULL != *at) {
        if (0 == (*at)->users && (NULL == of || related(&(*at)->of, of))) {
            close_one(cache, at);
            closed++;
        } else {
            at = &(*at)->next;
        }
    }
    return closed;
}

/* Whether a mapping in use overlaps an allocation that has no mapping. */
static int stale_in_use(const struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of)
{
    const struct gr_ipc_mapping *m;

    for (m = cache->mappings; NULL != m && (0 == m->users || !overlap(&m->of, of)); m = m->next) {
    }
    return NULL != m;
}

/*
 * If the cache is full, close the unused mapping that was used longest ago. Returns 1, or 0: all
 * are in use.
 */
static int evict(struct gr_ipc_cache *cache)
{
    struct gr_ipc_mapping **at, **oldest = NULL;

    if (cache->mapped < cache->max_mapped) {
        return 1;
    }
    for (at = &cache->mappings; NULL != *at; at = &(*at)->next) {
        if (0 == (*at)->users) {
            oldest = at;
        }
    }
    if (NULL != oldest) {
        close_one(cache, oldest);
    }
    return NULL != oldest;
}

/* ---- refused allocations; the lock is held ---- */

static int was_refused(const struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of)
{
    int k;

    for (k = 0; k < GR_IPC_REFUSED && !same_allocation(&cache->refused[k], of); k++) {
    }
    return k < GR_IPC_REFUSED;
}

static void remember_refused(struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of)
{
    cache->refused[cache->nrefused++ % GR_IPC_REFUSED] = *of;
}

/* ---- allocations whose mappings were closed unused; the lock is held ---- */

static void remember_unused(struct gr_ipc_cache *cache, const struct gr_ipc_mapping *m)
{
    cache->unused[cache->nunused++ % GR_IPC_UNUSED] = (struct gr_ipc_unused) {m->of, m->used};
}

/*
 * Opening takes some 0.5 ms. So where an allocation comes back, unused mappings are kept for longer
 * from now on: a loop over many buffers, or with many small calls, opens each of them twice.
 */
static void keep_longer(struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of)
{
    int k;

    for (k = 0; k < GR_IPC_UNUSED; k++) {
        struct gr_ipc_unused *u = &cache->unused[k];
        uint64_t wanted = 2 * (cache->peer_calls - u->used);

        if (same_allocation(&u->of, of)) {
            cache->keep = wanted > cache->keep ? wanted : cache->keep;
            u->of.pid = 0;
        }
    }
}

/* ---- mapping ---- */

/* Open an allocation that is not in the list. The lock is held. */
static int open_mapping(struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle,
                        struct gr_ipc_mapping **out)
{
    struct gr_ipc_mapping *m;
    int rc;

    if (was_refused(cache, &handle->of) || stale_in_use(cache, &handle->of)) {
        return GR_ERR_PEER;
    }
    (void) close_unused(cache, &handle->of, overlap);
    if (!evict(cache)) {
        return GR_ERR_PEER;
    }
    m = gr_calloc(1, sizeof(*m));
    if (NULL == m) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_ipc_open(cache->gpu, handle->ipc, &m->at);
    if (rc < 0 && close_unused(cache, &handle->of, same_process) > 0) {
        rc = gr_gpu_ipc_open(cache->gpu, handle->ipc, &m->at);
    }
    if (rc < 0) {
        free(m);
        remember_refused(cache, &handle->of);
        return GR_ERR_PEER;
    }
    m->of = handle->of;
    keep_longer(cache, &m->of);
    GR_PUSH(m, cache->mappings);
    cache->mapped++;
    *out = m;
    return 0;
}

/* Map a buffer of this process, for which the driver opens no handle. */
static int map_own(struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle,
                   struct gr_ipc_mapped *mapped)
{
    if (gr_gpus_buffer_id(cache->gpu->gpus, handle->of.base) != handle->of.id ||
        !gr_gpu_can_access(cache->gpu, handle->of.device)) {
        return GR_ERR_PEER;
    }
    mapped->at = handle->of.base + handle->offset;
    return 0;
}

static int is_own(const struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle)
{
    return cache->process == handle->of.process && (int32_t) getpid() == handle->of.pid;
}

int gr_ipc_cache_is_mapped(struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle)
{
    int is;

    pthread_mutex_lock(&cache->lock);
    is = is_own(cache, handle) || was_refused(cache, &handle->of) ||
         NULL != find(cache, &handle->of);
    pthread_mutex_unlock(&cache->lock);
    return is;
}

int gr_ipc_cache_map(struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle,
                     struct gr_ipc_mapped *mapped)
{
    struct gr_ipc_mapping *m;
    int rc = 0;

    *mapped = (struct gr_ipc_mapped) {0, NULL};
    if (!gr_ipc_handle_valid(handle) || handle->offset > handle->of.bytes) {
        return GR_ERR_PEER;
    }
    if (is_own(cache, handle)) {
        return map_own(cache, handle, mapped);
    }
    pthread_mutex_lock(&cache->lock);
    m = find(cache, &handle->of);
    if (NULL == m) {
        rc = open_mapping(cache, handle, &m);
    }
    if (0 == rc) {
        m->users++;
        m->used = cache->peer_calls;
        mapped->at = m->at + handle->offset;
        mapped->mapping = m;
    }
    pthread_mutex_unlock(&cache->lock);
    return rc;
}

void gr_ipc_cache_unmap(struct gr_ipc_cache *cache, struct gr_ipc_mapped *mapped)
{
    struct gr_ipc_mapping *m = mapped->mapping;

    if (NULL != m) {
        pthread_mutex_lock(&cache->lock);
        m->users--;
        m->used = cache->peer_calls;
        if (m->freed) {
            struct gr_gpu_allocation of = m->of; /* the mapping is freed with it */

            (void) close_unused(cache, &of, same_allocation);
        }
        pthread_mutex_unlock(&cache->lock);
    }
    *mapped = (struct gr_ipc_mapped) {0, NULL};
}

void gr_ipc_cache_end_call(struct gr_ipc_cache *cache, uint64_t names)
{
    struct gr_ipc_mapping **at = &cache->mappings, *m;
    uint64_t calls;

    if (0 == atomic_load_explicit(&cache->mapped, memory_order_relaxed)) {
        return;
    }
    calls = 1 + atomic_fetch_add_explicit(&cache->peer_calls, 1, memory_order_relaxed);
    if (0 == names && 0 != calls % LOOK_EVERY) {
        return;
    }
    pthread_mutex_lock(&cache->lock);
    while (NULL != (m = *at)) {
        int freed = 0 != (names & gr_ipc_name(&m->of));
        int unused = calls >= m->used + cache->keep; /* another thread may have used it since */

        if (0 == m->users && (freed || unused)) {
            if (!freed) {
                remember_unused(cache, m);
            }
            close_one(cache, at);
        } else {
            m->freed = m->freed || freed;
            at = &m->next;
        }
    }
    pthread_mutex_unlock(&cache->lock);
}

void gr_ipc_cache_trim(struct gr_ipc_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    (void) close_unused(cache, NULL, NULL);
    pthread_mutex_unlock(&cache->lock);
}
