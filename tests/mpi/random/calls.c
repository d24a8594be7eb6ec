/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of MPI's collectives in all forms. */
#include <stdlib.h>
#include <string.h>

#include "forms.h" /* FORM_INIT */
#include "task.h"

#define SEND t->send_at, t->send_count, t->send_type
#define RECV t->recv_at, t->recv_count, t->recv_type
#define SEND_V(T) t->send_at, t->send_counts##T, t->send_displs##T, t->send_type
#define RECV_V(T) t->recv_at, t->recv_counts##T, t->recv_displs##T, t->recv_type
#define SEND_W(T) t->send_at, t->send_counts##T, t->send_displs##T, t->send_types
#define RECV_W(T) t->recv_at, t->recv_counts##T, t->recv_displs##T, t->recv_types
#define SEND_N(T) t->send_at, t->send_counts##T, t->send_offsets, t->send_types
#define RECV_N(T) t->recv_at, t->recv_counts##T, t->recv_offsets, t->recv_types
#define REDUCE t->send_at, t->recv_at, t->recv_count, t->recv_type, t->op

/* T is empty, or _c for MPI_..._c. */
#define FORMS(T, name, Name, ...)                                                 \
    static int name##T(struct task *t, enum call_form form, MPI_Request *request) \
    {                                                                             \
        switch (form) {                                                           \
        case BLOCKING:                                                            \
            return MPI_##Name##T(__VA_ARGS__);                                    \
        case NONBLOCKING:                                                         \
            return MPI_I##name##T(__VA_ARGS__, request);                          \
        default:                                                                  \
            return FORM_INIT##T(Name, __VA_ARGS__, MPI_INFO_NULL, request);       \
        }                                                                         \
    }

#define ALL(T)                                                                                   \
    FORMS(T, bcast, Bcast, RECV, t->root, t->mpi)                                                \
    FORMS(T, reduce, Reduce, REDUCE, t->root, t->mpi)                                            \
    FORMS(T, allreduce, Allreduce, REDUCE, t->mpi)                                               \
    FORMS(T, scan, Scan, REDUCE, t->mpi)                                                         \
    FORMS(T, exscan, Exscan, REDUCE, t->mpi)                                                     \
    FORMS(T, reduce_scatter, Reduce_scatter, t->send_at, t->recv_at, t->shares##T, t->recv_type, \
          t->op, t->mpi)                                                                         \
    FORMS(T, reduce_scatter_block, Reduce_scatter_block, REDUCE, t->mpi)                         \
    FORMS(T, allgather, Allgather, SEND, RECV, t->mpi)                                           \
    FORMS(T, allgatherv, Allgatherv, SEND, RECV_V(T), t->mpi)                                    \
    FORMS(T, gather, Gather, SEND, RECV, t->root, t->mpi)                                        \
    FORMS(T, gatherv, Gatherv, SEND, RECV_V(T), t->root, t->mpi)                                 \
    FORMS(T, scatter, Scatter, SEND, RECV, t->root, t->mpi)                                      \
    FORMS(T, scatterv, Scatterv, SEND_V(T), RECV, t->root, t->mpi)                               \
    FORMS(T, alltoall, Alltoall, SEND, RECV, t->mpi)                                             \
    FORMS(T, alltoallv, Alltoallv, SEND_V(T), RECV_V(T), t->mpi)                                 \
    FORMS(T, alltoallw, Alltoallw, SEND_W(T), RECV_W(T), t->mpi)                                 \
    FORMS(T, neighbor_allgather, Neighbor_allgather, SEND, RECV, t->mpi)                         \
    FORMS(T, neighbor_allgatherv, Neighbor_allgatherv, SEND, RECV_V(T), t->mpi)                  \
    FORMS(T, neighbor_alltoall, Neighbor_alltoall, SEND, RECV, t->mpi)                           \
    FORMS(T, neighbor_alltoallv, Neighbor_alltoallv, SEND_V(T), RECV_V(T), t->mpi)               \
    FORMS(T, neighbor_alltoallw, Neighbor_alltoallw, SEND_N(T), RECV_N(T), t->mpi)

#define ROWS(T)                                                                            \
    {                                                                                      \
        barrier, bcast##T, reduce##T, allreduce##T, scan##T, exscan##T, reduce_scatter##T, \
            reduce_scatter_block##T, allgather##T, allgatherv##T, gather##T, gatherv##T,   \
            scatter##T, scatterv##T, alltoall##T, alltoallv##T, alltoallw##T,              \
            neighbor_allgather##T, neighbor_allgatherv##T, neighbor_alltoall##T,           \
            neighbor_alltoallv##T, neighbor_alltoallw##T                                   \
    }

FORMS(, barrier, Barrier, t->mpi)
ALL()
#if FORM_WIDTHS > 1
ALL(_c)
#endif
static int (*const rows[FORM_WIDTHS][NUM_COLLECTIVES])(struct task *t, enum call_form form,
                                                       MPI_Request *request) = {
    ROWS(),
#if FORM_WIDTHS > 1
    ROWS(_c),
#endif
};

/* The arrays of a call: DO(field, elements). */
#define ARRAYS(DO)            \
    DO(send_counts, send.n)   \
    DO(send_displs, send.n)   \
    DO(send_types, send.n)    \
    DO(send_offsets, send.n)  \
    DO(recv_counts, recv.n)   \
    DO(recv_displs, recv.n)   \
    DO(recv_types, recv.n)    \
    DO(recv_offsets, recv.n)  \
    DO(shares, comm->size)    \
    DO(send_counts_c, send.n) \
    DO(send_displs_c, send.n) \
    DO(recv_counts_c, recv.n) \
    DO(recv_displs_c, recv.n) \
    DO(shares_c, comm->size)

static void *room(int n, size_t bytes)
{
    void *at = malloc((size_t) n * bytes + 1);

    if (NULL == at) {
        abort();
    }
    return at;
}

#define WIDEN(field, n)                               \
    if (NULL != t->field && (n) > 0) {                \
        t->field##_c = room(n, sizeof *t->field##_c); \
        for (int k = 0; k < (n); k++) {               \
            t->field##_c[k] = t->field[k];            \
        }                                             \
    }

/* The arrays for MPI_..._c. */
static void widen(struct task *t)
{
    WIDEN(send_counts, t->send.n)
    WIDEN(send_displs, t->send.n)
    WIDEN(recv_counts, t->recv.n)
    WIDEN(recv_displs, t->recv.n)
    WIDEN(shares, t->comm->size)
}

int task_call(struct task *t, enum call_form form, MPI_Request *request)
{
    const bool wide = form_is_wide(t->step->key);
    struct task lent;
    int rc;

    if (wide) {
        widen(t);
    }
    if (PERSISTENT != form) {
        return rows[wide][t->step->what](t, form, request);
    }
    lent = *t;
#define LEND(field, n)                                                    \
    if (NULL != t->field && t->n > 0) {                                   \
        lent.field = room(t->n, sizeof *lent.field);                      \
        memcpy(lent.field, t->field, (size_t) t->n * sizeof *lent.field); \
    }
    ARRAYS(LEND)
    rc = rows[wide][t->step->what](&lent, form, request);
#define SPOIL(field, n)                                               \
    if (NULL != t->field && t->n > 0) {                               \
        memset(lent.field, 0x5a, (size_t) t->n * sizeof *lent.field); \
        free(lent.field);                                             \
    }
    ARRAYS(SPOIL)
    return rc;
}
