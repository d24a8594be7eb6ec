/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the MPI calls of others.h, in all forms. */
#include <stdlib.h>
#include <string.h>

#include "others.h"

/* What one MPI call gets. */
struct args {
    const struct others_end *s, *r; /* send, receive */
    const int *shares;
    const MPI_Count *shares_c;
    int root;
    MPI_Op op;
    MPI_Comm comm;
};

/* T is empty, or _c for MPI_..._c, whose arrays are in the fields of that name. */
#define BLOCKING(T, name, Name, ...)                                           \
    static void name##_blocking##T(const struct args *a, MPI_Request *request) \
    {                                                                          \
        (void) request;                                                        \
        MPI_##Name##T(__VA_ARGS__);                                            \
    }

/* As in forms.c: of the persistent form that which makes it. */
#define FORMS(T, name, Name, ...)                                                 \
    BLOCKING(T, name, Name, __VA_ARGS__)                                          \
    static void name##_nonblocking##T(const struct args *a, MPI_Request *request) \
    {                                                                             \
        MPI_I##name##T(__VA_ARGS__, request);                                     \
    }                                                                             \
    static void name##_init##T(const struct args *a, MPI_Request *request)        \
    {                                                                             \
        FORM_INIT##T(Name, __VA_ARGS__, MPI_INFO_NULL, request);                  \
    }

#define SEND a->s->at, a->s->count, a->s->type
#define RECV a->r->at, a->r->count, a->r->type
#define SEND_V(T) a->s->at, a->s->counts##T, a->s->displs##T, a->s->type
#define RECV_V(T) a->r->at, a->r->counts##T, a->r->displs##T, a->r->type
#define SEND_W(T) a->s->at, a->s->counts##T, a->s->displs##T, a->s->types
#define RECV_W(T) a->r->at, a->r->counts##T, a->r->displs##T, a->r->types
#define SEND_PLACE(T) a->s->at, a->s->counts##T, a->s->places, a->s->types
#define RECV_PLACE(T) a->r->at, a->r->counts##T, a->r->places, a->r->types
#define REDUCED(e) a->s->at, a->r->at, a->e->count, a->e->type, a->op

#define ALL(T)                                                                                    \
    FORMS(T, gather, Gather, SEND, RECV, a->root, a->comm)                                        \
    FORMS(T, gatherv, Gatherv, SEND, RECV_V(T), a->root, a->comm)                                 \
    FORMS(T, scatter, Scatter, SEND, RECV, a->root, a->comm)                                      \
    FORMS(T, scatterv, Scatterv, SEND_V(T), RECV, a->root, a->comm)                               \
    FORMS(T, alltoall, Alltoall, SEND, RECV, a->comm)                                             \
    FORMS(T, alltoallv, Alltoallv, SEND_V(T), RECV_V(T), a->comm)                                 \
    FORMS(T, alltoallw, Alltoallw, SEND_W(T), RECV_W(T), a->comm)                                 \
    FORMS(T, scan, Scan, REDUCED(r), a->comm)                                                     \
    FORMS(T, exscan, Exscan, REDUCED(r), a->comm)                                                 \
    FORMS(T, neighbor_allgather, Neighbor_allgather, SEND, RECV, a->comm)                         \
    FORMS(T, neighbor_allgatherv, Neighbor_allgatherv, SEND, RECV_V(T), a->comm)                  \
    FORMS(T, neighbor_alltoall, Neighbor_alltoall, SEND, RECV, a->comm)                           \
    FORMS(T, neighbor_alltoallv, Neighbor_alltoallv, SEND_V(T), RECV_V(T), a->comm)               \
    FORMS(T, neighbor_alltoallw, Neighbor_alltoallw, SEND_PLACE(T), RECV_PLACE(T), a->comm)       \
    BLOCKING(T, reduce_local, Reduce_local, REDUCED(s))                                           \
    FORMS(T, allreduce, Allreduce, REDUCED(s), a->comm)                                           \
    FORMS(T, allgather, Allgather, SEND, RECV, a->comm)                                           \
    FORMS(T, allgatherv, Allgatherv, SEND, RECV_V(T), a->comm)                                    \
    FORMS(T, reduce_scatter, Reduce_scatter, a->s->at, a->r->at, a->shares##T, a->r->type, a->op, \
          a->comm)                                                                                \
    FORMS(T, reduce_scatter_block, Reduce_scatter_block, REDUCED(r), a->comm)                     \
    FORMS(T, bcast, Bcast, RECV, a->root, a->comm)                                                \
    FORMS(T, reduce, Reduce, REDUCED(s), a->root, a->comm)

#define ROW(T, name)                                              \
    {                                                             \
        name##_blocking##T, name##_nonblocking##T, name##_init##T \
    }
#define ROWS(T)                                                                         \
    {                                                                                   \
        [OTHERS_GATHER] = ROW(T, gather), [OTHERS_GATHERV] = ROW(T, gatherv),           \
        [OTHERS_SCATTER] = ROW(T, scatter), [OTHERS_SCATTERV] = ROW(T, scatterv),       \
        [OTHERS_ALLTOALL] = ROW(T, alltoall), [OTHERS_ALLTOALLV] = ROW(T, alltoallv),   \
        [OTHERS_ALLTOALLW] = ROW(T, alltoallw), [OTHERS_SCAN] = ROW(T, scan),           \
        [OTHERS_EXSCAN] = ROW(T, exscan),                                               \
        [OTHERS_NEIGHBOR_ALLGATHER] = ROW(T, neighbor_allgather),                       \
        [OTHERS_NEIGHBOR_ALLGATHERV] = ROW(T, neighbor_allgatherv),                     \
        [OTHERS_NEIGHBOR_ALLTOALL] = ROW(T, neighbor_alltoall),                         \
        [OTHERS_NEIGHBOR_ALLTOALLV] = ROW(T, neighbor_alltoallv),                       \
        [OTHERS_NEIGHBOR_ALLTOALLW] = ROW(T, neighbor_alltoallw),                       \
        [OTHERS_REDUCE_LOCAL] = {reduce_local_blocking##T, NULL, NULL},                 \
        [OTHERS_ALLREDUCE] = ROW(T, allreduce), [OTHERS_ALLGATHER] = ROW(T, allgather), \
        [OTHERS_ALLGATHERV] = ROW(T, allgatherv),                                       \
        [OTHERS_REDUCE_SCATTER] = ROW(T, reduce_scatter),                               \
        [OTHERS_REDUCE_SCATTER_BLOCK] = ROW(T, reduce_scatter_block),                   \
        [OTHERS_BCAST] = ROW(T, bcast), [OTHERS_REDUCE] = ROW(T, reduce),               \
    }

typedef void call_fn(const struct args *a, MPI_Request *request);
ALL()
#if FORM_WIDTHS > 1
ALL(_c)
#endif
static call_fn *const rows[FORM_WIDTHS][NUM_OTHERS][NUM_FORMS] = {
    ROWS(),
#if FORM_WIDTHS > 1
    ROWS(_c),
#endif
};

static void call(const struct others_call *c, int copy, enum form form, MPI_Request *request)
{
    struct args a = {.s = &c->send.end[copy],
                     .r = &c->recv.end[copy],
                     .shares = c->shares,
                     .shares_c = c->shares_c,
                     .root = c->root,
                     .op = c->op[copy],
                     .comm = c->on->comm};

    rows[LENT == copy && form_is_wide(c->what.key)][c->what.coll][form](&a, request);
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
        e->counts_c = lend(e->counts_c, s->n, sizeof *e->counts_c);
        e->displs_c = lend(e->displs_c, s->n, sizeof *e->displs_c);
        e->places = lend(e->places, s->n, sizeof *e->places);
        e->types = lend(e->types, s->n, sizeof *e->types);
    }
}

static void spoil_arrays(struct others_side *s)
{
    struct others_end *e = &s->end[LENT];

    if (NULL != e->counts) {
        spoil(e->counts, 2 * s->n, sizeof *e->counts);
        spoil(e->counts_c, s->n, sizeof *e->counts_c);
        spoil(e->displs_c, s->n, sizeof *e->displs_c);
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
    int shares = NULL == c->shares ? 0 : c->on->size;

    lend_arrays(&borrowed.send);
    lend_arrays(&borrowed.recv);
    borrowed.shares = lend(c->shares, shares, sizeof *c->shares);
    borrowed.shares_c = lend(c->shares_c, shares, sizeof *c->shares_c);
    call(&borrowed, LENT, FORM_PERSISTENT, request);
    spoil_arrays(&borrowed.send);
    spoil_arrays(&borrowed.recv);
    spoil(borrowed.shares, shares, sizeof *c->shares);
    spoil(borrowed.shares_c, shares, sizeof *c->shares_c);
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
