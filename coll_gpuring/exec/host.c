/* SPDX-License-Identifier: BSD-3-Clause */
/* The host backend of host.h. */
#include "exec/host.h"

#include <assert.h>
#include <string.h>

/* Most bytes of a sender's message in the bounce buffer: they stay in the cache until combined. */
#define BOUNCE_EACH ((size_t) 64 << 10)

static struct gr_link *link_from(const struct gr_host_op *op, uint32_t channel, int rank)
{
    return &op->in[(size_t) channel * (size_t) op->p + (size_t) rank];
}

static struct gr_link *link_to(const struct gr_host_op *op, uint32_t channel, int rank)
{
    return &op->out[(size_t) channel * (size_t) op->p + (size_t) rank];
}

/* The link after l in the list op->unread; NULL: l is the last. */
static struct gr_link *next_unread(const struct gr_link *l)
{
    return l == l->next_unread ? NULL : l->next_unread;
}

/*
 * While this rank waits for anything: do what the readers of its messages ask for. Some wait for it
 * and cannot go on otherwise. A slot of an earlier call may be unread, too, and has no head if that
 * call was not direct.
 */
static void host_answer(void *ctx)
{
    const struct gr_host_op *op = ctx;
    struct gr_link *l;

    for (l = op->direct ? op->unread : NULL; NULL != l; l = next_unread(l)) {
        if (!gr_link_drained(l) && (int64_t) (l->other - l->unread_from) >= 0) {
            gr_fetch_answer(l, op->pids[(size_t) (l - op->out) % (size_t) op->p]);
        }
    }
}

/*
 * host_ready() while the writer of a message copies it through its slot. The step that fetches the
 * message goes on when all of it has come; steps of other channels wait for that, since they use the
 * same bounce buffer.
 */
static int asked_ready(struct gr_host_op *op, uint32_t channel)
{
    int rc;

    if (channel != op->asked.channel) {
        return 0;
    }
    if (GR_HOST_ASKED == op->asked.state) {
        rc = gr_fetch_poll(&op->asked.fetch);
        if (GR_DONE != rc) {
            return GR_AGAIN == rc ? 0 : rc;
        }
        op->asked.state = GR_HOST_FETCHED;
    }
    return 1;
}

static int host_ready(void *ctx, uint32_t channel, const struct gr_step *step)
{
    struct gr_host_op *op = ctx;
    uint64_t label;
    int k;

    if (GR_HOST_NOT_ASKED != op->asked.state) {
        return asked_ready(op, channel);
    }
    for (k = 0; k < step->nfrom; k++) {
        struct gr_link *l = link_from(op, channel, step->from[k]);

        if (!gr_link_readable(l)) {
            return 0;
        }
        label = gr_link_label(l, op->label);
        if (label != op->label) {
            op->differs = (struct gr_label_pair) {
                .rank = step->from[k], .posted = label, .expected = op->label};
            return gr_label_error(&op->differs);
        }
    }
    for (k = 0; k < step->nto; k++) {
        if (!gr_link_writable(link_to(op, channel, step->to[k]))) {
            return 0;
        }
    }
    return 1;
}

/* Address of a piece in the slot that this end of the link handles next. */
static unsigned char *in_slot(const struct gr_host_op *op, const struct gr_link *l,
                              const struct gr_move *mv)
{
    unsigned char *slot = gr_link_slot(l);

    return slot + (op->direct ? GR_DIRECT_HEAD : 0) + mv->slot * op->reducer.elem_bytes;
}

/* The word of a direct slot that holds the address of the piece. */
static uint64_t *word_of(const struct gr_link *l, const struct gr_move *mv)
{
    assert(mv->piece < GR_DIRECT_PIECES);
    return &gr_fetch_head(gr_link_slot(l))->at[mv->piece];
}

/*
 * Whether fetched messages need the bounce buffer. They do not where they can be fetched to their
 * destination: if they are stored unchanged, or reduced by a loop whose source may be its
 * destination.
 */
static int needs_bounce(const struct gr_host_op *op, const struct gr_step *s, const void *dest,
                        const void *operand)
{
    return s->bits & GR_REDUCE &&
           !(s->bits & GR_STORE && 1 == s->nfrom && NULL != op->reducer.fused && dest != operand);
}

/*
 * The sender of a message that was refused is asked for it; until all has come, host_ready() says
 * that the step is not ready. error: errno of process_vm_readv, or 0.
 */
static void ask_sender(struct gr_host_op *op, const struct gr_move *mv, int k, void *to,
                       uint64_t from, size_t bytes, int error)
{
    struct gr_link *l = link_from(op, mv->channel, mv->step->from[k]);
    size_t at = (size_t) (in_slot(op, l, mv) - (unsigned char *) gr_link_slot(l));

    /* A message that does not fit a slot has no piece in it: the writer may use all of it. */
    at = at + bytes <= l->slot_bytes ? at : GR_DIRECT_HEAD;
    op->asked.state = GR_HOST_ASKED;
    op->asked.channel = mv->channel;
    op->asked.from = k;
    op->asked.rank = mv->step->from[k];
    op->asked.fetch = (struct gr_fetch) {.link = l,
                                         .pid = op->pids[op->asked.rank],
                                         .to = to,
                                         .from = from,
                                         .bytes = bytes,
                                         .room_at = at,
                                         .room = l->slot_bytes - at};
    gr_fetch_ask(&op->asked.fetch);
    if (0 != error) {
        op->refused.error = error;
        op->refused.rank = op->asked.rank;
    }
}

/*
 * Fetch a message, or `bytes` of it from the address `from` on, whose slot link k of the step has.
 * GR_DONE; GR_AGAIN, as host_move(); or negative.
 */
static int fetch(struct gr_host_op *op, const struct gr_move *mv, int k, void *to, uint64_t from,
                 size_t bytes)
{
    int rank = mv->step->from[k], rc, error;

    rc = gr_fetch_read(link_from(op, mv->channel, rank), op->pids[rank], to, from, bytes,
                       op->offered, &error);
    if (GR_AGAIN == rc) {
        ask_sender(op, mv, k, to, from, bytes, error);
    }
    return rc;
}

/*
 * Find the messages' pieces, from element `begin` on: in their slots, or fetched from the senders'
 * buffers. The slot of a fetched message is given back at once. GR_AGAIN: as host_move().
 */
static int find_sources(struct gr_host_op *op, const struct gr_move *mv, size_t begin, void *dest,
                        int bounces, const void **src)
{
    const struct gr_step *s = mv->step;
    size_t elem = op->reducer.elem_bytes, bytes = mv->count * elem;
    /* links whose message was fetched when this block was left with GR_AGAIN */
    int fetched = GR_HOST_FETCHED == op->asked.state ? op->asked.from + 1 : 0, k, rc;

    op->asked.state = GR_HOST_NOT_ASKED;
    for (k = 0; k < s->nfrom; k++) {
        struct gr_link *l = link_from(op, mv->channel, s->from[k]);
        void *to = bounces ? op->bounce + (size_t) k * bytes : dest;
        uint64_t at;

        src[k] = to;
        if (op->popped & 1u << k) {
            continue;
        }
        at = op->direct ? *word_of(l, mv) : 0;
        if (0 == at) {
            src[k] = in_slot(op, l, mv);
            continue;
        }
        rc = k < fetched ? GR_DONE : fetch(op, mv, k, to, at + begin * elem, bytes);
        if (GR_DONE != rc) {
            return rc;
        }
        if (mv->last) {
            gr_link_pop(l);
            op->popped |= 1u << k;
        }
    }
    return GR_DONE;
}

/*
 * Address of what the step sends, in this rank's buffers; NULL: it is in none. The input is
 * preferred to its copy: it was not written recently.
 */
static const void *sent_from(const struct gr_step *s, const void *operand, const void *dest)
{
    return !(s->bits & GR_RECV) ? operand : s->bits & GR_STORE ? dest : NULL;
}

/*
 * Zero copy: address of the slot's content in this rank's buffers; NULL: it is not there in one
 * piece, or too short.
 */
static const void *find_data_at(const struct gr_host_op *op, const struct gr_move *mv,
                                const void *operand, const void *dest)
{
    if (0 == op->zero_copy || 0 != mv->piece || !mv->last ||
        mv->count * op->reducer.elem_bytes < op->zero_copy) {
        return NULL;
    }
    return sent_from(mv->step, operand, dest);
}

/*
 * Write into a direct slot where its reader finds the piece: fetch_at, or, where that is NULL or the
 * reader is refused this rank's memory, in the slot, if there is room.
 */
static void set_head(const struct gr_host_op *op, const struct gr_link *l, const struct gr_move *mv,
                     const void *fetch_at)
{
    /* op->valid_bytes is of the whole piece, mv->count of its first block */
    bool copied = gr_link_is_refused(l) && GR_DIRECT_HEAD + op->valid_bytes <= l->slot_bytes;

    *word_of(l, mv) = copied ? 0 : (uint64_t) (uintptr_t) fetch_at;
    atomic_store_explicit(&gr_fetch_head(gr_link_slot(l))->offer.state, GR_OFFER_NONE,
                          memory_order_relaxed);
}

/*
 * Where the value must be written. fetch_at: its address in this rank's buffers, in a direct plan,
 * so that it is not copied to the slots of readers that fetch it; or NULL. It is not copied to the
 * slot of a link whose network sends it from op->data_at either. A plan with links to other nodes is
 * never direct. Returns the number of destinations.
 */
static int find_destinations(struct gr_host_op *op, const struct gr_move *mv, size_t begin,
                             void *dest, const void *fetch_at, void **dst)
{
    const struct gr_step *s = mv->step;
    int n = 0, k;

    if (s->bits & GR_STORE) {
        dst[n++] = dest;
    }
    for (k = 0; k < s->nto; k++) {
        struct gr_link *l = link_to(op, mv->channel, s->to[k]);
        bool in_buffer = NULL != l->data_at && NULL != op->data_at;

        if (op->direct && 0 == begin) {
            set_head(op, l, mv, fetch_at);
        }
        /* the head says it for all blocks: the reader may be refused meanwhile */
        if (!in_buffer && (NULL == fetch_at || 0 == *word_of(l, mv))) {
            dst[n++] = in_slot(op, l, mv);
            assert((unsigned char *) dst[n - 1] + mv->count * op->reducer.elem_bytes <=
                   (unsigned char *) gr_link_slot(l) + l->slot_bytes);
        }
    }
    return n;
}

/*
 * Defer a copy to this rank's output until the slot has been handed over, so that other ranks fetch
 * the original meanwhile. A copy that was deferred before is done now.
 */
static void copy_later(struct gr_host_op *op, void *dst, const void *src, size_t bytes)
{
    if (op->later.bytes > 0) {
        gr_copy(&op->later.dst, 1, op->later.src, op->later.bytes);
    }
    op->later.dst = dst;
    op->later.src = src;
    op->later.bytes = bytes;
}

/*
 * Move a block of a piece; the block begins at element `begin` of the piece. GR_AGAIN: nothing was
 * stored.
 */
static int move_block(struct gr_host_op *op, const struct gr_move *mv, size_t begin,
                      unsigned char *operand, unsigned char *dest, int bounces)
{
    const struct gr_step *s = mv->step;
    size_t bytes = mv->count * op->reducer.elem_bytes;
    /* the messages; with GR_REDUCE, also the operand */
    const void *src[GR_FAN + 1] = {NULL}, *fetch_at = NULL;
    void *dst[GR_FAN + 1];
    int n, rc;

    if (op->direct) {
        fetch_at = sent_from(s, operand, dest);
    }
    rc = find_sources(op, mv, begin, dest, bounces, src);
    if (GR_DONE != rc) {
        return rc;
    }
    n = find_destinations(op, mv, begin, dest, fetch_at, dst);
    if (s->bits & GR_REDUCE) {
        memmove(&src[s->before + 1], &src[s->before],
                (size_t) (s->nfrom - s->before) * sizeof(src[0]));
        src[s->before] = operand;
        gr_reduce(&op->reducer, dst, n, src[0], src + 1, s->nfrom, mv->count);
    } else if (1 == n && s->bits & GR_STORE && NULL != fetch_at && fetch_at == operand) {
        copy_later(op, dst[0], operand, bytes);
    } else {
        gr_copy(dst, n, s->bits & GR_RECV ? src[0] : operand, bytes);
    }
    return 0;
}

static int host_move(void *ctx, const struct gr_move *mv)
{
    struct gr_host_op *op = ctx;
    const struct gr_step *s = mv->step;
    size_t elem = op->reducer.elem_bytes, most = mv->count, begin;
    unsigned char *operand = NULL, *dest = NULL;
    struct gr_move block = *mv;
    int bounces = 0, rc = 0;

    if (s->bits & GR_REDUCE || !(s->bits & GR_RECV)) {
        /* otherwise there may be no such buffer */
        operand = op->space[s->operand] + mv->operand * elem;
    }
    if (s->bits & GR_STORE) {
        dest = op->space[s->dest] + mv->dest * elem;
    }
    if (op->direct && needs_bounce(op, s, dest, operand)) {
        bounces = 1;
        most = op->bounce_bytes / (size_t) s->nfrom;
        most = (most < BOUNCE_EACH ? most : BOUNCE_EACH) / elem;
        assert(most > 0);
    }
    op->valid_bytes = (mv->slot + mv->count) * elem; /* pieces are packed without gaps */
    op->data_at = find_data_at(op, mv, operand, dest);
    begin = op->asked.begin; /* not 0 where a message of a block has come through its slot */
    op->asked.begin = 0;
    for (; begin < mv->count && GR_DONE == rc; begin += block.count) {
        block.slot = mv->slot + begin;
        block.count = mv->count - begin < most ? mv->count - begin : most;
        block.last = mv->last && begin + block.count == mv->count;
        rc = move_block(op, &block, begin, NULL == operand ? NULL : operand + begin * elem,
                        NULL == dest ? NULL : dest + begin * elem, bounces);
        if (GR_AGAIN == rc) {
            op->asked.begin = begin;
        }
    }
    return rc;
}

static void host_commit(void *ctx, uint32_t channel, const struct gr_step *step)
{
    struct gr_host_op *op = ctx;
    int k;

    for (k = 0; k < step->nto; k++) {
        struct gr_link *l = link_to(op, channel, step->to[k]);

        if (NULL != l->valid_bytes) {
            gr_link_set_slot_info(l, op->valid_bytes, op->data_at);
            op->zero_copies += NULL != op->data_at;
        }
        if ((op->direct || NULL != l->valid_bytes) && NULL == l->next_unread) {
            l->next_unread = NULL == op->unread ? l : op->unread;
            l->unread_from = l->mine;
            op->unread = l;
        }
        gr_link_set_label(l, op->label);
        gr_link_push(l);
    }
    for (k = 0; k < step->nfrom; k++) {
        if (!(op->popped & 1u << k)) {
            gr_link_pop(link_from(op, channel, step->from[k]));
        }
    }
    op->popped = 0;
    op->valid_bytes = 0;
    op->data_at = NULL;
    copy_later(op, NULL, NULL, 0);
}

/* Take the first link out of the list. */
static void remove_unread(struct gr_host_op *op)
{
    struct gr_link *l = op->unread;

    op->unread = next_unread(l);
    l->next_unread = NULL;
}

/*
 * The ranks that have not read all messages of this rank, in a direct plan, or to which the network
 * has not sent all. Writes up to `most` of them; returns their number.
 */
static int undrained(const struct gr_host_op *op, uint32_t channel, int *ranks, int most)
{
    struct gr_link *l;
    size_t at;
    int n = 0;

    for (l = op->unread; NULL != l && n < most; l = next_unread(l)) {
        at = (size_t) (l - op->out);
        if (channel == at / (size_t) op->p && !gr_link_drained(l)) {
            ranks[n++] = (int) (at % (size_t) op->p);
        }
    }
    return n;
}

/*
 * After the last step, other ranks may still read this rank's buffers (direct plan), and the
 * network may still read slots or buffers.
 */
static int host_finished(void *ctx)
{
    struct gr_host_op *op = ctx;

    while (NULL != op->unread && gr_link_drained(op->unread)) {
        remove_unread(op);
    }
    return NULL == op->unread;
}

void gr_host_withdraw(struct gr_host_op *op)
{
    for (; NULL != op->unread; remove_unread(op)) {
        if (op->direct) {
            gr_link_withdraw(op->unread);
        }
    }
}

const struct gr_backend gr_host_backend = {host_ready, host_move, host_commit, host_finished,
                                           host_answer};

static int add_rank(int *ranks, int n, int rank)
{
    int k;

    for (k = 0; k < n; k++) {
        if (ranks[k] == rank) {
            return n;
        }
    }
    ranks[n] = rank;
    return n + 1;
}

int gr_host_waits_for(struct gr_host_op *op, uint32_t channel, const struct gr_step *step,
                      int *ranks)
{
    int n = 0, k;

    if (GR_HOST_ASKED == op->asked.state) {
        return add_rank(ranks, 0, op->asked.rank);
    }
    if (NULL == step) {
        return undrained(op, channel, ranks, 2 * GR_FAN);
    }
    for (k = 0; k < step->nfrom; k++) {
        if (!gr_link_readable(link_from(op, channel, step->from[k]))) {
            n = add_rank(ranks, n, step->from[k]);
        }
    }
    for (k = 0; k < step->nto; k++) {
        if (!gr_link_writable(link_to(op, channel, step->to[k]))) {
            n = add_rank(ranks, n, step->to[k]);
        }
    }
    return n;
}
