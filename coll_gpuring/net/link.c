/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, joining and closing the ends of links. */
#include "net/link.h"

#include "base/memory.h"
#include "net/net.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gr_net_link_open(struct gr_net *net, enum gr_net_side side, const struct gr_fifo *fifo,
                     struct gr_net_link **link)
{
    uint32_t nmessages = GR_NET_OUT == side ? fifo->nslots : 1, k;
    struct gr_net_link *l;
    int rc;

    assert(!fifo->gpu.on || gr_net_reaches_gpus(net));
    assert(fifo->nslots >= GR_MIN_SLOTS && fifo->nslots <= GR_MAX_SLOTS &&
           fifo->slot_bytes <= UINT32_MAX);
    l = gr_calloc(1, sizeof(*l) + nmessages * sizeof(l->message[0]));
    if (NULL == l) {
        return GR_ERR_NOMEM;
    }
    l->bell.list = &net->bells;
    l->net = net;
    l->side = side;
    l->fifo = *fifo;
    l->window = fifo->nslots;
    for (k = 0; k < nmessages; k++) {
        l->message[k].link = l;
        l->message[k].on_gpu = fifo->gpu.on;
    }
    gr_net_lock(net);
    rc = gr_net_number(net, l);
    gr_net_unlock(net);
    if (0 != rc) {
        free(l);
        return rc;
    }
    *link = l;
    return 0;
}

void gr_net_link_export(const struct gr_net_link *link, struct gr_net_handle *handle)
{
    memset(handle, 0, sizeof(*handle));
    handle->link = link->number;
    handle->nslots = link->fifo.nslots;
    handle->slot_bytes = (uint32_t) link->fifo.slot_bytes;
    snprintf(handle->transport, sizeof(handle->transport), "%s", link->net->transport->name);
    handle->bytes = link->net->address_bytes;
    memcpy(handle->address, link->net->address, link->net->address_bytes);
}

static int same_transport(const struct gr_net_link *l, const struct gr_net_handle *o)
{
    return 0 == strncmp(o->transport, l->net->transport->name, sizeof(o->transport));
}

/* Whether the two ends fit together. */
static int fits(const struct gr_net_link *l, const struct gr_net_handle *o)
{
    return 0 != o->link && same_transport(l, o) && o->bytes > 0 && o->bytes <= sizeof(o->address) &&
           o->slot_bytes == l->fifo.slot_bytes && o->nslots >= GR_MIN_SLOTS &&
           o->nslots <= GR_MAX_SLOTS;
}

/* Fail the link, with the reason why it cannot be joined. */
static void refuse(struct gr_net_link *l, const struct gr_net_handle *theirs, int status)
{
    char why[100];

    if (NULL != l->peer) {
        gr_net_fail(l, status, l->peer->why);
    } else if (!same_transport(l, theirs)) {
        snprintf(why, sizeof(why), "its links go over %.*s, those of this process over %s",
                 (int) sizeof(theirs->transport), theirs->transport, l->net->transport->name);
        gr_net_fail(l, status, why);
    } else {
        gr_net_fail(l, status, "its handle of a link does not fit");
    }
}

int gr_net_link_join(struct gr_net_link *link, const struct gr_net_handle *theirs, const char *peer)
{
    int rc = GR_ERR_NET;

    snprintf(link->name, sizeof(link->name), "%s", peer);
    gr_net_lock(link->net);
    if (fits(link, theirs)) {
        rc = gr_net_peer(link->net, theirs, &link->peer);
    }
    if (0 != rc) {
        refuse(link, theirs, rc);
    } else {
        link->peer_number = theirs->link;
        link->window = GR_NET_OUT == link->side ? theirs->nslots : link->fifo.nslots;
        if (GR_NET_IN == link->side || gr_net_can_send(link)) {
            gr_net_wake(link); /* it was used before */
        }
    }
    gr_net_unlock(link->net);
    return rc;
}

int gr_net_link_status(const struct gr_net_link *link)
{
    return atomic_load_explicit(&link->status, memory_order_acquire);
}

void gr_net_link_error(const struct gr_net_link *link, char *text, size_t size)
{
    text[0] = '\0';
    if (0 != gr_net_link_status(link)) {
        snprintf(text, size, "%s: %s", link->name, link->why);
    }
}

/*
 * Copy the data of a slot into the slot, unless the transport is sending them. Returns 1 if they
 * are being sent, otherwise 0.
 */
static int reclaim(struct gr_net_link *l, uint64_t seq)
{
    uint32_t at = gr_net_slot(l, seq);

    if (NULL == l->fifo.data_at[at] || seq < l->next) {
        return NULL != l->fifo.data_at[at];
    }
    memcpy(l->fifo.slots + at * l->fifo.slot_bytes, l->fifo.data_at[at], l->fifo.valid_bytes[at]);
    l->fifo.data_at[at] = NULL;
    return 0;
}

int gr_net_link_reclaim(struct gr_net_link *link)
{
    uint64_t seq, end;
    int n = 0;

    if (GR_NET_IN == link->side || NULL == link->fifo.data_at) {
        return 0;
    }
    gr_net_lock(link->net);
    end = atomic_load_explicit(link->fifo.tail, memory_order_acquire) - link->fifo.count;
    for (seq = link->returned; seq < end; seq++) {
        n += reclaim(link, seq);
    }
    gr_net_unlock(link->net);
    return n;
}

void gr_net_link_close(struct gr_net_link *link)
{
    struct gr_net *net = link->net;

    gr_net_lock(net);
    link->closing = 1;
    link->fifo.failed = NULL;
    gr_net_link_progress(link);
    gr_net_unlock(net);
}
