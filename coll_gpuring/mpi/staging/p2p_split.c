/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that are nothing but messages between pairs of ranks: gather, scatter, alltoallv,
 * neighbourhoods. Where all ranks may have buffers on devices, large messages go in fragments
 * (p2p_pipeline.c), and the saved collective does the rest of the call: the same with nothing in
 * the place of these.
 *
 *     alltoallv   counts 3 900000 5 800000   -->   rest 3 0 5 0,   messages 1 and 3
 *
 * Both ends of a message know its size, so both know whether it is one of these, and tell each
 * other where their buffers are.
 */
#include "mpi/fallback.h"

#include "base/memory.h"
#include "comm/failure.h"
#include "comm/params.h"
#include "comm/runtime.h"
#include "base/errors.h"
#include "base/text.h"
#include "mpi/buffer_desc.h"
#include "mpi/call.h"
#include "mpi/module.h"
#include "mpi/runtime.h"
#include "mpi/staging/p2p_pipeline.h"

#include "cuda/device.h"

#include <stdio.h>
#include <stdlib.h>

/* Messages of a direction that are in flight at a time. */
#define CHANNELS 4

/* Calls of an order that may be in flight at a time; their two tags tell them apart. */
#define CALLS (GR_TAGGED_PAIRS / GR_NORDERS)

/* Polls without progress before a look whether other ranks have failed. */
#define VAIN 1024

/* One direction. */
struct direction {
    struct gr_p2p_message *messages; /* owned */
    int n, next, done;
    struct gr_p2p_channel channels[CHANNELS];
};

struct gr_p2p_split {
    struct gr_comm *comm;
    struct gr_p2p_route route;
    /* polls without progress since the last look for failures of others */
    unsigned vain;
    enum gr_call_id id;
    bool alone; /* nothing is left for the saved collective */
    struct gr_call rest;
    struct gr_kept_args kept;       /* arrays of the rest: those of the call, changed; */
    void *named[2];                 /* or these, of neighbor_alltoall */
    struct direction directions[2]; /* send, receive */
    struct gr_block_desc from, *to; /* what this rank sends itself, and where it goes: */
    int nto;
};

/* ---- which calls, which messages ---- */

/* All messages have one size, on both sides that of the one block: all are large, or none is. */
static bool is_even(const struct gr_call_row *row)
{
    return (GR_PARTS_ONE == row->send.parts && GR_PARTS_EACH == row->receive.parts) ||
           (GR_PARTS_EACH == row->send.parts && GR_PARTS_ONE == row->receive.parts);
}

/* All that a rank sends is the same: where it is a neighbour twice, any of its messages will do. */
static bool sends_one(const struct gr_call_row *row)
{
    return row->neighbors && GR_PARTS_ONE == row->send.parts;
}

bool mca_coll_gpuring_p2p_split_fits(const mca_coll_gpuring_module_t *module,
                                     const struct gr_call *call)
{
    return call->id >= GR_NSUPPORTED && !gr_calls[call->id].reduces && 0 > module->refused &&
           module->all_gpu && 0 < module->comm.params.value[GR_PARAM_STAGE_BYTES] &&
           (MPI_IN_PLACE != call->sbuf || gr_calls[call->id].has_root);
}

static bool is_large(const struct gr_block_desc *b, size_t fragment)
{
    return b->count * b->type->super.size / 2 >= fragment;
}

static struct gr_block_desc block_for(const struct gr_buffer_desc *s, int k)
{
    return mca_coll_gpuring_block_desc(s, s->parts < GR_PARTS_EACH ? 0 : k);
}

/*
 * What moves a message: the saved collective; this file, in fragments; or this file, at once, since
 * it goes to this rank itself.
 */
enum fate { STAYS, SPLIT, OWN };

/*
 * Of a message with a rank, which is among the others so many times. Where a rank is another's
 * neighbour twice (as on a ring of two), Open MPI's forms do not agree on which message is which:
 * that is left as it is.
 */
static enum fate fate_of(const struct gr_call *call, const struct gr_block_desc *b, int peer,
                         const int *times, size_t fragment)
{
    const struct gr_call_row *row = &gr_calls[call->id];

    if (peer < 0 || !is_large(b, fragment)) {
        return STAYS;
    }
    if (ompi_comm_rank(call->comm) == peer) {
        return is_even(row) || sends_one(row) ? OWN : STAYS;
    }
    return times[peer] <= 1 || sends_one(row) ? SPLIT : STAYS;
}

/* [rank]: how often it is among the others. To be freed; NULL: no memory. */
static int *count_others(const struct gr_peers *o, int size)
{
    int *times = gr_calloc((size_t) size, sizeof(*times)), k;

    for (k = 0; NULL != times && k < o->n; k++) {
        if (o->ranks[k] >= 0) {
            times[o->ranks[k]]++;
        }
    }
    return times;
}

/* ---- the rest of the call ---- */

/* Nothing in the place of message k of a side. */
static void leave_out(struct gr_call *rest, const struct gr_buffer_desc *s, int k)
{
    /* the arrays are copies of ours */
    if (s->parts >= GR_PARTS_V) {
        GR_COUNT_CLEAR(s->receive ? rest->rcounts : rest->scounts, k);
    } else if (s->receive) {
        rest->rcount = 0;
    } else {
        rest->scount = 0;
    }
}

/*
 * A neighbor_alltoall has one count for all: what is left of it is a neighbor_alltoallw. OMPI error
 * code.
 */
static int name_all(struct gr_p2p_split *p, const struct gr_buffer_desc *s,
                    const struct gr_peers *o)
{
    size_t n = (size_t) o->n;
    MPI_Aint *offsets =
        gr_calloc(n + 1, sizeof(MPI_Aint) + sizeof(ompi_datatype_t *) + sizeof(gr_count_t));
    ompi_datatype_t **types = (ompi_datatype_t **) (offsets + n);
    gr_count_t *counts = (gr_count_t *) (types + n);
    int k;
    const unsigned char *base = s->receive ? s->call->rbuf : s->call->sbuf;

    p->named[s->receive] = offsets;
    if (NULL == offsets) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (k = 0; k < o->n; k++) {
        struct gr_block_desc b = block_for(s, k);

        offsets[k] = b.at - base;
        types[k] = b.type;
        counts[k] = (gr_count_t) b.count;
    }
    p->rest.id = GR_CALL_NEIGHBOR_ALLTOALLW;
    mca_coll_gpuring_call_set_blocks(&p->rest, s->receive, types, counts, NULL, offsets);
    return OMPI_SUCCESS;
}

/* ---- making it ---- */

/*
 * Order of messages: all ranks begin with those that go the same distance up, so that both ends
 * begin them together.
 */
static int distance(const struct gr_p2p_split *p, const struct gr_p2p_message *message)
{
    int d = message->receive ? p->comm->rank - message->peer : message->peer - p->comm->rank;

    return d < 0 ? d + p->comm->size : d;
}

static void insert(struct gr_p2p_split *p, struct direction *w,
                   const struct gr_p2p_message *message)
{
    int k = w->n++;

    for (; k > 0 && distance(p, &w->messages[k - 1]) > distance(p, message); k--) {
        w->messages[k] = w->messages[k - 1];
    }
    w->messages[k] = *message;
}

/* A message is done here. */
static void add_message(struct gr_p2p_split *p, const struct gr_block_desc *b, int peer,
                        bool receive, enum fate fate)
{
    if (SPLIT == fate) {
        struct gr_p2p_message message = mca_coll_gpuring_p2p_message(b, peer, receive);

        insert(p, &p->directions[receive], &message);
    } else if (receive) {
        p->to[p->nto++] = *b;
    } else {
        p->from = *b;
    }
}

static int make_side(struct gr_p2p_split *p, const struct gr_call *call, bool receive)
{
    struct gr_buffer_desc s = mca_coll_gpuring_buffer_desc(call, receive), named = s;
    struct gr_peers o;
    int k, rc = mca_coll_gpuring_peers(&s, &o);
    int *times = OMPI_SUCCESS == rc ? count_others(&o, p->comm->size) : NULL;

    if (OMPI_SUCCESS == rc && GR_CALL_NEIGHBOR_ALLTOALL == call->id) {
        rc = name_all(p, &s, &o);
        named.parts = GR_PARTS_W;
    }
    p->directions[receive].messages = gr_calloc((size_t) o.n + 1, sizeof(struct gr_p2p_message));
    p->to = receive ? gr_calloc((size_t) o.n + 1, sizeof(struct gr_block_desc)) : NULL;
    if (OMPI_SUCCESS == rc &&
        (NULL == times || NULL == p->directions[receive].messages || (receive && NULL == p->to))) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (k = 0; k < o.n && OMPI_SUCCESS == rc; k++) {
        struct gr_block_desc b = block_for(&s, k);
        enum fate fate = fate_of(call, &b, o.ranks[k], times, p->route.fragment);

        if (STAYS != fate) {
            add_message(p, &b, o.ranks[k], receive, fate);
            leave_out(&p->rest, &named, k);
        }
    }
    free(times);
    free(o.ranks);
    return rc;
}

/* Whether this rank has a message of these; which it may have none of while others do. */
static bool has_large(const struct gr_call *call, size_t fragment)
{
    int receive, k;

    for (receive = 0; receive < 2; receive++) {
        struct gr_buffer_desc s = mca_coll_gpuring_buffer_desc(call, 0 != receive);

        for (k = 0; k < s.n; k++) {
            struct gr_block_desc b = mca_coll_gpuring_block_desc(&s, k);

            if (is_large(&b, fragment)) {
                return true;
            }
        }
    }
    return false;
}

int mca_coll_gpuring_p2p_split_new(struct gr_op_queue *queue, const struct gr_call *call,
                                   struct gr_p2p_split **pairs)
{
    size_t fragment = (size_t) queue->comm->params.value[GR_PARAM_STAGE_BYTES];
    uint32_t number = queue->paired++; /* whether there are any or not: on all ranks alike */
    struct gr_p2p_split *p;
    int tag, rc;

    *pairs = NULL;
    if (!has_large(call, fragment)) {
        return OMPI_SUCCESS;
    }
    p = gr_calloc(1, sizeof(*p));
    if (NULL == p) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    tag = gr_runtime_tag(GR_TAGS_PAIRS) -
          2 * (GR_NORDERS * (int) (number % CALLS) + (int) queue->order);
    p->comm = queue->comm;
    p->route = (struct gr_p2p_route) {call->comm, tag, tag - 1, fragment};
    p->id = call->id;
    p->alone = is_even(&gr_calls[call->id]);
    p->rest = *call;
    rc = mca_coll_gpuring_args_keep(&p->kept, &p->rest, false);
    rc = OMPI_SUCCESS == rc ? make_side(p, call, false) : rc;
    rc = OMPI_SUCCESS == rc ? make_side(p, call, true) : rc;
    if (OMPI_SUCCESS != rc) {
        mca_coll_gpuring_p2p_split_free(p);
        return rc;
    }
    *pairs = p;
    return OMPI_SUCCESS;
}

void mca_coll_gpuring_p2p_split_free(struct gr_p2p_split *p)
{
    int w;

    if (NULL == p) {
        return;
    }
    for (w = 0; w < 2; w++) {
        free(p->directions[w].messages);
        free(p->named[w]);
    }
    free(p->to);
    mca_coll_gpuring_args_release(&p->kept);
    free(p);
}

const struct gr_call *mca_coll_gpuring_p2p_split_rest(const struct gr_p2p_split *p)
{
    return p->alone ? NULL : &p->rest;
}

/* ---- doing it ---- */

int mca_coll_gpuring_p2p_split_start(struct gr_p2p_split *p)
{
    int k, rc = OMPI_SUCCESS;

    p->directions[0].next = p->directions[0].done = 0;
    p->directions[1].next = p->directions[1].done = 0;
    /* in place: from nowhere */
    for (k = 0; k < p->nto && NULL != p->from.type && OMPI_SUCCESS == rc; k++) {
        rc = mca_coll_gpuring_p2p_message_move(&p->to[k], &p->from);
    }
    return rc;
}

/*
 * The next message that may begin: NULL, none. Where a rank is a neighbour twice, its messages
 * follow each other, since their fragments look alike.
 */
static struct gr_p2p_message *next_message(struct direction *w)
{
    struct gr_p2p_message *next = w->next < w->n ? &w->messages[w->next] : NULL;
    int k;

    for (k = 0; k < CHANNELS && NULL != next; k++) {
        const struct gr_p2p_message *other = w->channels[k].message;

        next = NULL != other && other->peer == next->peer ? NULL : next;
    }
    w->next += NULL != next;
    return next;
}

/* Go on with a channel; OMPI error code. */
static int carry(struct gr_p2p_split *p, struct direction *w, struct gr_p2p_channel *c,
                 uint64_t *moved)
{
    struct gr_p2p_message *next = NULL == c->message ? next_message(w) : NULL;
    int rc = NULL == next ? OMPI_SUCCESS : mca_coll_gpuring_p2p_channel_load(c, &p->route, next);

    if (NULL == c->message || OMPI_SUCCESS != rc) {
        return rc;
    }
    rc = mca_coll_gpuring_p2p_channel_step(c, &p->route, moved);
    if (GR_DONE == rc) {
        w->done++;
        return mca_coll_gpuring_p2p_channel_unload(c, true);
    }
    return GR_AGAIN == rc ? OMPI_SUCCESS : rc;
}

int mca_coll_gpuring_p2p_split_poll(void *pairs, uint64_t *moved)
{
    struct gr_p2p_split *p = pairs;
    char why[sizeof(p->comm->why)];
    uint64_t before = *moved;
    int w, k, rc = OMPI_SUCCESS;

    for (w = 0; w < 2; w++) {
        for (k = 0; k < CHANNELS && OMPI_SUCCESS == rc; k++) {
            rc = carry(p, &p->directions[w], &p->directions[w].channels[k], moved);
        }
    }
    if (OMPI_SUCCESS != rc) {
        snprintf(why, sizeof(why), "%s: a message of device memory: %s", gr_calls[p->id].name,
                 gr_gpu_error());
        return gr_fail_here(p->comm, mca_coll_gpuring_from_ompi(rc), why);
    }
    if (p->directions[0].done == p->directions[0].n &&
        p->directions[1].done == p->directions[1].n) {
        return GR_DONE;
    }
    p->vain = before == *moved ? p->vain + 1 : 0;
    rc = gr_failure_check(p->comm, p->vain >= VAIN);
    p->vain = p->vain >= VAIN ? 0 : p->vain;
    return OMPI_SUCCESS == rc ? GR_AGAIN : rc;
}

void mca_coll_gpuring_p2p_split_explain(void *pairs, char *text, size_t size)
{
    const struct gr_p2p_split *p = pairs;
    int w, k;

    snprintf(text, size, "large messages, waits for rank");
    for (w = 0; w < 2; w++) {
        for (k = 0; k < CHANNELS; k++) {
            const struct gr_p2p_message *message = p->directions[w].channels[k].message;

            if (NULL != message) {
                gr_text_add(text, size, " %d (%s %zu of %zu)", message->peer,
                            message->receive ? "receives" : "sends", message->done,
                            message->nfragments);
            }
        }
    }
}
