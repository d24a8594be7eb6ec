/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The links of net.h: what they send, and what becomes of what comes in.
 *
 *      writer's FIFO:  head          next         tail   reader's FIFO:  head       next
 *                       | in flight   | to be sent |                      | unread   | in flight
 *                      [ ][x][ ][ ]  [ ][ ][ ]                           [ ][ ][ ]  [ ][x][ ]
 *
 * Messages may arrive, and be through, in any order (x); counters move in order. The writer sends
 * slot k only when k < read + window, so there is a free place for whatever comes in.
 */
#include "net/net_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- failure ---- */

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

/* ---- making ---- */

int gr_net_link_open(struct gr_net *net, enum gr_net_side side, const struct gr_fifo *fifo,
                     struct gr_net_link **link)
{
    uint32_t nmessages = GR_NET_OUT == side ? fifo->nslots : 1, k;
    struct gr_net_link *l;
    int rc;

    assert(!fifo->gpu.on || gr_net_reaches_gpus(net));
    assert(fifo->nslots >= GR_MIN_SLOTS && fifo->nslots <= GR_MAX_SLOTS &&
           fifo->slot_bytes <= UINT32_MAX);
    l = calloc(1, sizeof(*l) + nmessages * sizeof(l->message[0]));
    if (NULL == l) {
        return GR_ERR_NOMEM;
    }
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

static int is_spoken(const struct gr_net_link *l, const struct gr_net_handle *o)
{
    return 0 == strncmp(o->transport, l->net->transport->name, sizeof(o->transport));
}

/* Whether both ends can be one link. */
static int fits(const struct gr_net_link *l, const struct gr_net_handle *o)
{
    return 0 != o->link && is_spoken(l, o) && o->bytes > 0 && o->bytes <= sizeof(o->address) &&
           o->slot_bytes == l->fifo.slot_bytes && o->nslots >= GR_MIN_SLOTS &&
           o->nslots <= GR_MAX_SLOTS;
}

/* Why there is no link to whoever made the handle. */
static void refuse(struct gr_net_link *l, const struct gr_net_handle *theirs, int status)
{
    char why[100];

    if (NULL != l->peer) {
        gr_net_fail(l, status, l->peer->why);
    } else if (!is_spoken(l, theirs)) {
        snprintf(why, sizeof(why), "its links go over %.*s, those of this process over %s",
                 (int) sizeof(theirs->transport), theirs->transport, l->net->transport->name);
        gr_net_fail(l, status, why);
    } else {
        gr_net_fail(l, status, "its offer of a link does not fit");
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
        link->theirs = theirs->link;
        link->window = GR_NET_OUT == link->side ? theirs->nslots : link->fifo.nslots;
    }
    gr_net_unlock(link->net);
    return rc;
}

/* ---- the end ---- */

void gr_net_leave(struct gr_net_link *l)
{
    l->net->places[(uint32_t) l->number] = NULL;
    if (NULL != l->peer && l == l->peer->heard) {
        l->peer->heard = NULL;
    }
    if (l->fifo.gpu.on) {
        gr_lease_leave(l->fifo.gpu.user, l->fifo.gpu.lease);
    }
    gr_lease_leave(l->fifo.user, l->fifo.lease);
    free(l);
}

/* Slots that the writer has pushed, and that may travel. */
static uint64_t pushed(const struct gr_net_link *l)
{
    uint64_t until = NULL == l->fifo.until
                         ? UINT64_MAX
                         : atomic_load_explicit(l->fifo.until, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(l->fifo.tail, memory_order_acquire);

    return (tail < until ? tail : until) - l->fifo.count;
}

static int is_connected(const struct gr_net_link *l)
{
    return 0 != l->theirs && 0 == l->peer->status;
}

/* Whether nothing is left to be done for a link that was closed. */
static int is_over(const struct gr_net_link *l)
{
    if (!l->closing || l->under_way > 0) {
        return 0;
    }
    return !is_connected(l) || l->gone ||
           (GR_NET_OUT == l->side && (0 != l->status || l->next == pushed(l)));
}

/* ---- sending ---- */

/* Slots of which the reader is through. */
static uint64_t popped(const struct gr_net_link *l)
{
    return atomic_load_explicit(l->fifo.head, memory_order_acquire) - l->fifo.count;
}

/*
 * Who answers tells with the answer how far it has read: exchanges of small messages need no other
 * credits.
 */
static void add_credit(const struct gr_net_peer *peer, struct gr_net_head *head)
{
    struct gr_net_link *in = peer->heard;
    uint64_t read = NULL == in ? 0 : popped(in);

    if (NULL != in && !in->closing && 0 == in->status && read > in->read) {
        in->read = read;
        head->back = in->theirs;
        head->read = read;
    }
}

static void add_words(const struct gr_net_link *l, struct gr_net_head *head)
{
    int k;

    for (k = 0; NULL != l->fifo.words && k < GR_NWORDS; k++) {
        head->words[k] = atomic_load_explicit(&l->fifo.words[k], memory_order_relaxed);
    }
}

/* gr_net_sent() tells how it ended, maybe at once. */
static void post(struct gr_net_link *l, struct gr_net_message *m, enum gr_net_kind kind,
                 uint64_t seq, const void *data, size_t bytes)
{
    int rc;

    m->head = (struct gr_net_head) {.link = l->theirs, .seq = seq, .kind = kind};
    if (GR_NET_DATA == kind) {
        add_credit(l->peer, &m->head);
        add_words(l, &m->head);
    }
    l->under_way++; /* before: it may fail within */
    rc = l->net->transport->send(l->net->end, l->peer->connection, m, data, bytes);
    if (0 != rc) {
        gr_net_sent(l->net, m, rc < 0 ? rc : 0);
    }
}

/* Where the data of a slot lie. */
static const void *data_of(const struct gr_net_link *l, uint32_t at)
{
    const void *from = NULL == l->fifo.from ? NULL : l->fifo.from[at];

    return NULL != from ? from : l->fifo.slots + at * l->fifo.slot_bytes;
}

/* The writer's slots that lie in front have been sent: give them back. */
static void give_back(struct gr_net_link *l)
{
    while (l->through & 1) {
        l->through >>= 1;
        atomic_store_explicit(l->fifo.head, l->fifo.count + ++l->given, memory_order_release);
    }
}

void gr_net_sent(void *ctx, struct gr_net_message *message, int status)
{
    struct gr_net_link *l = message->link;

    (void) ctx;
    l->under_way--;
    l->telling = l->telling && GR_NET_DATA == message->head.kind;
    if (GR_NET_DATA == message->head.kind && NULL != l->fifo.from) {
        /* also where it failed: the transport is through with it */
        l->fifo.from[gr_net_slot(l, message->head.seq)] = NULL;
    }
    if (status < 0) {
        gr_net_fail(l, status, 0 != l->peer->status ? l->peer->why : "a message could not be sent");
    } else if (GR_NET_DATA == message->head.kind) {
        l->through |= (uint64_t) 1 << (message->head.seq - l->given);
        give_back(l);
    }
}

static void send_slots(struct gr_net_link *l)
{
    uint64_t until = pushed(l), most = l->read + l->window, seq;
    uint32_t at;

    for (seq = l->next; seq < until && seq < most && 0 == l->status; seq = l->next) {
        at = gr_net_slot(l, seq);
        l->next++;
        l->net->moved++;
        post(l, &l->message[at], GR_NET_DATA, seq, data_of(l, at),
             NULL == l->fifo.fill ? l->fifo.slot_bytes : l->fifo.fill[at]);
    }
}

/*
 * Tell the writer how far the reader is: not each time, but before the writer runs out of slots -
 * with two slots each time, else when half of them are free again.
 */
static void send_credit(struct gr_net_link *l)
{
    uint64_t head = popped(l);

    if (l->telling) {
        return;
    }
    if (l->closing && !l->gone) {
        l->gone = l->telling = 1;
        post(l, &l->message[0], GR_NET_GONE, head, NULL, 0);
    } else if (!l->closing && head - l->read >= l->fifo.nslots / 2) {
        l->read = head;
        l->telling = 1;
        post(l, &l->message[0], GR_NET_CREDIT, head, NULL, 0);
    }
}

int gr_net_sends(const struct gr_net_link *l)
{
    return GR_NET_OUT == l->side && !l->gone && 0 == l->status && is_connected(l) &&
           l->next < l->read + l->window && l->next < pushed(l);
}

void gr_net_go_on(struct gr_net_link *l)
{
    if (is_connected(l)) {
        /* even of a link that failed, its writer must hear that it was left */
        if (GR_NET_IN == l->side && (l->closing || 0 == l->status)) {
            send_credit(l);
        } else if (GR_NET_OUT == l->side && !l->gone) {
            send_slots(l);
        }
    }
    if (is_over(l)) {
        gr_net_leave(l);
    }
}

/* ---- what comes in ---- */

void *gr_net_get_recv_buffer(void *ctx, const struct gr_net_head *head, size_t bytes, int *on_gpu)
{
    struct gr_net_link *l = gr_net_find(ctx, head->link);
    struct gr_net_head credit = {.link = head->back, .seq = head->read, .kind = GR_NET_CREDIT};

    gr_net_on_control(ctx, &credit);
    if (NULL == l || GR_NET_IN != l->side || l->closing || 0 != l->status) {
        return NULL;
    }
    /* what breaks these rules would overwrite what is unread */
    if (head->seq < l->next || head->seq >= l->read + l->fifo.nslots ||
        bytes > l->fifo.slot_bytes || (l->through | l->coming) >> (head->seq - l->next) & 1) {
        gr_net_fail(l, GR_ERR_NET, "a message came for which there is no room");
        return NULL;
    }
    l->under_way++;
    l->coming |= (uint64_t) 1 << (head->seq - l->next);
    *on_gpu = l->fifo.gpu.on;
    return l->fifo.slots + gr_net_slot(l, head->seq) * l->fifo.slot_bytes;
}

/*
 * The reader is told before the slot is; not older words after newer ones, where slots overtake
 * each other.
 */
static void take_words(struct gr_net_link *l, const struct gr_net_head *head)
{
    int k;

    if (NULL == l->fifo.words || head->seq < l->said) {
        return;
    }
    l->said = head->seq + 1;
    for (k = 0; k < GR_NWORDS; k++) {
        atomic_store_explicit(&l->fifo.words[k], head->words[k], memory_order_relaxed);
    }
}

/*
 * Whether all that has come is there for the reader; once for all slots that the tail then passes.
 */
static int is_flushed(struct gr_net_link *l)
{
    if (NULL == l->fifo.gpu.flush || 0 == l->fifo.gpu.flush(l->fifo.gpu.gpu)) {
        return 1;
    }
    gr_net_fail(l, GR_ERR_NET, "what came in could not be flushed to the GPU");
    return 0;
}

void gr_net_recv_done(void *ctx, const struct gr_net_head *head, int status)
{
    struct gr_net_link *l = gr_net_find(ctx, head->link); /* it is there: it waits for this */

    l->under_way--;
    l->coming &= ~((uint64_t) 1 << (head->seq - l->next));
    if (status < 0) {
        gr_net_fail(l, status, "a message could not be received");
        return;
    }
    if (NULL != l->peer) {
        l->peer->heard = l;
    }
    take_words(l, head);
    l->through |= (uint64_t) 1 << (head->seq - l->next);
    if (l->through & 1 && !is_flushed(l)) {
        return;
    }
    while (l->through & 1) {
        l->through >>= 1;
        l->coming >>= 1;
        l->next++;
        l->net->moved++;
        atomic_store_explicit(l->fifo.tail, l->fifo.count + l->next, memory_order_release);
    }
}

void gr_net_on_control(void *ctx, const struct gr_net_head *head)
{
    struct gr_net_link *l = gr_net_find(ctx, head->link);

    if (NULL == l || GR_NET_OUT != l->side) {
        return;
    }
    if (GR_NET_GONE == head->kind) {
        l->gone = 1;
    } else if (head->seq > l->read &&
               head->seq <= l->next) { /* not an older one that was overtaken */
        l->read = head->seq;
    }
}
