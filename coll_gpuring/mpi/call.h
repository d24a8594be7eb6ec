/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of one MPI call, its form, and the collective functions that a module replaces. */
#ifndef GR_MPI_CALL_H
#define GR_MPI_CALL_H

#include "mpi/ompi.h"

#include "comm/collectives.h"

/* How a call is made. */
struct gr_form {
    enum { GR_BLOCKING, GR_NONBLOCKING, GR_PERSISTENT } kind;
    struct ompi_info_t *info; /* persistent */
    ompi_request_t **request; /* nonblocking, persistent: where MPI's request goes */
    bool cut;                 /* into segments, by all ranks alike (segments.c) */
    /* what is done of it beside the saved function, or NULL (p2p_split.c) */
    struct gr_p2p_split *split;
};

/*
 * The collectives: DO(X, name, its id behind GR_CALL_, the groups of its parameters) for each, where
 * X is what the caller passes through. A group has macros PARAMETERS_... and SET_... (entry.c) and
 * ARGUMENTS_... (module.c):
 *
 *      _V      a count for each rank, and where it is no reduction a displacement
 *      _W      as _V, with a type for each rank; displacements are bytes in a gr_counts_t
 *      _FAR    as _W, but displacements are in a gr_offsets_t
 */
#define GR_FOR_EACH_SUPPORTED(DO, X)                                       \
    DO(X, allreduce, ALLREDUCE, REDUCED, NONE, NONE)                       \
    DO(X, allgather, ALLGATHER, SEND, RECEIVE, NONE)                       \
    DO(X, allgatherv, ALLGATHERV, SEND, RECEIVE_V, NONE)                   \
    DO(X, reduce_scatter, REDUCE_SCATTER, REDUCED_V, NONE, NONE)           \
    DO(X, reduce_scatter_block, REDUCE_SCATTER_BLOCK, REDUCED, NONE, NONE) \
    DO(X, bcast, BCAST, RECEIVE, ROOT, NONE)                               \
    DO(X, reduce, REDUCE, REDUCED, ROOT, NONE)                             \
    DO(X, alltoall, ALLTOALL, SEND, RECEIVE, NONE)
/* without buffers, so only where collectives in host memory are taken */
#define GR_FOR_EACH_UNBUFFERED(DO, X) DO(X, barrier, BARRIER, NONE, NONE, NONE)
#define GR_FOR_EACH_STAGED(DO, X)                                          \
    DO(X, gather, GATHER, SEND, RECEIVE, ROOT)                             \
    DO(X, gatherv, GATHERV, SEND, RECEIVE_V, ROOT)                         \
    DO(X, scatter, SCATTER, SEND, RECEIVE, ROOT)                           \
    DO(X, scatterv, SCATTERV, SEND_V, RECEIVE, ROOT)                       \
    DO(X, alltoallv, ALLTOALLV, SEND_V, RECEIVE_V, NONE)                   \
    DO(X, alltoallw, ALLTOALLW, SEND_W, RECEIVE_W, NONE)                   \
    DO(X, scan, SCAN, REDUCED, NONE, NONE)                                 \
    DO(X, exscan, EXSCAN, REDUCED, NONE, NONE)                             \
    DO(X, neighbor_allgather, NEIGHBOR_ALLGATHER, SEND, RECEIVE, NONE)     \
    DO(X, neighbor_allgatherv, NEIGHBOR_ALLGATHERV, SEND, RECEIVE_V, NONE) \
    DO(X, neighbor_alltoall, NEIGHBOR_ALLTOALL, SEND, RECEIVE, NONE)       \
    DO(X, neighbor_alltoallv, NEIGHBOR_ALLTOALLV, SEND_V, RECEIVE_V, NONE) \
    DO(X, neighbor_alltoallw, NEIGHBOR_ALLTOALLW, SEND_FAR, RECEIVE_FAR, NONE)

/*
 * The collective functions that a module takes the place of, for X(name): each has a saved function
 * and module.
 */
#define GR_FORMS_OF(X, name, ...) X(name) X(i##name) X(name##_init)
#define GR_FOR_EACH_FUNCTION(X)            \
    GR_FOR_EACH_SUPPORTED(GR_FORMS_OF, X)  \
    GR_FOR_EACH_UNBUFFERED(GR_FORMS_OF, X) \
    GR_FOR_EACH_STAGED(GR_FORMS_OF, X)     \
    X(reduce_local)

/* The arguments of one call; fields that a collective does not have are zero. */
struct gr_call {
    enum gr_call_id id;
    const void *sbuf;
    void *rbuf;            /* bcast: the buffer */
    size_t scount, rcount; /* of one block; where there is one type and count: rcount, rtype */
    gr_counts_t scounts, sdispls, rcounts, displs;
    gr_offsets_t soffsets, roffsets; /* neighbor_alltoallw's displacements */
    struct ompi_datatype_t *stype, *rtype;
    struct ompi_datatype_t *const *stypes, *const *rtypes; /* of the ...w calls */
    struct ompi_op_t *reduction;                           /* MPI_Op of a reduction */
    int root;
    struct ompi_communicator_t *comm; /* NULL: reduce_local */
};

/* A call without arguments yet. Field by field: compilers clear a whole structure of this size with
 * `rep stos`, which takes longer than all that a small call does with it. */
static inline void gr_call_clear(struct gr_call *call, enum gr_call_id id,
                                 struct ompi_communicator_t *comm)
{
    call->id = id;
    call->sbuf = NULL;
    call->rbuf = NULL;
    call->scount = call->rcount = 0;
    call->scounts = call->sdispls = call->rcounts = call->displs = (gr_counts_t) 0;
    call->soffsets = call->roffsets = (gr_offsets_t) 0;
    call->stype = call->rtype = NULL;
    call->stypes = call->rtypes = NULL;
    call->reduction = NULL;
    call->root = 0;
    call->comm = comm;
}

#endif
