/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings of other processes' allocations (ipc_cache.h):
 *
 *      mappings -> [taken last] -> ... -> [taken first]      users > 0: never closed
 *                                                            users = 0: kept for the next ticket
 *
 * A mapping whose owner has freed the allocation is stale. It is known by a ticket of the same
 * process for another allocation that overlaps it: it is closed before that one is opened, since
 * the driver refuses to open addresses of a process over those that are open
 * (CUDA_ERROR_ALREADY_MAPPED; seen by Open MPI and UCX, which do the same).
 *
 * The driver maps blocks of 2 MiB, and a block that is gone may have held small allocations that
 * the new one does not overlap. So what the driver refuses is tried once more without any unused
 * mapping of that process.
 */
#include "link/ipc_cache_state.h"
#include "cuda/device.h"
#include "cuda/ipc.h"
#include "cuda/peer.h"

#include <stdlib.h>
#include <unistd.h>

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

/* The mapping of this allocation, which becomes the first; NULL: none. */
static struct gr_ipc_mapping *find(struct gr_ipc_cache *share, const struct gr_gpu_allocation *of)
{
    struct gr_ipc_mapping **at, *m;

    for (at = &share->mappings; NULL != (m = *at); at = &m->next) {
        if (same_allocation(&m->of, of)) {
            *at = m->next;
            m->next = share->mappings;
            share->mappings = m;
            return m;
        }
    }
    return NULL;
}

static void close_one(struct gr_ipc_cache *share, struct gr_ipc_mapping **at)
{
    struct gr_ipc_mapping *m = *at;

    *at = m->next;
    share->mapped--;
    gr_gpu_ipc_close(share->gpu, m->at);
    free(m);
}

/* Close those that nobody uses and that are related so to an allocation (NULL: all); how many. */
static int close_unused(struct gr_ipc_cache *share, const struct gr_gpu_allocation *of,
                        int (*related)(const struct gr_gpu_allocation *,
                                       const struct gr_gpu_allocation *))
{
    struct gr_ipc_mapping **at = &share->mappings;
    int closed = 0;

    while (NULL != *at) {
        if (0 == (*at)->users && (NULL == of || related(&(*at)->of, of))) {
            close_one(share, at);
            closed++;
        } else {
            at = &(*at)->next;
        }
    }
    return closed;
}

/* Whether a mapping in use overlaps an allocation that is not the same. */
static int stale_in_use(const struct gr_ipc_cache *share, const struct gr_gpu_allocation *of)
{
    const struct gr_ipc_mapping *m;

    for (m = share->mappings; NULL != m && (0 == m->users || !overlap(&m->of, of)); m = m->next) {
    }
    return NULL != m;
}

/*
 * Room for one more: closes the unused one that was taken longest ago, where there is none. 1, or
 * 0: all are in use.
 */
static int make_room(struct gr_ipc_cache *share)
{
    struct gr_ipc_mapping **at, **oldest = NULL;

    if (share->mapped < share->max_mapped) {
        return 1;
    }
    for (at = &share->mappings; NULL != *at; at = &(*at)->next) {
        if (0 == (*at)->users) {
            oldest = at;
        }
    }
    if (NULL != oldest) {
        close_one(share, oldest);
    }
    return NULL != oldest;
}

/* ---- what the driver refused; the lock is held ---- */

static int was_refused(const struct gr_ipc_cache *share, const struct gr_gpu_allocation *of)
{
    int k;

    for (k = 0; k < GR_SHARE_REFUSED && !same_allocation(&share->refused[k], of); k++) {
    }
    return k < GR_SHARE_REFUSED;
}

static void remember_refused(struct gr_ipc_cache *share, const struct gr_gpu_allocation *of)
{
    share->refused[share->nrefused++ % GR_SHARE_REFUSED] = *of;
}

/* ---- mapping ---- */

/* Open an allocation that is not in the list. The lock is held. */
static int open_mapping(struct gr_ipc_cache *share, const struct gr_ipc_handle *ticket,
                        struct gr_ipc_mapping **out)
{
    struct gr_ipc_mapping *m;
    int rc;

    if (was_refused(share, &ticket->of) || stale_in_use(share, &ticket->of)) {
        return GR_ERR_PEER;
    }
    (void) close_unused(share, &ticket->of, overlap);
    if (!make_room(share)) {
        return GR_ERR_PEER;
    }
    m = calloc(1, sizeof(*m));
    if (NULL == m) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_ipc_open(share->gpu, ticket->ipc, &m->at);
    if (rc < 0 && close_unused(share, &ticket->of, same_process) > 0) {
        rc = gr_gpu_ipc_open(share->gpu, ticket->ipc, &m->at);
    }
    if (rc < 0) {
        free(m);
        remember_refused(share, &ticket->of);
        return GR_ERR_PEER;
    }
    m->of = ticket->of;
    m->next = share->mappings;
    share->mappings = m;
    share->mapped++;
    *out = m;
    return 0;
}

/*
 * Of this process, where the driver opens no handle: it is there already, if this device reaches
 * it.
 */
static int map_own(struct gr_ipc_cache *share, const struct gr_ipc_handle *ticket,
                   struct gr_ipc_mapped *shared)
{
    if (gr_gpus_buffer_id(gr_gpu_owner(share->gpu), ticket->of.base) != ticket->of.id ||
        !gr_gpu_can_access(share->gpu, ticket->of.device)) {
        return GR_ERR_PEER;
    }
    shared->at = ticket->of.base + ticket->offset;
    return 0;
}

int gr_ipc_cache_map(struct gr_ipc_cache *share, const struct gr_ipc_handle *ticket,
                     struct gr_ipc_mapped *shared)
{
    struct gr_ipc_mapping *m;
    int rc = 0;

    *shared = (struct gr_ipc_mapped) {0, NULL};
    if (!gr_ipc_handle_shared(ticket) || ticket->offset > ticket->of.bytes) {
        return GR_ERR_PEER;
    }
    if (share->process == ticket->of.process && (int32_t) getpid() == ticket->of.pid) {
        return map_own(share, ticket, shared);
    }
    pthread_mutex_lock(&share->lock);
    m = find(share, &ticket->of);
    if (NULL == m) {
        rc = open_mapping(share, ticket, &m);
    }
    if (0 == rc) {
        m->users++;
        shared->at = m->at + ticket->offset;
        shared->mapping = m;
    }
    pthread_mutex_unlock(&share->lock);
    return rc;
}

void gr_gpu_share_drop(struct gr_ipc_cache *share, struct gr_ipc_mapped *shared)
{
    if (NULL != shared->mapping) {
        pthread_mutex_lock(&share->lock);
        shared->mapping->users--;
        pthread_mutex_unlock(&share->lock);
    }
    *shared = (struct gr_ipc_mapped) {0, NULL};
}

void gr_ipc_cache_trim(struct gr_ipc_cache *share)
{
    pthread_mutex_lock(&share->lock);
    (void) close_unused(share, NULL, NULL);
    pthread_mutex_unlock(&share->lock);
}
