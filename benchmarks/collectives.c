/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the table of collectives and their MPI calls. See collectives.h. */
#include "collectives.h"
#include "collect.h"

#include <stdlib.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

/* Open MPI 5 says it is MPI 3.1 but has MPI-4's persistent collectives; 4.1 has the same functions
 * as an extension, with another prefix. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAVE_PERSISTENT 1
#define PERSISTENT(Name) MPI_##Name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define HAVE_PERSISTENT 1
#define PERSISTENT(Name) MPIX_##Name##_init
#else
#define HAVE_PERSISTENT 0
#endif

#if HAVE_PERSISTENT
#define PERSISTENT_FORM(name, Name, ...)                                                           \
    static int name##_persistent(const struct job *j, MPI_Request *requests)                       \
    {                                                                                              \
        return PERSISTENT(Name)(__VA_ARGS__, MPI_INFO_NULL, requests);                             \
    }
#else
#define PERSISTENT_FORM(name, Name, ...)                                                           \
    static int name##_persistent(const struct job *j, MPI_Request *requests)                       \
    {                                                                                              \
        (void)j;                                                                                   \
        (void)requests;                                                                            \
        return MPI_ERR_OTHER; /* main refuses before it comes to this */                           \
    }
#endif

/* The three forms of one collective, which share their arguments. */
#define FORMS(name, Name, ...)                                                                     \
    static int name##_blocking(const struct job *j)                                                \
    {                                                                                              \
        return MPI_##Name(__VA_ARGS__);                                                            \
    }                                                                                              \
    static int name##_nonblocking(const struct job *j, MPI_Request *requests)                      \
    {                                                                                              \
        return MPI_I##name(__VA_ARGS__, requests);                                                 \
    }                                                                                              \
    PERSISTENT_FORM(name, Name, __VA_ARGS__)

FORMS(allreduce, Allreduce, j->send, j->recv, j->count, j->type, j->op, j->comm)
FORMS(allgather, Allgather, j->send, j->count, j->type, j->recv, j->count, j->type, j->comm)
FORMS(allgatherv, Allgatherv, j->send, j->count, j->type, j->recv, j->counts, j->displs, j->type,
      j->comm)
FORMS(reduce_scatter, Reduce_scatter, j->send, j->recv, j->counts, j->type, j->op, j->comm)
FORMS(reduce_scatter_block, Reduce_scatter_block, j->send, j->recv, j->count, j->type, j->op,
      j->comm)
FORMS(bcast, Bcast, j->recv, j->count, j->type, j->root, j->comm)
FORMS(reduce, Reduce, j->send, j->recv, j->count, j->type, j->op, j->root, j->comm)
FORMS(gather, Gather, j->send, j->count, j->type, j->recv, j->count, j->type, j->root, j->comm)
FORMS(gatherv, Gatherv, j->send, j->count, j->type, j->recv, j->counts, j->displs, j->type, j->root,
      j->comm)
FORMS(scatter, Scatter, j->send, j->count, j->type, j->recv, j->count, j->type, j->root, j->comm)
FORMS(scatterv, Scatterv, j->send, j->counts, j->displs, j->type, j->recv, j->count, j->type, j->root,
      j->comm)
FORMS(alltoall, Alltoall, j->send, j->count, j->type, j->recv, j->count, j->type, j->comm)
FORMS(alltoallv, Alltoallv, j->send, j->counts, j->displs, j->type, j->recv, j->counts, j->displs,
      j->type, j->comm)
FORMS(scan, Scan, j->send, j->recv, j->count, j->type, j->op, j->comm)
FORMS(exscan, Exscan, j->send, j->recv, j->count, j->type, j->op, j->comm)

enum { TAG = 0 };

static int sendrecv_blocking(const struct job *j)
{
    return MPI_Sendrecv(j->send, j->count, j->type, j->right, TAG, j->recv, j->count, j->type, j->left,
                        TAG, j->comm, MPI_STATUS_IGNORE);
}

static int sendrecv_nonblocking(const struct job *j, MPI_Request *requests)
{
    MPI_Irecv(j->recv, j->count, j->type, j->left, TAG, j->comm, &requests[0]);
    return MPI_Isend(j->send, j->count, j->type, j->right, TAG, j->comm, &requests[1]);
}

static int sendrecv_persistent(const struct job *j, MPI_Request *requests)
{
    MPI_Recv_init(j->recv, j->count, j->type, j->left, TAG, j->comm, &requests[0]);
    return MPI_Send_init(j->send, j->count, j->type, j->right, TAG, j->comm, &requests[1]);
}

#define ROW(name, kind, moves, requests)                                                           \
    {#name, kind, &moves, requests, name##_blocking, name##_nonblocking, name##_persistent}

const struct collective collectives[COLLECTIVES] = {
    ROW(allreduce, IDEAL_ALLREDUCE, moves_allreduce, 1),
    ROW(allgather, IDEAL_SHARES, moves_allgather, 1),
    ROW(allgatherv, IDEAL_SHARES, moves_allgather, 1),
    ROW(reduce_scatter, IDEAL_SHARES, moves_reduce_scatter, 1),
    ROW(reduce_scatter_block, IDEAL_SHARES, moves_reduce_scatter, 1),
    ROW(bcast, IDEAL_ROOTED, moves_bcast, 1),
    ROW(reduce, IDEAL_ROOTED, moves_reduce, 1),
    ROW(gather, IDEAL_ROOT_SHARES, moves_gather, 1),
    ROW(gatherv, IDEAL_ROOT_SHARES, moves_gather, 1),
    ROW(scatter, IDEAL_ROOT_SHARES, moves_scatter, 1),
    ROW(scatterv, IDEAL_ROOT_SHARES, moves_scatter, 1),
    ROW(alltoall, IDEAL_ALLTOALL, moves_alltoall, 1),
    ROW(alltoallv, IDEAL_ALLTOALL, moves_alltoall, 1),
    ROW(scan, IDEAL_SCAN, moves_scan, 1),
    ROW(exscan, IDEAL_SCAN, moves_exscan, 1),
    ROW(sendrecv, IDEAL_SENDRECV, moves_sendrecv, 2),
};

bool collectives_have_persistent(void)
{
    return HAVE_PERSISTENT;
}

bool collectives_cuda_aware(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return 0 != MPIX_Query_cuda_support();
#else
    return false;
#endif
}

static MPI_Datatype mpi_type(enum element_type_id type)
{
    const MPI_Datatype types[ELEMENT_TYPES] = {
        [ELEMENT_INT8] = MPI_INT8_T,   [ELEMENT_UINT8] = MPI_UINT8_T,
        [ELEMENT_INT16] = MPI_INT16_T, [ELEMENT_UINT16] = MPI_UINT16_T,
        [ELEMENT_INT32] = MPI_INT32_T, [ELEMENT_UINT32] = MPI_UINT32_T,
        [ELEMENT_INT64] = MPI_INT64_T, [ELEMENT_UINT64] = MPI_UINT64_T,
        [ELEMENT_FLOAT] = MPI_FLOAT,   [ELEMENT_DOUBLE] = MPI_DOUBLE,
    };

    return types[type];
}

static MPI_Op mpi_op(enum element_op op)
{
    const MPI_Op ops[ELEMENT_OPS] = {
        [ELEMENT_SUM] = MPI_SUM,   [ELEMENT_PROD] = MPI_PROD, [ELEMENT_MIN] = MPI_MIN,
        [ELEMENT_MAX] = MPI_MAX,   [ELEMENT_BAND] = MPI_BAND, [ELEMENT_BOR] = MPI_BOR,
        [ELEMENT_BXOR] = MPI_BXOR,
    };

    return ops[op];
}

int call_init(struct call *call, const struct collective *collective, const struct options *options,
              const struct shape *shape, const struct buffers *buffers)
{
    bool no_receive = shape->shared && shape->moves->flags & MOVES_NO_RECEIVE;
    int n = shape->ranks;

    *call = (struct call){.collective = collective, .form = options->form};
    call->counts = malloc(2 * (size_t)n * sizeof *call->counts);
    if (!collect_agree(NULL != call->counts)) {
        free(call->counts);
        call->counts = NULL;
        return -1;
    }
    for (int r = 0; r < n; r++) {
        call->counts[r] = (int)shape->block;
        call->counts[n + r] = r * (int)shape->block;
    }
    call->job = (struct job){
        .send = !shape->shared ? buffers->send : no_receive ? buffers->recv : MPI_IN_PLACE,
        .recv = no_receive ? MPI_IN_PLACE : buffers->recv,
        .count = (int)shape->block,
        .counts = call->counts,
        .displs = call->counts + n,
        .type = mpi_type(options->type),
        .op = mpi_op(options->op),
        .root = shape->root,
        .left = (shape->rank + n - 1) % n,
        .right = (shape->rank + 1) % n,
        .comm = MPI_COMM_WORLD,
    };
    if (FORM_PERSISTENT == call->form) {
        collective->persistent(&call->job, call->requests);
    }
    return 0;
}

void call_free(struct call *call)
{
    if (NULL != call->counts && FORM_PERSISTENT == call->form) {
        for (int i = 0; i < call->collective->requests; i++) {
            MPI_Request_free(&call->requests[i]);
        }
    }
    free(call->counts);
}

void call_run(struct call *call)
{
    const struct collective *c = call->collective;

    switch (call->form) {
    case FORM_BLOCKING:
        c->blocking(&call->job);
        return;
    case FORM_NONBLOCKING:
        c->nonblocking(&call->job, call->requests);
        break;
    case FORM_PERSISTENT:
        MPI_Startall(c->requests, call->requests);
        break;
    }
    MPI_Waitall(c->requests, call->requests, MPI_STATUSES_IGNORE);
}
