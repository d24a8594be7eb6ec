/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows and calls of collectives.h. */
#include "collectives.h"
#include "collect.h"

#include <stdlib.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

/*
 * Open MPI 5 says it is MPI 3.1 but has MPI-4's persistent collectives; 4.1 has the same functions
 * as an extension, with another prefix.
 */
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
#define PERSISTENT_FORM(name, Name, ...)                                     \
    static int name##_persistent(const struct job *j, MPI_Request *requests) \
    {                                                                        \
        return PERSISTENT(Name)(__VA_ARGS__, MPI_INFO_NULL, requests);       \
    }
#else
#define PERSISTENT_FORM(name, Name, ...)                                     \
    static int name##_persistent(const struct job *j, MPI_Request *requests) \
    {                                                                        \
        (void) j;                                                            \
        (void) requests;                                                     \
        return MPI_ERR_OTHER; /* supported_check() refuses the form */       \
    }
#endif

/* The three forms of one collective, which share their arguments. */
#define FORMS(name, Name, ...)                                                \
    static int name##_blocking(const struct job *j)                           \
    {                                                                         \
        return MPI_##Name(__VA_ARGS__);                                       \
    }                                                                         \
    static int name##_nonblocking(const struct job *j, MPI_Request *requests) \
    {                                                                         \
        return MPI_I##name(__VA_ARGS__, requests);                            \
    }                                                                         \
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
FORMS(scatterv, Scatterv, j->send, j->counts, j->displs, j->type, j->recv, j->count, j->type,
      j->root, j->comm)
FORMS(alltoall, Alltoall, j->send, j->count, j->type, j->recv, j->count, j->type, j->comm)
FORMS(alltoallv, Alltoallv, j->send, j->counts, j->displs, j->type, j->recv, j->counts, j->displs,
      j->type, j->comm)
FORMS(alltoallw, Alltoallw, j->send, j->counts, j->byte_displs, j->types, j->recv, j->counts,
      j->byte_displs, j->types, j->comm)
FORMS(scan, Scan, j->send, j->recv, j->count, j->type, j->op, j->comm)
FORMS(exscan, Exscan, j->send, j->recv, j->count, j->type, j->op, j->comm)
FORMS(barrier, Barrier, j->comm)

/* Along the ring that sendrecv goes, too. */
static const MPI_Aint at_begin[] = {0};

FORMS(neighbor_allgather, Neighbor_allgather, j->send, j->count, j->type, j->recv, j->count,
      j->type, j->ring)
FORMS(neighbor_allgatherv, Neighbor_allgatherv, j->send, j->count, j->type, j->recv, j->counts,
      j->displs, j->type, j->ring)
FORMS(neighbor_alltoall, Neighbor_alltoall, j->send, j->count, j->type, j->recv, j->count, j->type,
      j->ring)
FORMS(neighbor_alltoallv, Neighbor_alltoallv, j->send, j->counts, j->displs, j->type, j->recv,
      j->counts, j->displs, j->type, j->ring)
FORMS(neighbor_alltoallw, Neighbor_alltoallw, j->send, j->counts, at_begin, j->types, j->recv,
      j->counts, at_begin, j->types, j->ring)

enum { TAG = 0 };

static int sendrecv_blocking(const struct job *j)
{
    return MPI_Sendrecv(j->send, j->count, j->type, j->right, TAG, j->recv, j->count, j->type,
                        j->left, TAG, j->comm, MPI_STATUS_IGNORE);
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

#define ROW(row, its_kind, its_moves, ...)                                               \
    {                                                                                    \
        .name = #row, .kind = its_kind, .moves = &its_moves, .blocking = row##_blocking, \
        .nonblocking = row##_nonblocking, .persistent = row##_persistent, ##__VA_ARGS__  \
    }

const struct collective collectives[COLLECTIVES] = {
    ROW(allreduce, IDEAL_ALLREDUCE, moves_allreduce),
    ROW(allgather, IDEAL_SHARES, moves_allgather),
    ROW(allgatherv, IDEAL_SHARES, moves_allgather),
    ROW(reduce_scatter, IDEAL_SHARES, moves_reduce_scatter),
    ROW(reduce_scatter_block, IDEAL_SHARES, moves_reduce_scatter),
    ROW(bcast, IDEAL_ROOTED, moves_bcast),
    ROW(reduce, IDEAL_ROOTED, moves_reduce),
    ROW(gather, IDEAL_ROOT_SHARES, moves_gather),
    ROW(gatherv, IDEAL_ROOT_SHARES, moves_gather),
    ROW(scatter, IDEAL_ROOT_SHARES, moves_scatter),
    ROW(scatterv, IDEAL_ROOT_SHARES, moves_scatter),
    ROW(alltoall, IDEAL_ALLTOALL, moves_alltoall),
    ROW(alltoallv, IDEAL_ALLTOALL, moves_alltoall),
    ROW(alltoallw, IDEAL_ALLTOALL, moves_alltoall, .byte_displs = true),
    ROW(scan, IDEAL_SCAN, moves_scan),
    ROW(exscan, IDEAL_SCAN, moves_exscan),
    ROW(barrier, IDEAL_ROOTED, moves_barrier), /* its kind is not used: S is 0 */
    ROW(neighbor_allgather, IDEAL_SENDRECV, moves_sendrecv, .ring = true),
    ROW(neighbor_allgatherv, IDEAL_SENDRECV, moves_sendrecv, .ring = true),
    ROW(neighbor_alltoall, IDEAL_SENDRECV, moves_sendrecv, .ring = true),
    ROW(neighbor_alltoallv, IDEAL_SENDRECV, moves_sendrecv, .ring = true),
    ROW(neighbor_alltoallw, IDEAL_SENDRECV, moves_sendrecv, .ring = true),
    ROW(sendrecv, IDEAL_SENDRECV, moves_sendrecv, .messages = true),
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

/* An extension of Open MPI; MPICH has both types by itself. */
#if defined(MPIX_C_FLOAT16)
#define HALF MPIX_C_FLOAT16
#elif defined(MPIX_SHORT_FLOAT)
#define HALF MPIX_SHORT_FLOAT
#else
#define HALF MPI_DATATYPE_NULL
#endif
#if defined(MPIX_BFLOAT16)
#define BFLOAT16 MPIX_BFLOAT16
#elif defined(MPIX_C_BF16)
#define BFLOAT16 MPIX_C_BF16
#else
#define BFLOAT16 MPI_DATATYPE_NULL
#endif

static MPI_Datatype mpi_type(enum element_type_id type)
{
    const MPI_Datatype types[ELEMENT_TYPES] = {
        [ELEMENT_INT8] = MPI_INT8_T,   [ELEMENT_UINT8] = MPI_UINT8_T,
        [ELEMENT_INT16] = MPI_INT16_T, [ELEMENT_UINT16] = MPI_UINT16_T,
        [ELEMENT_INT32] = MPI_INT32_T, [ELEMENT_UINT32] = MPI_UINT32_T,
        [ELEMENT_INT64] = MPI_INT64_T, [ELEMENT_UINT64] = MPI_UINT64_T,
        [ELEMENT_HALF] = HALF,         [ELEMENT_BFLOAT16] = BFLOAT16,
        [ELEMENT_FLOAT] = MPI_FLOAT,   [ELEMENT_DOUBLE] = MPI_DOUBLE,
    };

    return types[type];
}

bool collectives_have_type(enum element_type_id type)
{
    return MPI_DATATYPE_NULL != mpi_type(type);
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

/* Each rank sends to the next one. Made by the first neighborhood collective, and kept. */
static MPI_Comm ring = MPI_COMM_NULL;

static MPI_Comm get_ring(int left, int right)
{
    const int weight = 1;

    if (MPI_COMM_NULL == ring) {
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight,
                                       MPI_INFO_NULL, 0, &ring);
    }
    return ring;
}

void collectives_end(void)
{
    if (MPI_COMM_NULL != ring) {
        MPI_Comm_free(&ring);
    }
}

static int requests_of(const struct collective *c)
{
    return c->messages ? 2 : 1;
}

/* The arguments of v-forms and w-forms. Returns 0, or -1 on every rank. */
static int fill_arrays(struct call *call, const struct options *options, const struct shape *shape)
{
    int n = shape->ranks, *displs, *byte_displs;
    MPI_Datatype *types = malloc((size_t) n * sizeof *types);

    call->types = types;
    call->counts = malloc(3 * (size_t) n * sizeof *call->counts);
    if (!collect_agree(NULL != call->counts && NULL != types)) {
        return -1;
    }
    displs = call->counts + n;
    byte_displs = displs + n;
    for (int r = 0; r < n; r++) {
        call->counts[r] = (int) shape->block;
        displs[r] = r * (int) shape->block;
        byte_displs[r] = call->collective->byte_displs ? displs[r] * (int) shape->element : 0;
        types[r] = mpi_type(options->type);
    }
    call->job = (struct job) {
        .counts = call->counts, .displs = displs, .byte_displs = byte_displs, .types = types};
    return 0;
}

int call_init(struct call *call, const struct collective *collective, const struct options *options,
              const struct shape *shape, const struct buffers *buffers)
{
    bool no_receive = shape->shared && shape->moves->flags & MOVES_NO_RECEIVE;
    int n = shape->ranks;
    struct job *job = &call->job;

    *call = (struct call) {.collective = collective, .form = options->form};
    if (0 != fill_arrays(call, options, shape)) {
        return -1;
    }
    job->send = !shape->shared ? buffers->send : no_receive ? buffers->recv : MPI_IN_PLACE;
    job->recv = no_receive ? MPI_IN_PLACE : buffers->recv;
    job->count = (int) shape->block;
    job->type = mpi_type(options->type);
    job->op = mpi_op(options->op);
    job->root = shape->root;
    job->left = (shape->rank + n - 1) % n;
    job->right = (shape->rank + 1) % n;
    job->comm = MPI_COMM_WORLD;
    job->ring = collective->ring ? get_ring(job->left, job->right) : MPI_COMM_NULL;
    if (FORM_PERSISTENT == call->form) {
        collective->persistent(job, call->requests);
        call->initialized = true;
    }
    return 0;
}

void call_free(struct call *call)
{
    if (call->initialized) {
        for (int i = 0; i < requests_of(call->collective); i++) {
            MPI_Request_free(&call->requests[i]);
        }
    }
    free(call->counts);
    free(call->types);
}

void call_run(struct call *call)
{
    const struct collective *c = call->collective;
    int n = requests_of(c);

    switch (call->form) {
    case FORM_BLOCKING:
        c->blocking(&call->job);
        return;
    case FORM_NONBLOCKING:
        c->nonblocking(&call->job, call->requests);
        break;
    case FORM_PERSISTENT:
        MPI_Startall(n, call->requests);
        break;
    }
    MPI_Waitall(n, call->requests, MPI_STATUSES_IGNORE);
}
