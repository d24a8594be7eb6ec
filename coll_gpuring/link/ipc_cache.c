/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache of ipc_cache.h, and its tickets. Mappings are in ipc_cache_map.c.
 *
 * What is relied on of the driver, and why it may be:
 *
 * - The handle of an address is that of its allocation, as cuMemGetAddressRange gives it, and what
 *   another process gets when it opens the handle is the first byte of that allocation: a buffer is
 *   its offset from there. The manual wants the base of an allocation for a handle; NVIDIA's
 *   nvFuser tests that a handle of another address leads to the base (pull request 3799), handles
 *   of base and offset were seen to be equal (UCX, issue 11724), and UCX, TensorPipe and others
 *   count from cuMemGetAddressRange. Allocations smaller than 2 MiB are cut out of larger blocks,
 *   and the whole block is mapped with them (CUDA programming guide, interprocess communication),
 *   yet the address that opening gives is the allocation's.
 * - A buffer id is given once in the life of a process (the manual,
 *   CU_POINTER_ATTRIBUTE_BUFFER_ID), and addresses that are given to another allocation have
 *   another handle (cuIpcGetMemHandle).
 */
#include "link/ipc_cache_state.h"

#include "cuda/device.h"
#include "cuda/ipc.h"
#include "cuda/pointer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- the process ---- */

static uint64_t drawn;

static void draw(void)
{
    struct timespec now;

    if (sizeof(drawn) != getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK)) {
        clock_gettime(CLOCK_REALTIME, &now);
        drawn = (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
    }
}

/* All caches of a process have one number. */
static uint64_t process_number(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, draw);
    return drawn;
}

/* ---- the cache ---- */

struct gr_ipc_cache *gr_ipc_cache_open(struct gr_gpu *gpu, struct gr_peer_id self, int max_exports,
                                       int max_mapped)
{
    struct gr_ipc_cache *share =
        calloc(1, sizeof(*share) + (size_t) max_exports * sizeof(share->exports[0]));

    if (NULL != share) {
        pthread_mutex_init(&share->lock, NULL);
        share->gpu = gpu;
        share->self = self;
        share->process = process_number();
        share->max_exports = max_exports;
        share->max_mapped = max_mapped;
    }
    return share;
}

void gr_ipc_cache_close(struct gr_ipc_cache *share)
{
    struct gr_ipc_mapping *m;

    if (NULL == share) {
        return;
    }
    while (NULL != (m = share->mappings)) {
        share->mappings = m->next;
        gr_gpu_ipc_close(share->gpu, m->at);
        free(m);
    }
    pthread_mutex_destroy(&share->lock);
    free(share);
}

struct gr_ipc_cache_usage gr_ipc_cache_usage(struct gr_ipc_cache *share)
{
    struct gr_ipc_cache_usage u = {0, 0, 0};
    const struct gr_ipc_mapping *m;
    int k;

    pthread_mutex_lock(&share->lock);
    for (k = 0; k < share->max_exports; k++) {
        u.exports += 0 != share->exports[k].used;
    }
    for (m = share->mappings; NULL != m; m = m->next) {
        u.mapped++;
        u.in_use += m->users > 0;
    }
    pthread_mutex_unlock(&share->lock);
    return u;
}

/* ---- tickets ---- */

/*
 * The ticket of this allocation, if it is kept. The id alone would do; the range is looked at first
 * as memory of pools and reserved ranges, of which nothing is promised, is never kept.
 */
static struct gr_ipc_export *find_export(struct gr_ipc_cache *share, uintptr_t at, uint64_t id)
{
    int k;

    for (k = 0; k < share->max_exports; k++) {
        struct gr_ipc_export *e = &share->exports[k];

        if (0 != e->used && at - e->ticket.of.base < e->ticket.of.bytes && id == e->ticket.of.id) {
            return e;
        }
    }
    return NULL;
}

/* The place of the ticket that was not used for the longest time, or of none. */
static struct gr_ipc_export *oldest_export(struct gr_ipc_cache *share)
{
    struct gr_ipc_export *oldest = &share->exports[0];
    int k;

    for (k = 1; k < share->max_exports; k++) {
        if (share->exports[k].used < oldest->used) {
            oldest = &share->exports[k];
        }
    }
    return oldest;
}

/*
 * Make the ticket of the allocation that holds the address. 0, or an error where it cannot be
 * shared.
 */
static int make_ticket(const struct gr_ipc_cache *share, const void *at, uint64_t id,
                       struct gr_ipc_handle *ticket)
{
    struct gr_pointer p = gr_pointer_find(gr_gpu_owner(share->gpu), at);
    gr_gpu_ptr base;
    size_t bytes;
    int rc;

    if (GR_MEMORY_DEVICE != p.memory || !p.primary || gr_gpu_ordinal(share->gpu) != p.device) {
        return GR_ERR_PEER;
    }
    rc = gr_gpu_ipc_range(share->gpu, p.at, &base, &bytes);
    if (0 == rc) {
        rc = gr_gpu_ipc_export(share->gpu, base, ticket->ipc);
    }
    if (rc < 0) {
        return rc;
    }
    ticket->owner = share->self;
    ticket->gpu = gr_gpu_id(share->gpu);
    ticket->of.process = share->process;
    ticket->of.pid = (int32_t) getpid();
    ticket->of.device = p.device;
    ticket->of.base = base;
    ticket->of.bytes = bytes;
    ticket->of.id = id;
    return 0;
}

struct gr_ipc_handle gr_ipc_cache_export(struct gr_ipc_cache *share, const void *buffer,
                                         size_t bytes)
{
    uintptr_t at = (uintptr_t) buffer;
    uint64_t id = gr_gpus_buffer_id(gr_gpu_owner(share->gpu), at);
    struct gr_ipc_handle ticket;
    struct gr_ipc_export *e;
    int rc = 0;

    memset(&ticket, 0, sizeof(ticket));
    if (0 == id) {
        return ticket; /* memory that the driver does not know */
    }
    pthread_mutex_lock(&share->lock);
    e = find_export(share, at, id);
    if (NULL == e) {
        rc = make_ticket(share, buffer, id, &ticket);
    } else {
        ticket = e->ticket;
    }
    if (0 == rc && NULL == e && share->max_exports > 0) {
        e = oldest_export(share);
        e->ticket = ticket;
    }
    if (NULL != e) {
        e->used = ++share->clock;
    }
    pthread_mutex_unlock(&share->lock);
    ticket.offset = at - ticket.of.base;
    if (rc < 0 || ticket.offset > ticket.of.bytes || bytes > ticket.of.bytes - ticket.offset) {
        memset(&ticket, 0, sizeof(ticket));
    }
    return ticket;
}
