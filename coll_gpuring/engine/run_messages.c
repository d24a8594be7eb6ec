/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executor: Open MPI's point-to-point messages, for nonblocking calls whose links were refused (no
 * shared memory on some rank). Such a call cannot be left to the saved collective any more. Each
 * rank sends its contribution to every rank that needs it, and receives from the others in the
 * order of their ranks. This is slow, and needs memory for the contribution and one message.
 *
 * One tag is enough: the ops of a queue run in call order.
 */
#include "engine/run_messages.h"

#include "engine/collectives.h"
#include "engine/failure.h"
#include "engine/host_steps.h"
#include "engine/op.h"
#include "engine/runtime.h"
#include "mpi/buffers.h"
#include "mpi/report.h"

#include "exec/plan.h"
#include "exec/reduce.h"
#include "exec/stepper.h"
#include "sched/sched.h"

#include "ompi/mca/pml/pml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gr_messages {
    int next;                /* rank whose message is taken next */
    bool posted;             /* the receive for that message has been posted */
    unsigned char *mine;     /* copy of this rank's contribution, which the output may overlap */
    unsigned char *theirs;   /* the message that is being received */
    ompi_request_t *receive; /* of theirs */
    ompi_request_t *sends[]; /* [rank]: of mine */
};

static size_t block_bytes(const struct gr_op *op, int r)
{
    return gr_request_block(&op->data.request, r) * op->data.request.elem_bytes;
}

static size_t block_at(const struct gr_op *op, int r)
{
    return gr_request_begin(&op->data.request, r) * op->data.request.elem_bytes;
}

/* Bytes that `from` sends to `to`. *at: where they begin in the contribution of `from`. */
static size_t span(const struct gr_op *op, int from, int to, size_t *at)
{
    *at = 0;
    switch (op->data.request.coll) {
    case GR_COLL_ALLGATHER:
        return block_bytes(op, from);
    case GR_COLL_REDUCE_SCATTER:
    case GR_COLL_ALLTOALL:
        *at = block_at(op, to);
        return block_bytes(op, to);
    case GR_COLL_BCAST:
        return from == op->call.root ? op->data.bytes : 0;
    case GR_COLL_REDUCE:
        return to == op->call.root ? op->data.bytes : 0;
    default:
        return op->data.bytes;
    }
}

/* Bytes of this rank's contribution. */
static size_t contribution(const struct gr_op *op)
{
    int rank = ompi_comm_rank(op->call.comm);

    switch (op->data.request.coll) {
    case GR_COLL_ALLGATHER:
        return block_bytes(op, rank);
    case GR_COLL_BCAST:
        return rank == op->call.root ? op->data.bytes : 0;
    default:
        return op->data.bytes;
    }
}

static int send_all(struct gr_op *op)
{
    struct gr_messages *m = op->run.messages;
    int p = ompi_comm_size(op->call.comm), rank = ompi_comm_rank(op->call.comm), r,
        rc = OMPI_SUCCESS;
    size_t at, bytes;

    for (r = 0; r < p && OMPI_SUCCESS == rc; r++) {
        m->sends[r] = MPI_REQUEST_NULL;
        bytes = span(op, rank, r, &at);
        if (r != rank && bytes > 0) {
            rc = MCA_PML_CALL(isend(m->mine + at, bytes, MPI_BYTE, r,
                                    mca_coll_gpuring_tag(GR_TAGS_MESSAGES),
                                    MCA_PML_BASE_SEND_STANDARD, op->call.comm, &m->sends[r]));
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
static enum gr_links links(const struct gr_op *op)
{
    (void) op;
    return GR_LINKS_THERE;
}

static int prepare(struct gr_op *op)
{
    return mca_coll_gpuring_buffers_prepare(op, NULL);
}

static int start(struct gr_op *op)
{
    size_t p = (size_t) ompi_comm_size(op->call.comm), mine = contribution(op);
    struct gr_messages *m = calloc(1, sizeof(*m) + p * sizeof(m->sends[0]));

    if (NULL == m) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    m->receive = MPI_REQUEST_NULL;
    m->mine = malloc(mine + 1);
    m->theirs = malloc(op->data.bytes + 1);
    if (NULL == m->mine || NULL == m->theirs) {
        messages_free(m);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (mine > 0) {
        memcpy(m->mine, op->data.in, mine);
    }
    op->run.messages = m;
    return send_all(op);
}

/* Copy or reduce rank r's message into the output. */
static void take(struct gr_op *op, int r, const unsigned char *data, size_t bytes)
{
    const struct gr_data *d = &op->data;
    void *out = d->out;
    const void *source = data;

    if (GR_COLL_ALLGATHER == d->request.coll || GR_COLL_ALLTOALL == d->request.coll) {
        memcpy(d->out + block_at(op, r), data, bytes);
    } else if (!gr_calls[op->call.id].reduces || 0 == r) {
        memcpy(d->out, data, bytes);
    } else {
        gr_reduce(&d->reducer, &out, 1, d->out, &source, 1, bytes / d->request.elem_bytes);
    }
}

/* GR_DONE, GR_AGAIN, or negative. GR_DONE frees the messages. */
static int progress(struct gr_op *op, uint64_t *moved)
{
    struct gr_messages *m = op->run.messages;
    int p = ompi_comm_size(op->call.comm), rank = ompi_comm_rank(op->call.comm), rc = 1, r;
    size_t at, bytes;

    for (; m->next < p; m->next++, m->posted = false, ++*moved) {
        bytes = span(op, m->next, rank, &at);
        if (m->next == rank && bytes > 0) {
            take(op, rank, m->mine + at, bytes);
        }
        if (m->next == rank || 0 == bytes) {
            continue;
        }
        if (!m->posted) {
            rc = MCA_PML_CALL(irecv(m->theirs, bytes, MPI_BYTE, m->next,
                                    mca_coll_gpuring_tag(GR_TAGS_MESSAGES), op->call.comm,
                                    &m->receive));
            m->posted = OMPI_SUCCESS == rc;
        }
        rc = m->posted ? mca_coll_gpuring_request_done(&m->receive) : OMPI_ERROR;
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        take(op, m->next, m->theirs, bytes);
    }
    for (r = 0; r < p; r++) {
        rc = mca_coll_gpuring_request_done(&m->sends[r]);
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
    }
    messages_free(m);
    op->run.messages = NULL;
    return GR_DONE;
}

static int poll_messages(struct gr_op *op, uint64_t *moved)
{
    int rc = progress(op, moved);

    if (rc < 0) {
        mca_coll_gpuring_op_fails(op, "", "Open MPI could not send or receive a message");
    }
    return rc;
}

/* Messages may still be under way: their memory is never freed. */
static bool abort_messages(struct gr_op *op, bool here)
{
    (void) op;
    (void) here;
    return true;
}

static int finish(struct gr_op *op, int rc)
{
    (void) op;
    if (OMPI_SUCCESS == rc) {
        mca_coll_gpuring_stats_fallback(GR_FALLBACK_SETUP);
    }
    return rc;
}

static void explain(struct gr_op *op, char *text, size_t size)
{
    int p = ompi_comm_size(op->call.comm), r = op->run.messages->next;

    if (r < p) {
        snprintf(text, size, "messages, step %d, waits for rank %d", r, r);
        return;
    }
    for (r = 0; r < p && MPI_REQUEST_NULL == op->run.messages->sends[r]; r++) {
    }
    snprintf(text, size, "messages, all received, waits for rank %d to receive", r);
}

const struct gr_executor mca_coll_gpuring_run_messages = {
    .sends_messages = true,
    .links = links,
    .prepare = prepare,
    .copy = mca_coll_gpuring_host_copy,
    .start = start,
    .poll = poll_messages,
    .abort = abort_messages,
    .finish = finish,
    .explain = explain,
};
