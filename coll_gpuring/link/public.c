/* SPDX-License-Identifier: BSD-3-Clause */
/* The page that other processes may read: its owner's side (public.h). */
#include "link/public.h"

#include "base/memory.h"
#include "link/shm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

size_t gr_public_page_bytes(void)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);

    return (sizeof(struct gr_public_page) + page - 1) / page * page;
}

/* A segment with all its pages, so that no later write needs memory. NULL: there is none. */
static struct gr_public_page *shared_page(void)
{
    size_t bytes = gr_public_page_bytes();
    struct gr_shm_id id;
    unsigned char *base;

    if (0 != gr_shm_create(bytes, &id, &base)) {
        return NULL;
    }
    if (0 != gr_shm_populate(base, bytes)) {
        gr_shm_detach(base);
        return NULL;
    }
    return (struct gr_public_page *) base;
}

struct gr_public_page *gr_public_open(void)
{
    struct gr_public_page *page = shared_page();
    bool shared = NULL != page;

    if (!shared) {
        page = gr_calloc(1, sizeof(*page));
    }
    if (NULL == page) {
        return NULL;
    }
    page->shared = shared;
    page->bytes = (uint32_t) sizeof(*page);
    (void) gethostname(page->host, sizeof(page->host) - 1);
    page->host[strcspn(page->host, ".")] = '\0';
    atomic_store_explicit(&page->magic, GR_PUBLIC_MAGIC, memory_order_release);
    return page;
}

void gr_public_close(struct gr_public_page *page)
{
    if (NULL != page && page->shared) {
        gr_shm_detach((unsigned char *) page);
    } else {
        free(page);
    }
}

/* ---- a queue's record ---- */

/* Begin or end a change. Two threads may write at once: then texts may mix, no more. */
static void change(struct gr_public_queue *queue)
{
    atomic_fetch_add_explicit(&queue->version, 1, memory_order_acq_rel);
    atomic_thread_fence(memory_order_seq_cst);
}

static void fill(struct gr_public_queue *queue, const struct gr_public_comm *comm)
{
    change(queue);
    queue->seq = 0;
    queue->comm = *comm;
    memset(&queue->wait, 0, sizeof(queue->wait));
    change(queue);
}

struct gr_public_queue *gr_public_take(struct gr_public_page *page, enum gr_public_kind kind,
                                       const struct gr_public_comm *comm)
{
    struct gr_public_queue *queue;

    for (queue = page->queues; queue < page->queues + GR_PUBLIC_QUEUES; queue++) {
        uint32_t unused = GR_PUBLIC_FREE;

        if (atomic_compare_exchange_strong(&queue->kind, &unused, kind)) {
            fill(queue, comm);
            return queue;
        }
    }
    return gr_calloc(1, sizeof(*queue));
}

void gr_public_give(struct gr_public_page *page, struct gr_public_queue *queue)
{
    if (NULL == page || NULL == queue) {
        return; /* the page, and what it held, has gone before the queue */
    }
    if (queue >= page->queues && queue < page->queues + GR_PUBLIC_QUEUES) {
        atomic_store(&queue->kind, GR_PUBLIC_FREE);
    } else {
        free(queue);
    }
}

void gr_public_set_wait(struct gr_public_queue *queue, const char *name,
                        const struct gr_public_wait *wait)
{
    change(queue);
    snprintf(queue->comm.name, sizeof(queue->comm.name), "%s", name);
    queue->wait = *wait;
    change(queue);
}

void gr_public_end_wait(struct gr_public_queue *queue)
{
    change(queue);
    queue->wait.since = 0;
    change(queue);
}
