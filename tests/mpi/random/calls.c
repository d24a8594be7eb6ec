/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of MPI's collectives in all forms. */
#include <stdlib.h>

#include "forms.h" /* FORM_INIT */
#include "task.h"

#define SEND t->send_at, t->send_count, t->send_type
#define RECV t->recv_at, t->recv_count, t->recv_type
#define SEND_V t->send_at, t->send_counts, t->send_displs, t->send_type
#define RECV_V t->recv_at, t->recv_counts, t->recv_displs, t->recv_type
#define SEND_W t->send_at, t->send_counts, t->send_displs, t->send_types
#define RECV_W t->recv_at, t->recv_counts, t->recv_displs, t->recv_types
#define SEND_N t->send_at, t->send_counts, t->send_offsets, t->send_types
#define RECV_N t->recv_at, t->recv_counts, t->recv_offsets, t->recv_types
#define REDUCE t->send_at, t->recv_at, t->recv_count, t->recv_type, t->op

#define FORMS(name, Name, ...)                                                 \
    static int name(struct task *t, enum call_form form, MPI_Request *request) \
    {                                                                          \
        switch (form) {                                                        \
        case BLOCKING:                                                         \
            return MPI_##Name(__VA_ARGS__);                                    \
        case NONBLOCKING:                                                      \
            return MPI_I##name(__VA_ARGS__, request);                          \
        default:                                                               \
            return FORM_INIT(Name, __VA_ARGS__, MPI_INFO_NULL, request);       \
        }                                                                      \
    }

FORMS(barrier, Barrier, t->mpi)
FORMS(bcast, Bcast, RECV, t->root, t->mpi)
FORMS(reduce, Reduce, REDUCE, t->root, t->mpi)
FORMS(allreduce, Allreduce, REDUCE, t->mpi)
FORMS(scan, Scan, REDUCE, t->mpi)
FORMS(exscan, Exscan, REDUCE, t->mpi)
FORMS(reduce_scatter, Reduce_scatter, t->send_at, t->recv_at, t->shares, t->recv_type, t->op,
      t->mpi)
FORMS(reduce_scatter_block, Reduce_scatter_block, REDUCE, t->mpi)
FORMS(allgather, Allgather, SEND, RECV, t->mpi)
FORMS(allgatherv, Allgatherv, SEND, RECV_V, t->mpi)
FORMS(gather, Gather, SEND, RECV, t->root, t->mpi)
FORMS(gatherv, Gatherv, SEND, RECV_V, t->root, t->mpi)
FORMS(scatter, Scatter, SEND, RECV, t->root, t->mpi)
FORMS(scatterv, Scatterv, SEND_V, RECV, t->root, t->mpi)
FORMS(alltoall, Alltoall, SEND, RECV, t->mpi)
FORMS(alltoallv, Alltoallv, SEND_V, RECV_V, t->mpi)
FORMS(alltoallw, Alltoallw, SEND_W, RECV_W, t->mpi)
FORMS(neighbor_allgather, Neighbor_allgather, SEND, RECV, t->mpi)
FORMS(neighbor_allgatherv, Neighbor_allgatherv, SEND, RECV_V, t->mpi)
FORMS(neighbor_alltoall, Neighbor_alltoall, SEND, RECV, t->mpi)
FORMS(neighbor_alltoallv, Neighbor_alltoallv, SEND_V, RECV_V, t->mpi)
FORMS(neighbor_alltoallw, Neighbor_alltoallw, SEND_N, RECV_N, t->mpi)

static int (*const rows[NUM_COLLECTIVES])(struct task *t, enum call_form form,
                                          MPI_Request *request) = {barrier,
                                                                   bcast,
                                                                   reduce,
                                                                   allreduce,
                                                                   scan,
                                                                   exscan,
                                                                   reduce_scatter,
                                                                   reduce_scatter_block,
                                                                   allgather,
                                                                   allgatherv,
                                                                   gather,
                                                                   gatherv,
                                                                   scatter,
                                                                   scatterv,
                                                                   alltoall,
                                                                   alltoallv,
                                                                   alltoallw,
                                                                   neighbor_allgather,
                                                                   neighbor_allgatherv,
                                                                   neighbor_alltoall,
                                                                   neighbor_alltoallv,
                                                                   neighbor_alltoallw};

int task_call(struct task *t, enum call_form form, MPI_Request *request)
{
    return rows[t->step->what](t, form, request);
}
