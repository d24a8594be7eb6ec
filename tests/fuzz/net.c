/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes over the network (net/net.h): handles of links, heads of messages, credits, in any
 * order, and ends that are lost or closed in between. The other side is the input; this process has
 * both kinds of ends.
 *
 * Held to be true whatever comes: data are put into the FIFO's slots only, and never into one that
 * is being received into or unread; a FIFO is not touched after the network has left it; credits
 * give back no slot that was not sent.
 */
#include "fuzz.h"

#include "net/net.h"
#include "net/net_state.h"
#include "net_transport.h"

/* An end of a link. */
struct end {
    struct gr_net_link *link;      /* NULL: it was closed */
    struct gr_link_shared *shared; /* its FIFO's memory; NULL: none, or the network has left it */
    size_t frame_bytes;            /* of that memory */
    enum gr_net_side side;
    uint32_t nslots;
    size_t slot_bytes;
    uint64_t number; /* the network's, for heads */
    uint64_t done;   /* slots that this process pushed or popped */
};

static struct gr_net *net;
static struct end ends[ENDS];

/* ---- ends ---- */

/* Memory that the network has left must not be touched by it any more. */
static void collect(void)
{
    struct end *e;

    for (e = ends; e < ends + ENDS; e++) {
        if (NULL != e->shared && 0 != e->shared->writer.left) {
            FUZZ_NEED(NULL == e->link);
            free(e->shared);
            e->shared = NULL;
        }
    }
}

static void open_end(struct fuzz_input *in)
{
    struct end *e = &ends[fuzz_below(in, ENDS)];
    struct gr_fifo fifo;

    if (NULL != e->shared) {
        return;
    }
    *e = (struct end) {.side = fuzz_below(in, 2) ? GR_NET_IN : GR_NET_OUT,
                       .nslots = 2 + fuzz_below(in, 63),
                       .slot_bytes = (size_t) 8 << fuzz_below(in, 4)};
    e->frame_bytes = gr_link_net_bytes(e->nslots, e->slot_bytes);
    e->shared = aligned_alloc(GR_CACHE_LINE, e->frame_bytes);
    FUZZ_NEED(NULL != e->shared);
    memset(e->shared, 0, e->frame_bytes);
    fifo = gr_link_fifo(e->shared, 0, e->nslots, e->slot_bytes);
    fifo.lease = 1;
    if (GR_NET_OUT == e->side && fuzz_below(in, 2)) {
        fifo.valid_bytes = gr_link_valid_bytes(e->shared, e->nslots, e->slot_bytes);
        fifo.data_at = gr_link_data_at(e->shared, e->nslots, e->slot_bytes);
    }
    FUZZ_NEED(0 == gr_net_link_open(net, e->side, &fifo, &e->link));
    e->number = e->link->number;
}

static struct end *an_end(struct fuzz_input *in)
{
    return &ends[fuzz_below(in, ENDS)];
}

static void join_end(struct fuzz_input *in)
{
    struct end *e = an_end(in);
    struct gr_net_handle handle;

    if (NULL == e->link || 0 != e->link->peer_number || 0 != gr_net_link_status(e->link)) {
        return;
    }
    gr_net_link_export(e->link, &handle);
    handle.link = 1 + fuzz_below(in, 3);
    switch (fuzz_below(in, 3)) {
    case 0:
        fuzz_patch(in, &handle, offsetof(struct gr_net_handle, address) + 4);
        break;
    case 1:
        handle.bytes = fuzz_below(in, 8);
        break;
    default:
        break;
    }
    (void) gr_net_link_join(e->link, &handle, "rank 1 on elsewhere");
}

static void close_end(struct fuzz_input *in)
{
    struct end *e = an_end(in);
    struct gr_net_link *l = e->link;

    if (NULL != l) {
        e->link = NULL;
        gr_net_link_close(l);
    }
}

/* This process pushes into an outgoing end, or pops from an incoming one. */
static void use_end(struct fuzz_input *in)
{
    struct end *e = an_end(in);
    uint64_t tail, head;

    if (NULL == e->link) {
        return;
    }
    tail = atomic_load(&e->shared->tail);
    head = atomic_load(&e->shared->head);
    FUZZ_NEED(tail - head <= e->nslots);
    if (GR_NET_OUT == e->side && tail - head < e->nslots) {
        if (NULL != e->link->fifo.valid_bytes) {
            gr_link_valid_bytes(e->shared, e->nslots, e->slot_bytes)[tail % e->nslots] =
                (uint32_t) e->slot_bytes;
        }
        atomic_store(&e->shared->tail, ++e->done);
    } else if (GR_NET_IN == e->side && tail != head) {
        atomic_store(&e->shared->head, ++e->done);
    }
    gr_doorbell_ring(&e->link->bell);
}

/* ---- what comes in ---- */

/* A head as it travels: most of them for a link that is there, and near what it expects. */
static int take_head(struct fuzz_input *in, struct gr_net_head *head)
{
    unsigned char wire[sizeof(*head) + 8];
    size_t bytes = fuzz_below(in, 4) ? sizeof(*head) : fuzz_below(in, sizeof(wire) + 1);
    const struct end *e = an_end(in), *back = an_end(in);
    unsigned how = fuzz_below(in, 8);

    fuzz_bytes(in, wire, how & 4 ? bytes : 0);
    if (!(how & 4)) {
        memset(wire, 0, sizeof(wire));
    }
    if (!gr_net_head_take(head, wire, bytes)) {
        return 0;
    }
    if (how & 3) {
        head->link = e->number;
        head->credit_link = how & 2 ? back->number : head->credit_link;
    }
    if (0 == (how & 4)) {
        head->seq = e->done + fuzz_below(in, 66);
        head->kind = fuzz_below(in, 4);
        head->credit = back->done - fuzz_below(in, 4);
    }
    return 1;
}

/* Where data may be written: into one end's slots, which are not unread, and into which nothing
 * else is being received. */
static void check_place(const unsigned char *to, size_t bytes)
{
    const struct end *e;
    uint64_t at, seq;
    int k;

    for (e = ends; e < ends + ENDS; e++) {
        if (NULL != e->shared && to >= e->shared->slots &&
            to < e->shared->slots + e->nslots * e->slot_bytes) {
            break;
        }
    }
    FUZZ_NEED(e < ends + ENDS && GR_NET_IN == e->side && bytes <= e->slot_bytes);
    at = (uint64_t) (to - e->shared->slots) / e->slot_bytes;
    for (seq = atomic_load(&e->shared->head); seq != atomic_load(&e->shared->tail); seq++) {
        FUZZ_NEED(seq % e->nslots != at);
    }
    for (k = 0; k < COMING; k++) {
        FUZZ_NEED(coming[k].to != to);
    }
}

static void data_come(struct fuzz_input *in)
{
    struct coming *c = &coming[fuzz_below(in, COMING)];
    struct gr_net_head head;
    size_t bytes = fuzz_below(in, 80);
    unsigned later = fuzz_below(in, 2);
    int on_gpu = 1;
    void *to;

    if (!take_head(in, &head)) {
        return;
    }
    to = up->get_recv_buffer(up->ctx, &head, bytes, &on_gpu);
    if (NULL == to) {
        return;
    }
    FUZZ_NEED(0 == on_gpu);
    check_place(to, bytes);
    if (later && NULL == c->to) {
        *c = (struct coming) {head, to, bytes};
        return;
    }
    memset(to, 0xa5, bytes);
    up->recv_done(up->ctx, &head, 0);
}

/* Data that took their time are there. */
static void data_are_there(struct fuzz_input *in)
{
    struct coming *c = &coming[fuzz_below(in, COMING)];
    struct gr_net_head head = c->head;

    if (NULL != c->to) {
        memset(c->to, 0x5a, c->bytes);
        c->to = NULL;
        up->recv_done(up->ctx, &head, fuzz_below(in, 8) ? 0 : GR_ERR_LOST);
    }
}

static void note_comes(struct fuzz_input *in)
{
    struct gr_net_head head;

    if (take_head(in, &head)) {
        up->on_control(up->ctx, &head);
    }
}

static void message_is_sent(struct fuzz_input *in)
{
    unsigned k = fuzz_below(in, GOING);
    struct gr_net_message *m = going[k];

    if (NULL != m) {
        going[k] = NULL;
        up->sent(up->ctx, m, fuzz_below(in, 8) ? 0 : GR_ERR_LOST);
    }
}

static void act(struct fuzz_input *in)
{
    uint64_t moved = 0;

    switch (fuzz_below(in, 12)) {
    case 0:
        open_end(in);
        break;
    case 1:
        join_end(in);
        break;
    case 2:
        if (0 == fuzz_below(in, 4)) {
            close_end(in);
        }
        break;
    case 3:
    case 4:
        use_end(in);
        break;
    case 5:
    case 6:
        data_come(in);
        break;
    case 7:
        data_are_there(in);
        break;
    case 8:
        note_comes(in);
        break;
    case 9:
        message_is_sent(in);
        break;
    case 10:
        if (npeers > 0 && 0 == fuzz_below(in, 16)) {
            up->lost(up->ctx, peers[fuzz_below(in, (unsigned) npeers)], "pulled out");
        }
        break;
    default:
        gr_net_progress(net, &moved);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    char why[100];
    int k;

    npeers = 0;
    FUZZ_NEED(0 == gr_net_open(&net, &fake, NULL, why, sizeof(why)));
    while (in.left > 0) {
        act(&in);
        collect();
    }
    gr_net_close(net, 0);
    for (k = 0; k < ENDS; k++) {
        FUZZ_NEED(NULL == ends[k].shared || 1 == ends[k].shared->writer.left);
        free(ends[k].shared);
        ends[k] = (struct end) {.link = NULL};
    }
    return 0;
}
