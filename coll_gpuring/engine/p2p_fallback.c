/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a nonblocking call ends whose links were refused (no shared memory on some rank). It was
 * taken, so it cannot be left to the saved collective: it sends what it has to everybody concerned
 * with Open MPI's messages, and takes what the others send in the order of their ranks. Slow, and
 * needs nothing but memory for one message.
 *
 * Ops of a queue are done in call order, so one tag is enough.
 */
#include "engine/p2p_fallback.h"

#include "engine/collectives.h"
#include "engine/op.h"
#include "engine/runtime.h"
#include "mpi/buffers.h"

#include "exec/plan.h"
#include "exec/reduce.h"
#include "exec/stepper.h"
#include "sched/sched.h"

#include "ompi/mca/pml/pml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gr_messages {
    int next;              /* rank whose message comes next */
    bool posted;           /* its receive is */
    unsigned char *mine;   /* copy of the own contribution: the output may lie over it */
    unsigned char *theirs; /* what was received */
    ompi_request_t *receive;
    ompi_request_t *sends[]; /* by rank */
};

static size_t block_bytes(const struct gr_op *op, int r)
{
    return gr_request_block(&op->data.request, r) * op->data.request.elem_bytes;
}

static size_t block_at(const struct gr_op *op, int r)
{
    return gr_request_begin(&op->data.request, r) * op->data.request.elem_bytes;
}

/* What `from` sends to `to`: its bytes, and where they begin in what `from` contributes. */
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

/* Bytes that this rank contributes in all. */
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
    struct gr_messages *m = op->messages;
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

int mca_coll_gpuring_p2p_fallback_begin(struct gr_op *op)
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
    op->messages = m;
    return send_all(op);
}

/* Put rank r's message where it belongs: `data` is what it contributes to this rank. */
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

int mca_coll_gpuring_p2p_fallback_poll(struct gr_op *op, uint64_t *moved)
{
    struct gr_messages *m = op->messages;
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
    op->messages = NULL;
    return GR_DONE;
}

void mca_coll_gpuring_p2p_fallback_explain(const struct gr_op *op, char *text, size_t size)
{
    int p = ompi_comm_size(op->call.comm), r = op->messages->next;

    if (r < p) {
        snprintf(text, size, "messages, step %d, waits for rank %d", r, r);
        return;
    }
    for (r = 0; r < p && MPI_REQUEST_NULL == op->messages->sends[r]; r++) {
    }
    snprintf(text, size, "messages, all received, waits for rank %d to receive", r);
}
