/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links by number, and peers. The lower half of a number is the link's index in the table; the
 * upper half tells it from earlier links with that index.
 */
#include "net/net_state.h"

#include "base/memory.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gr_net_lock(struct gr_net *net)
{
    while (atomic_flag_test_and_set_explicit(&net->busy, memory_order_acquire)) {
        sched_yield();
    }
}

void gr_net_unlock(struct gr_net *net)
{
    atomic_flag_clear_explicit(&net->busy, memory_order_release);
}

struct gr_net_link *gr_net_find(const struct gr_net *net, uint64_t number)
{
    uint32_t at = (uint32_t) number;
    struct gr_net_link *l = at < net->nlinks ? net->links[at] : NULL;

    return NULL != l && l->number == number ? l : NULL;
}

static int grow_table(struct gr_net *net)
{
    uint32_t n = 0 == net->nlinks ? 16 : 2 * net->nlinks;
    struct gr_net_link **grown = gr_realloc(net->links, n * sizeof(*grown));

    if (NULL == grown) {
        return GR_ERR_NOMEM;
    }
    memset(grown + net->nlinks, 0, (n - net->nlinks) * sizeof(*grown));
    net->links = grown;
    net->nlinks = n;
    return 0;
}

int gr_net_number(struct gr_net *net, struct gr_net_link *l)
{
    uint32_t k = net->nused;

    while (k < net->nlinks && NULL != net->links[k]) {
        k++;
    }
    if (k == net->nlinks && 0 != grow_table(net)) {
        return GR_ERR_NOMEM;
    }
    net->links[k] = l;
    net->nused = k + 1;
    l->number = ++net->opened << 32 | k;
    return 0;
}

/* The peer with that address, perhaps a new one. NULL: no memory. */
static struct gr_net_peer *peer_at(struct gr_net *net, const struct gr_net_handle *handle)
{
    struct gr_net_peer *p;

    for (p = net->peers; NULL != p; p = p->next) {
        if (p->bytes == handle->bytes && 0 == memcmp(p->address, handle->address, p->bytes)) {
            return p;
        }
    }
    /* a transport may read more than handle->bytes of an address */
    p = gr_calloc(1, sizeof(*p) + sizeof(handle->address));
    if (NULL != p) {
        memcpy(p->address, handle->address, handle->bytes);
        p->bytes = handle->bytes;
        p->next = net->peers;
        net->peers = p;
    }
    return p;
}

int gr_net_peer(struct gr_net *net, const struct gr_net_handle *handle, struct gr_net_peer **peer)
{
    struct gr_net_peer *p = peer_at(net, handle);

    if (NULL == p) {
        return GR_ERR_NOMEM;
    }
    *peer = p;
    if (NULL == p->connection && 0 == p->status) {
        p->status = net->transport->connect(net->end, p->address, p, &p->connection, p->why,
                                            sizeof(p->why));
    }
    return p->status;
}

void gr_net_fail(struct gr_net_link *l, int status, const char *why)
{
    if (0 == l->status) {
        snprintf(l->why, sizeof(l->why), "%s", why);
        atomic_store_explicit(&l->status, status, memory_order_release);
        if (NULL != l->fifo.failed) {
            atomic_store_explicit(l->fifo.failed, true, memory_order_release);
        }
    }
    gr_net_wake(l); /* it is freed, if it is closed */
}

void gr_net_list_insert(struct gr_net_link **at, struct gr_net_link *l)
{
    l->listed_next = *at;
    l->listed = at;
    if (NULL != l->listed_next) {
        l->listed_next->listed = &l->listed_next;
    }
    *at = l;
}

void gr_net_list_remove(struct gr_net_link *l)
{
    if (NULL != l->listed) {
        *l->listed = l->listed_next;
        if (NULL != l->listed_next) {
            l->listed_next->listed = l->listed;
        }
        l->listed = NULL;
    }
}

void gr_net_wake(struct gr_net_link *l)
{
    if (NULL == l->listed) {
        gr_net_list_insert(&l->net->active, l);
    }
}

void gr_net_take_rung(struct gr_net *net)
{
    struct gr_doorbell *bell = gr_doorbells_take(&net->bells);
    struct gr_net_link **at = &net->active, *l;

    while (NULL != bell) {
        l = (struct gr_net_link *) bell;
        bell = gr_doorbell_clear(bell);
        if (NULL == l->listed) {
            gr_net_list_insert(at, l);
            at = &l->listed_next;
        }
    }
}
