/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the MPI calls of ignored.c. */
#include "ignored.h"

#include <stdlib.h>

#define FORMS(name, Name, ...)                                                 \
    static void name##_blocking(const struct args *a, MPI_Request *request)    \
    {                                                                          \
        (void) request;                                                        \
        MPI_##Name(__VA_ARGS__);                                               \
    }                                                                          \
    static void name##_nonblocking(const struct args *a, MPI_Request *request) \
    {                                                                          \
        MPI_I##name(__VA_ARGS__, request);                                     \
    }                                                                          \
    static void name##_init(const struct args *a, MPI_Request *request)        \
    {                                                                          \
        FORM_INIT(Name, __VA_ARGS__, MPI_INFO_NULL, request);                  \
    }

#define SEND a->s.at, a->s.count, a->s.type
#define RECV a->r.at, a->r.count, a->r.type
#define SEND_V a->s.at, a->s.counts, a->s.displs, a->s.type
#define RECV_V a->r.at, a->r.counts, a->r.displs, a->r.type
#define SEND_W a->s.at, a->s.counts, a->s.bytes, a->s.types
#define RECV_W a->r.at, a->r.counts, a->r.bytes, a->r.types
#define SEND_PLACE a->s.at, a->s.counts, a->s.places, a->s.types
#define RECV_PLACE a->r.at, a->r.counts, a->r.places, a->r.types
#define REDUCED a->s.at, a->r.at, a->r.count, MPI_INT, MPI_SUM

FORMS(allreduce, Allreduce, REDUCED, a->comm)
FORMS(allgather, Allgather, SEND, RECV, a->comm)
FORMS(allgatherv, Allgatherv, SEND, RECV_V, a->comm)
FORMS(reduce_scatter, Reduce_scatter, a->s.at, a->r.at, a->shares, MPI_INT, MPI_SUM, a->comm)
FORMS(reduce_scatter_block, Reduce_scatter_block, REDUCED, a->comm)
FORMS(bcast, Bcast, RECV, a->root, a->comm)
FORMS(reduce, Reduce, REDUCED, a->root, a->comm)
FORMS(alltoall, Alltoall, SEND, RECV, a->comm)
FORMS(alltoallv, Alltoallv, SEND_V, RECV_V, a->comm)
FORMS(alltoallw, Alltoallw, SEND_W, RECV_W, a->comm)
FORMS(gather, Gather, SEND, RECV, a->root, a->comm)
FORMS(gatherv, Gatherv, SEND, RECV_V, a->root, a->comm)
FORMS(scatter, Scatter, SEND, RECV, a->root, a->comm)
FORMS(scatterv, Scatterv, SEND_V, RECV, a->root, a->comm)
FORMS(scan, Scan, REDUCED, a->comm)
FORMS(exscan, Exscan, REDUCED, a->comm)
FORMS(neighbor_allgather, Neighbor_allgather, SEND, RECV, a->comm)
FORMS(neighbor_allgatherv, Neighbor_allgatherv, SEND, RECV_V, a->comm)
FORMS(neighbor_alltoall, Neighbor_alltoall, SEND, RECV, a->comm)
FORMS(neighbor_alltoallv, Neighbor_alltoallv, SEND_V, RECV_V, a->comm)
FORMS(neighbor_alltoallw, Neighbor_alltoallw, SEND_PLACE, RECV_PLACE, a->comm)

const struct row ignored_rows[IGNORED_ROWS] = {
#define ROW(name)                                        \
#name,                                               \
    {                                                    \
        name##_blocking, name##_nonblocking, name##_init \
    }
    {ROW(allreduce), ON_INTRA, true, false, BY_FROM, ROOTED_NOT, REDUCED_ALL},
    {ROW(allgather), ON_INTRA, true, false, BY_FROM, ROOTED_NOT, REDUCED_NOT},
    {ROW(allgatherv), ON_INTRA, true, true, BY_FROM, ROOTED_NOT, REDUCED_NOT},
    {ROW(reduce_scatter), ON_INTRA, true, true, BY_TO, ROOTED_NOT, REDUCED_ALL},
    {ROW(reduce_scatter_block), ON_INTRA, true, false, BY_TO, ROOTED_NOT, REDUCED_ALL},
    {ROW(bcast), ON_INTRA | ON_INTER, false, false, BY_FROM, ROOTED_FROM, REDUCED_NOT},
    {ROW(reduce), ON_INTRA | ON_INTER, true, false, BY_FROM, ROOTED_TO, REDUCED_ALL},
    {ROW(alltoall), ON_INTRA, true, false, BY_FROM | BY_TO, ROOTED_NOT, REDUCED_NOT},
    {ROW(alltoallv), ON_INTRA, true, true, BY_FROM | BY_TO, ROOTED_NOT, REDUCED_NOT},
    {ROW(alltoallw), ON_INTRA, true, true, BY_FROM | BY_TO, ROOTED_NOT, REDUCED_NOT},
    {ROW(gather), ON_INTRA | ON_INTER, true, false, BY_FROM, ROOTED_TO, REDUCED_NOT},
    {ROW(gatherv), ON_INTRA | ON_INTER, true, true, BY_FROM, ROOTED_TO, REDUCED_NOT},
    {ROW(scatter), ON_INTRA | ON_INTER, true, false, BY_TO, ROOTED_FROM, REDUCED_NOT},
    {ROW(scatterv), ON_INTRA | ON_INTER, true, true, BY_TO, ROOTED_FROM, REDUCED_NOT},
    {ROW(scan), ON_INTRA, true, false, BY_FROM, ROOTED_NOT, REDUCED_UP_TO},
    {ROW(exscan), ON_INTRA, true, false, BY_FROM, ROOTED_NOT, REDUCED_BEFORE},
    {ROW(neighbor_allgather), ON_GRAPH, false, false, BY_FROM, ROOTED_NOT, REDUCED_NOT},
    {ROW(neighbor_allgatherv), ON_GRAPH, false, false, BY_FROM, ROOTED_NOT, REDUCED_NOT},
    {ROW(neighbor_alltoall), ON_GRAPH, false, false, BY_FROM, ROOTED_NOT, REDUCED_NOT},
    {ROW(neighbor_alltoallv), ON_GRAPH, false, false, BY_FROM, ROOTED_NOT, REDUCED_NOT},
    {ROW(neighbor_alltoallw), ON_GRAPH, false, false, BY_FROM, ROOTED_NOT, REDUCED_NOT},
};
