/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the MPI calls of others.h, in all forms. */
#include <stdlib.h>
#include <string.h>

#include "others.h"

/* What one MPI call gets. */
struct args {
    const struct others_end *s, *r; /* send, receive */
    const int *shares;
    int root;
    MPI_Op op;
    MPI_Comm comm;
};

#define BLOCKING(name, Name, ...)                                           \
    static void name##_blocking(const struct args *a, MPI_Request *request) \
    {                                                                       \
        (void) request;                                                     \
        MPI_##Name(__VA_ARGS__);                                            \
    }

/* As in forms.c: of the persistent form that which makes it. */
#define FORMS(name, Name, ...)                                                 \
    BLOCKING(name, Name, __VA_ARGS__)                                          \
    static void name##_nonblocking(const struct args *a, MPI_Request *request) \
    {                                                                          \
        MPI_I##name(__VA_ARGS__, request);                                     \
    }                                                                          \
    static void name##_init(const struct args *a, MPI_Request *request)        \
    {                                                                          \
        FORM_INIT(Name, __VA_ARGS__, MPI_INFO_NULL, request);                  \
    }

#define SEND a->s->at, a->s->count, a->s->type
#define RECV a->r->at, a->r->count, a->r->type
#define SEND_V a->s->at, a->s->counts, a->s->displs, a->s->type
#define RECV_V a->r->at, a->r->counts, a->r->displs, a->r->type
#define SEND_W a->s->at, a->s->counts, a->s->displs, a->s->types
#define RECV_W a->r->at, a->r->counts, a->r->displs, a->r->types
#define SEND_PLACE a->s->at, a->s->counts, a->s->places, a->s->types
#define RECV_PLACE a->r->at, a->r->counts, a->r->places, a->r->types
#define REDUCED(e) a->s->at, a->r->at, a->e->count, a->e->type, a->op

FORMS(gather, Gather, SEND, RECV, a->root, a->comm)
FORMS(gatherv, Gatherv, SEND, RECV_V, a->root, a->comm)
FORMS(scatter, Scatter, SEND, RECV, a->root, a->comm)
FORMS(scatterv, Scatterv, SEND_V, RECV, a->root, a->comm)
FORMS(alltoall, Alltoall, SEND, RECV, a->comm)
FORMS(alltoallv, Alltoallv, SEND_V, RECV_V, a->comm)
FORMS(alltoallw, Alltoallw, SEND_W, RECV_W, a->comm)
FORMS(scan, Scan, REDUCED(r), a->comm)
FORMS(exscan, Exscan, REDUCED(r), a->comm)
FORMS(neighbor_allgather, Neighbor_allgather, SEND, RECV, a->comm)
FORMS(neighbor_allgatherv, Neighbor_allgatherv, SEND, RECV_V, a->comm)
FORMS(neighbor_alltoall, Neighbor_alltoall, SEND, RECV, a->comm)
FORMS(neighbor_alltoallv, Neighbor_alltoallv, SEND_V, RECV_V, a->comm)
FORMS(neighbor_alltoallw, Neighbor_alltoallw, SEND_PLACE, RECV_PLACE, a->comm)
BLOCKING(reduce_local, Reduce_local, REDUCED(s))
FORMS(allreduce, Allreduce, REDUCED(s), a->comm)
FORMS(allgather, Allgather, SEND, RECV, a->comm)
FORMS(allgatherv, Allgatherv, SEND, RECV_V, a->comm)
FORMS(reduce_scatter, Reduce_scatter, a->s->at, a->r->at, a->shares, a->r->type, a->op, a->comm)
FORMS(reduce_scatter_block, Reduce_scatter_block, REDUCED(r), a->comm)
FORMS(bcast, Bcast, RECV, a->root, a->comm)
FORMS(reduce, Reduce, REDUCED(s), a->root, a->comm)

#define ROW(name)                                        \
    {                                                    \
        name##_blocking, name##_nonblocking, name##_init \
    }

static void (*const rows[NUM_OTHERS][NUM_FORMS])(const struct args *a, MPI_Request *request) = {
    [OTHERS_GATHER] = ROW(gather),
    [OTHERS_GATHERV] = ROW(gatherv),
    [OTHERS_SCATTER] = ROW(scatter),
    [OTHERS_SCATTERV] = ROW(scatterv),
    [OTHERS_ALLTOALL] = ROW(alltoall),
    [OTHERS_ALLTOALLV] = ROW(alltoallv),
    [OTHERS_ALLTOALLW] = ROW(alltoallw),
    [OTHERS_SCAN] = ROW(scan),
    [OTHERS_EXSCAN] = ROW(exscan),
    [OTHERS_NEIGHBOR_ALLGATHER] = ROW(neighbor_allgather),
    [OTHERS_NEIGHBOR_ALLGATHERV] = ROW(neighbor_allgatherv),
    [OTHERS_NEIGHBOR_ALLTOALL] = ROW(neighbor_alltoall),
    [OTHERS_NEIGHBOR_ALLTOALLV] = ROW(neighbor_alltoallv),
    [OTHERS_NEIGHBOR_ALLTOALLW] = ROW(neighbor_alltoallw),
    [OTHERS_REDUCE_LOCAL] = {reduce_local_blocking, NULL, NULL},
    [OTHERS_ALLREDUCE] = ROW(allreduce),
    [OTHERS_ALLGATHER] = ROW(allgather),
    [OTHERS_ALLGATHERV] = ROW(allgatherv),
    [OTHERS_REDUCE_SCATTER] = ROW(reduce_scatter),
    [OTHERS_REDUCE_SCATTER_BLOCK] = ROW(reduce_scatter_block),
    [OTHERS_BCAST] = ROW(bcast),
    [OTHERS_REDUCE] = ROW(reduce),
};

static void call(const struct others_call *c, int copy, enum form form, MPI_Request *request)
{
    struct args a = {&c->send.end[copy], &c->recv.end[copy], c->shares, c->root,
                     c->op[copy],        c->on->comm};

    rows[c->what.coll][form](&a, request);
}

void others_refer(const struct others_call *c, enum form form)
{
    MPI_Request request = MPI_REQUEST_NULL;

    call(c, PLAIN, c->on->twisted && FORM_BLOCKING != form ? FORM_NONBLOCKING : FORM_BLOCKING,
         &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A copy of an array; what is lent. */
static void *lend(void *array, int n, size_t bytes)
{
    void *copy = malloc((size_t) n * bytes + 1);

    if (NULL == copy) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return NULL == array ? copy : memcpy(copy, array, (size_t) n * bytes);
}

/* That is not what it was any more, and is gone. */
static void spoil(void *copy, int n, size_t bytes)
{
    memset(copy, 0x5a, (size_t) n * bytes);
    free(copy);
}

/* One side's arrays, in copies: displacements lie behind the counts. */
static void lend_arrays(struct others_side *s)
{
    struct others_end *e = &s->end[LENT];

    if (NULL != e->counts) {
        e->counts = lend(e->counts, 2 * s->n, sizeof *e->counts);
        e->displs = e->counts + s->n;
        e->places = lend(e->places, s->n, sizeof *e->places);
        e->types = lend(e->types, s->n, sizeof *e->types);
    }
}

static void spoil_arrays(struct others_side *s)
{
    struct others_end *e = &s->end[LENT];

    if (NULL != e->counts) {
        spoil(e->counts, 2 * s->n, sizeof *e->counts);
        spoil(e->places, s->n, sizeof *e->places);
        spoil(e->types, s->n, sizeof *e->types);
    }
}

/*
 * Arrays are spoilt once the request is there, as bindings of other languages do that free theirs.
 */
void others_init(const struct others_call *c, MPI_Request *request)
{
    struct others_call borrowed = *c;

    lend_arrays(&borrowed.send);
    lend_arrays(&borrowed.recv);
    borrowed.shares = lend(c->shares, NULL == c->shares ? 0 : c->on->size, sizeof *c->shares);
    call(&borrowed, LENT, FORM_PERSISTENT, request);
    spoil_arrays(&borrowed.send);
    spoil_arrays(&borrowed.recv);
    spoil(borrowed.shares, NULL == c->shares ? 0 : c->on->size, sizeof *c->shares);
}

void others_start(const struct others_call *c, enum form form, MPI_Request *request)
{
    if (FORM_PERSISTENT != form) {
        call(c, LENT, form, request);
    } else if (MPI_REQUEST_NULL == *request) {
        others_init(c, request);
    }
    if (FORM_PERSISTENT == form) {
        MPI_Start(request);
    }
}
