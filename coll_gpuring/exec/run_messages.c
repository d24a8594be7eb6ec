/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executor: Open MPI's point-to-point messages, for nonblocking calls whose links were refused (no
 * shared memory on some rank), or need more memory than is allowed (engine/setup_bound.c). Such a
 * call cannot be left to the saved collective any more. Each rank sends its contribution to every
 * rank that needs it, and receives from the others in the order of their ranks. This is slow, and
 * needs memory for the contribution and one message.
 *
 * One tag is enough: the ops of a queue run in call order.
 */
#include "exec/op.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After an error messages may still be in flight: this memory is not freed then. */
struct gr_messages {
    int next;                   /* rank whose message is taken next */
    bool posted;                /* the receive for that message has been posted */
    unsigned char *mine;        /* copy of this rank's contribution, which the output may overlap */
    unsigned char *theirs;      /* the message that is being received */
    struct gr_message *receive; /* of theirs */
    struct gr_message *sends[]; /* [rank]: of mine */
};

static size_t block_bytes(const struct gr_op *op, int r)
{
    return gr_plan_block(&op->data.spec, r) * op->data.spec.elem_bytes;
}

static size_t block_at(const struct gr_op *op, int r)
{
    return gr_plan_block_begin(&op->data.spec, r) * op->data.spec.elem_bytes;
}

/* Bytes that `from` sends to `to`. *at: where they begin in the contribution of `from`. */
static size_t span(const struct gr_op *op, int from, int to, size_t *at)
{
    *at = 0;
    switch (op->data.spec.coll) {
    case GR_COLL_ALLGATHER:
        return block_bytes(op, from);
    case GR_COLL_REDUCE_SCATTER:
    case GR_COLL_ALLTOALL:
        *at = block_at(op, to);
        return block_bytes(op, to);
    case GR_COLL_BCAST:
        return from == op->root ? op->data.bytes : 0;
    case GR_COLL_REDUCE:
        return to == op->root ? op->data.bytes : 0;
    case GR_COLL_ALLREDUCE:
    case GR_COLL_BARRIER:
    case GR_NCOLLS:
        break;
    }
    return op->data.bytes;
}

/* Bytes of this rank's contribution. */
static size_t contribution(const struct gr_op *op)
{
    int rank = op->comm->rank;

    switch (op->data.spec.coll) {
    case GR_COLL_ALLGATHER:
        return block_bytes(op, rank);
    case GR_COLL_BCAST:
        return rank == op->root ? op->data.bytes : 0;
    default:
        return op->data.bytes;
    }
}

static int send_all(struct gr_op *op)
{
    struct gr_messages *m = op->run.messages;
    int p = op->comm->size, rank = op->comm->rank, r, rc = 0;
    size_t at, bytes;

    for (r = 0; r < p && 0 == rc; r++) {
        bytes = span(op, rank, r, &at);
        if (r != rank && bytes > 0) {
            rc = gr_runtime_send(op->comm, m->mine + at, bytes, r, gr_runtime_tag(GR_TAGS_MESSAGES),
                                 &m->sends[r]);
        }
    }
    return rc;
}

static void messages_free(struct gr_messages *m)
{
    free(m->mine);
    free(m->theirs);
    free(m);
}

/* There are no links to wait for. */
static enum gr_links messages_links(const struct gr_op *op)
{
    (void) op;
    return GR_LINKS_THERE;
}

static int messages_start(struct gr_op *op)
{
    size_t p = (size_t) op->comm->size, mine = contribution(op);
    struct gr_messages *m = gr_calloc(1, sizeof(*m) + p * sizeof(m->sends[0]));

    if (NULL == m) {
        return GR_ERR_NOMEM;
    }
    m->mine = gr_malloc(mine + 1);
    m->theirs = gr_malloc(op->data.bytes + 1);
    if (NULL == m->mine || NULL == m->theirs) {
        messages_free(m);
        return GR_ERR_NOMEM;
    }
    if (mine > 0) {
        memcpy(m->mine, op->data.in, mine);
    }
    op->run.messages = m;
    return send_all(op);
}

/* Copy or reduce rank r's message into the output. */
static void take_message(struct gr_op *op, int r, const unsigned char *data, size_t bytes)
{
    const struct gr_data *d = &op->data;
    void *out = d->out;
    const void *source = data;

    if (GR_COLL_ALLGATHER == d->spec.coll || GR_COLL_ALLTOALL == d->spec.coll) {
        memcpy(d->out + block_at(op, r), data, bytes);
    } else if (!gr_calls[op->id].reduces || 0 == r) {
        memcpy(d->out, data, bytes);
    } else {
        gr_reduce(&d->reducer, &out, 1, d->out, &source, 1, bytes / d->spec.elem_bytes);
    }
}

/* GR_DONE, GR_AGAIN, or negative. GR_DONE frees the messages. */
static int progress_messages(struct gr_op *op, uint64_t *moved)
{
    struct gr_messages *m = op->run.messages;
    int p = op->comm->size, rank = op->comm->rank, rc = 1, r;
    size_t at, bytes;

    for (; m->next < p; m->next++, m->posted = false, ++*moved) {
        bytes = span(op, m->next, rank, &at);
        if (m->next == rank && bytes > 0) {
            take_message(op, rank, m->mine + at, bytes);
        }
        if (m->next == rank || 0 == bytes) {
            continue;
        }
        if (!m->posted) {
            rc = gr_runtime_receive(op->comm, m->theirs, bytes, m->next,
                                    gr_runtime_tag(GR_TAGS_MESSAGES), &m->receive);
            m->posted = 0 == rc;
        }
        rc = m->posted ? gr_runtime_test(&m->receive) : GR_ERR_FAILED;
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        take_message(op, m->next, m->theirs, bytes);
    }
    for (r = 0; r < p; r++) {
        rc = gr_runtime_test(&m->sends[r]);
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
    }
    messages_free(m);
    op->run.messages = NULL;
    return GR_DONE;
}

static int messages_poll(struct gr_op *op, uint64_t *moved)
{
    int rc = progress_messages(op, moved);

    if (rc < 0) {
        gr_op_report_failure(op, "", "Open MPI could not send or receive a message");
    }
    return rc;
}

static int messages_finish(struct gr_op *op, int rc)
{
    if (0 == rc) {
        gr_stats_fallback(op->id, op->fallback);
    }
    return rc;
}

static void messages_explain(struct gr_op *op, char *text, size_t size)
{
    int p = op->comm->size, r = op->run.messages->next;

    if (r < p) {
        snprintf(text, size, "messages, step %d, waits for rank %d", r, r);
        return;
    }
    for (r = 0; r < p && NULL == op->run.messages->sends[r]; r++) {
    }
    snprintf(text, size, "messages, all received, waits for rank %d to receive", r);
}

const struct gr_executor gr_run_messages = {
    .sends_messages = true,
    .links = messages_links,
    .start = messages_start,
    .poll = messages_poll,
    .finish = messages_finish,
    .explain = messages_explain,
};
