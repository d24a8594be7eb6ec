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

/* The link with that number, or NULL. */
static struct gr_net_link *find(const struct gr_net *net, uint64_t number)
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

/*
 * Sending the slots of a link, and receiving them.
 *
 *      writer's FIFO:     head          next           tail
 *                          | being sent  | to be sent   |
 *                         [ ][x][ ][ ]  [ ][ ][ ]
 *
 *      reader's FIFO:     head       next
 *                          | unread   | being received
 *                         [ ][ ][ ]  [ ][x][ ]
 *
 * Messages can arrive, and be sent completely, in any order (x); the counters move in order. The
 * writer sends slot k only if k < read + window, so the reader has a free slot for each message.
 */

void gr_net_link_free(struct gr_net_link *l)
{
    struct gr_net *net = l->net;
    uint32_t k = (uint32_t) l->number;

    gr_net_take_rung(net); /* its doorbell may be there */
    gr_net_list_remove(l);
    net->links[k] = NULL;
    net->nused = k < net->nused ? k : net->nused;
    if (NULL != l->peer && l == l->peer->last_in) {
        l->peer->last_in = NULL;
    }
    if (l->fifo.gpu.on) {
        gr_lease_leave(l->fifo.gpu.user, l->fifo.gpu.lease);
    }
    gr_lease_leave(l->fifo.user, l->fifo.lease);
    free(l);
}

/* Writer: slots that have been pushed and may be sent. */
static uint64_t pushed(const struct gr_net_link *l)
{
    uint64_t limit = NULL == l->fifo.send_limit
                         ? UINT64_MAX
                         : atomic_load_explicit(l->fifo.send_limit, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(l->fifo.tail, memory_order_acquire);

    return (tail < limit ? tail : limit) - l->fifo.count;
}

static int is_connected(const struct gr_net_link *l)
{
    return 0 != l->peer_number && 0 == l->peer->status;
}

/* Whether a closed link can be freed. */
static int is_finished(const struct gr_net_link *l)
{
    if (!l->closing || l->in_flight > 0) {
        return 0;
    }
    return !is_connected(l) || l->left ||
           (GR_NET_OUT == l->side && (0 != l->status || l->next == pushed(l)));
}

/* ---- sending ---- */

/* Slots that have been read. */
static uint64_t popped(const struct gr_net_link *l)
{
    return atomic_load_explicit(l->fifo.head, memory_order_acquire) - l->fifo.count;
}

/*
 * Add a credit for the link that data of this peer came over last. So an exchange of small messages
 * needs no messages for credits.
 */
static void add_credit(const struct gr_net_peer *peer, struct gr_net_head *head)
{
    struct gr_net_link *in = peer->last_in;
    uint64_t read = NULL == in ? 0 : popped(in);

    if (NULL != in && !in->closing && 0 == in->status && read > in->read) {
        in->read = read;
        head->credit_link = in->peer_number;
        head->credit = read;
    }
}

static void add_sideband(const struct gr_net_link *l, struct gr_net_head *head)
{
    int k;

    for (k = 0; NULL != l->fifo.sideband && k < GR_NSIDEBAND; k++) {
        head->sideband[k] = atomic_load_explicit(&l->fifo.sideband[k], memory_order_relaxed);
    }
}

/* Send a message. gr_net_sent() is called when it is sent or has failed, perhaps from here. */
static void post(struct gr_net_link *l, struct gr_net_message *m, enum gr_net_kind kind,
                 uint64_t seq, const void *data, size_t bytes)
{
    int rc;

    m->head = (struct gr_net_head) {.link = l->peer_number, .seq = seq, .kind = kind};
    if (GR_NET_DATA == kind) {
        add_credit(l->peer, &m->head);
        add_sideband(l, &m->head);
    }
    l->in_flight++; /* first, because send() can call gr_net_sent() */
    rc = l->net->transport->send(l->net->end, l->peer->connection, m, data, bytes);
    if (0 != rc) {
        gr_net_sent(l->net, m, rc < 0 ? rc : 0);
    }
}

/* Address of the data of a slot. */
static const void *data_of(const struct gr_net_link *l, uint32_t at)
{
    const void *data = NULL == l->fifo.data_at ? NULL : l->fifo.data_at[at];

    return NULL != data ? data : l->fifo.slots + at * l->fifo.slot_bytes;
}

/* Return slots that have been sent to the writer, in order. */
static void return_slots(struct gr_net_link *l)
{
    while (l->done & 1) {
        l->done >>= 1;
        atomic_store_explicit(l->fifo.head, l->fifo.count + ++l->returned, memory_order_release);
    }
}

void gr_net_sent(void *ctx, struct gr_net_message *message, int status)
{
    struct gr_net_link *l = message->link;

    (void) ctx;
    l->in_flight--;
    l->credit_pending = l->credit_pending && GR_NET_DATA == message->head.kind;
    if (GR_NET_DATA == message->head.kind && NULL != l->fifo.data_at) {
        /* also on error: the transport does not use the data any more */
        l->fifo.data_at[gr_net_slot(l, message->head.seq)] = NULL;
    }
    if (status < 0) {
        gr_net_fail(l, status, 0 != l->peer->status ? l->peer->why : "a message could not be sent");
    } else if (GR_NET_DATA == message->head.kind) {
        l->done |= (uint64_t) 1 << (message->head.seq - l->returned);
        return_slots(l);
    }
    if (GR_NET_IN == l->side || l->closing) {
        gr_net_wake(l); /* the next credit, or the end */
    }
}

static void send_slots(struct gr_net_link *l)
{
    uint64_t end = pushed(l), window_end = l->read + l->window, seq;
    uint32_t at;

    for (seq = l->next; seq < end && seq < window_end && 0 == l->status; seq = l->next) {
        at = gr_net_slot(l, seq);
        l->next++;
        l->net->moved++;
        post(l, &l->message[at], GR_NET_DATA, seq, data_of(l, at),
             NULL == l->fifo.valid_bytes ? l->fifo.slot_bytes : l->fifo.valid_bytes[at]);
    }
}

/* The reader has left: what is pushed is not sent, and the writer gets its slots back. */
static void drop_slots(struct gr_net_link *l)
{
    uint64_t end = pushed(l);

    for (; l->next < end; l->next++) {
        if (NULL != l->fifo.data_at) {
            l->fifo.data_at[gr_net_slot(l, l->next)] = NULL;
        }
        l->done |= (uint64_t) 1 << (l->next - l->returned);
        l->net->moved++;
    }
    return_slots(l);
}

/*
 * Send the writer a credit: when half of the slots are free again, so that it does not run out of
 * them. Or tell it that the reader has left.
 */
static void send_credit(struct gr_net_link *l)
{
    uint64_t head = popped(l);

    if (l->credit_pending) {
        return;
    }
    if (l->closing && !l->left) {
        l->left = l->credit_pending = 1;
        post(l, &l->message[0], GR_NET_GONE, head, NULL, 0);
    } else if (!l->closing && head - l->read >= l->fifo.nslots / 2) {
        l->read = head;
        l->credit_pending = 1;
        post(l, &l->message[0], GR_NET_CREDIT, head, NULL, 0);
    }
}

int gr_net_can_send(const struct gr_net_link *l)
{
    return GR_NET_OUT == l->side && !l->left && 0 == l->status && is_connected(l) &&
           l->next < l->read + l->window && l->next < pushed(l);
}

void gr_net_link_progress(struct gr_net_link *l)
{
    if (is_connected(l)) {
        /* the writer must hear that the reader has left, even if the link has failed */
        if (GR_NET_IN == l->side && (l->closing || 0 == l->status)) {
            send_credit(l);
        } else if (GR_NET_OUT == l->side && l->left) {
            drop_slots(l);
        } else if (GR_NET_OUT == l->side) {
            send_slots(l);
        }
    }
    if (is_finished(l)) {
        gr_net_link_free(l);
    }
}

/* ---- receiving ---- */

void *gr_net_get_recv_buffer(void *ctx, const struct gr_net_head *head, size_t bytes, int *on_gpu)
{
    struct gr_net_link *l = find(ctx, head->link);
    struct gr_net_head credit = {
        .link = head->credit_link, .seq = head->credit, .kind = GR_NET_CREDIT};

    gr_net_on_control(ctx, &credit);
    if (NULL == l || GR_NET_IN != l->side || l->closing || 0 != l->status) {
        return NULL;
    }
    /* any other message would overwrite unread slots */
    if (head->seq < l->next || head->seq >= l->read + l->fifo.nslots ||
        bytes > l->fifo.slot_bytes || (l->done | l->receiving) >> (head->seq - l->next) & 1) {
        gr_net_fail(l, GR_ERR_NET, "a message came for which there is no room");
        return NULL;
    }
    l->in_flight++;
    l->receiving |= (uint64_t) 1 << (head->seq - l->next);
    *on_gpu = l->fifo.gpu.on;
    return l->fifo.slots + gr_net_slot(l, head->seq) * l->fifo.slot_bytes;
}

/* Store the sideband, before the tail; but not older words after newer ones: slots may overtake. */
static void take_sideband(struct gr_net_link *l, const struct gr_net_head *head)
{
    int k;

    if (NULL == l->fifo.sideband || head->seq < l->sideband_next) {
        return;
    }
    l->sideband_next = head->seq + 1;
    for (k = 0; k < GR_NSIDEBAND; k++) {
        atomic_store_explicit(&l->fifo.sideband[k], head->sideband[k], memory_order_relaxed);
    }
}

/* Make the slots visible to the reader. Once for all slots that the tail passes next. */
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
    struct gr_net_link *l = find(ctx, head->link); /* not freed: the message is in flight */

    l->in_flight--;
    if (l->closing) {
        gr_net_wake(l);
    }
    l->receiving &= ~((uint64_t) 1 << (head->seq - l->next));
    if (status < 0) {
        gr_net_fail(l, status, "a message could not be received");
        return;
    }
    if (NULL != l->peer) {
        l->peer->last_in = l;
    }
    take_sideband(l, head);
    l->done |= (uint64_t) 1 << (head->seq - l->next);
    if (l->done & 1 && !is_flushed(l)) {
        return;
    }
    while (l->done & 1) {
        l->done >>= 1;
        l->receiving >>= 1;
        l->next++;
        l->net->moved++;
        atomic_store_explicit(l->fifo.tail, l->fifo.count + l->next, memory_order_release);
    }
}

void gr_net_on_control(void *ctx, const struct gr_net_head *head)
{
    struct gr_net_link *l = find(ctx, head->link);

    if (NULL == l || GR_NET_OUT != l->side) {
        return;
    }
    gr_net_wake(l);
    if (GR_NET_GONE == head->kind) {
        l->left = 1;
    } else if (head->seq > l->read &&
               head->seq <= l->next) { /* not one that a newer one has overtaken */
        l->read = head->seq;
    }
}
