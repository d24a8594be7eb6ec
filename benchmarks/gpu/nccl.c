/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of nccl.h.
 *
 * One host thread runs all ranks of a process: their calls are one group, as NCCL demands where one
 * thread has several ranks. The declarations are those of nccl.h since 2.18, as far as they are
 * used.
 */
#include "nccl.h"

#include "common/options.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if GR_HAVE_CUDA
#include "cuda/context.h"
#endif

enum { LEAST_VERSION = 23003, ID_BYTES = 128, VERSION_CHARS = 32 };

typedef int result_t; /* 0: success */
typedef void *comm_t, *stream_t;
typedef struct {
    char internal[ID_BYTES];
} id_t_;

/* X(function, arguments) */
#define FUNCTIONS(X)                                                                              \
    X(ncclGetVersion, (int *version))                                                             \
    X(ncclGetUniqueId, (id_t_ * id))                                                              \
    X(ncclCommInitRank, (comm_t * comm, int ranks, id_t_ id, int rank))                           \
    X(ncclCommDestroy, (comm_t comm))                                                             \
    X(ncclGroupStart, (void) )                                                                    \
    X(ncclGroupEnd, (void) )                                                                      \
    X(ncclAllReduce,                                                                              \
      (const void *send, void *recv, size_t n, int type, int op, comm_t comm, stream_t stream))   \
    X(ncclAllGather,                                                                              \
      (const void *send, void *recv, size_t n, int type, comm_t comm, stream_t stream))           \
    X(ncclReduceScatter,                                                                          \
      (const void *send, void *recv, size_t n, int type, int op, comm_t comm, stream_t stream))   \
    X(ncclBroadcast,                                                                              \
      (const void *send, void *recv, size_t n, int type, int root, comm_t comm, stream_t stream)) \
    X(ncclReduce, (const void *send, void *recv, size_t n, int type, int op, int root,            \
                   comm_t comm, stream_t stream))

struct functions {
#define MEMBER(name, arguments) result_t(*name) arguments;
    FUNCTIONS(MEMBER)
    const char *(*ncclGetLastError)(comm_t comm);
};

static const struct {
    const char *name;
    size_t at;
} names[] = {
#define ROW(name, arguments) {#name, offsetof(struct functions, name)},
    FUNCTIONS(ROW) {"ncclGetLastError", offsetof(struct functions, ncclGetLastError)},
};

/* There is one communicator at a time. */
static struct nccl {
    struct functions f;
    struct crew *crew;
    char version[VERSION_CHARS];
    comm_t comm[CREW_RANKS]; /* [crew->n] */
} the_nccl;

static const struct {
    int known, type;
} types[ELEMENT_TYPES] = {
    [ELEMENT_INT8] = {1, 0},   [ELEMENT_UINT8] = {1, 1},    [ELEMENT_INT32] = {1, 2},
    [ELEMENT_UINT32] = {1, 3}, [ELEMENT_INT64] = {1, 4},    [ELEMENT_UINT64] = {1, 5},
    [ELEMENT_HALF] = {1, 6},   [ELEMENT_BFLOAT16] = {1, 9}, [ELEMENT_FLOAT] = {1, 7},
    [ELEMENT_DOUBLE] = {1, 8},
};

static const int ops[] = {
    [ELEMENT_SUM] = 0, [ELEMENT_PROD] = 1, [ELEMENT_MAX] = 2, [ELEMENT_MIN] = 3};

int nccl_has(enum element_type_id type)
{
    return types[type].known;
}

const char *nccl_version(const struct nccl *nccl)
{
    return nccl->version;
}

static int complain(const struct nccl *nccl, const char *what, char *error)
{
    const char *why = nccl->f.ncclGetLastError(NULL);

    snprintf(error, CLI_ERROR_CHARS, "NCCL %s: %s: %.300s", nccl->version, what,
             NULL != why && '\0' != why[0] ? why : "NCCL_DEBUG=WARN says why");
    return -1;
}

/* ---- opening ---- */

static int load(struct nccl *nccl, const char *library, char *error)
{
    /* never closed: it has threads of its own */
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; NULL != handle && i < sizeof names / sizeof names[0]; i++) {
        void *function = dlsym(handle, names[i].name);
        if (NULL == function) {
            handle = NULL;
        }
        memcpy((char *) &nccl->f + names[i].at, &function, sizeof function);
    }
    if (NULL == handle) {
        snprintf(error, CLI_ERROR_CHARS, "--nccl: %.400s", dlerror());
        return -1;
    }
    return 0;
}

static int check_version(struct nccl *nccl, const char *library, char *error)
{
    int code = 0;

    if (0 != nccl->f.ncclGetVersion(&code)) {
        return complain(nccl, "ncclGetVersion", error);
    }
    snprintf(nccl->version, sizeof nccl->version, "%d.%d.%d", code / 10000, code / 100 % 100,
             code % 100);
    if (code < LEAST_VERSION) {
        snprintf(
            error, CLI_ERROR_CHARS,
            "--nccl: %.300s is NCCL %s, which takes one rank per device; several: 2.30.3 or newer",
            library, nccl->version);
        return -1;
    }
    return 0;
}

static void set_environment(uint32_t channels)
{
    char text[16];

    snprintf(text, sizeof text, "%u", channels);
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
    setenv("NCCL_MIN_CTAS", text, 1);
    setenv("NCCL_MAX_CTAS", text, 1);
}

/* The id that the first rank makes; 0 everywhere, or -1 everywhere. */
static int share_id(struct nccl *nccl, int rc, id_t_ *id, char *error)
{
    struct crew *crew = nccl->crew;
    id_t_ mine[CREW_RANKS], all[CREW_RANKS];

    memset(mine, 0, sizeof mine);
    if (0 == rc && 0 == crew->first && 0 != nccl->f.ncclGetUniqueId(&mine[0])) {
        rc = complain(nccl, "ncclGetUniqueId", error);
    }
    crew_tell(crew, mine, all, sizeof mine[0]);
    *id = all[0];
    return 0 == crew_max(crew, 0 != rc) ? 0 : -1;
}

static int join(struct nccl *nccl, const id_t_ *id, char *error)
{
    struct crew *crew = nccl->crew;
    result_t bad = nccl->f.ncclGroupStart();

    for (int i = 0; i < crew->n; i++) {
        result_t result =
            nccl->f.ncclCommInitRank(&nccl->comm[i], crew->ranks, *id, crew->first + i);
        bad = 0 != bad ? bad : result;
    }
    result_t result = nccl->f.ncclGroupEnd();
    return 0 == bad && 0 == result ? 0 : complain(nccl, "ncclCommInitRank", error);
}

_Static_assert((int) ID_BYTES <= (int) CREW_BYTES, "ranks tell each other an id");

struct nccl *nccl_open(const char *library, struct crew *crew, uint32_t channels, char *error)
{
    struct nccl *nccl = &the_nccl;
    id_t_ id;
    int rc;

    nccl->crew = crew;
    set_environment(channels);
    rc = load(nccl, library, error);
    rc = 0 == rc ? check_version(nccl, library, error) : rc;
    rc = share_id(nccl, rc, &id, error);
    rc = 0 == rc ? join(nccl, &id, error) : rc;
    /* where that failed without ncclCommDestroy(): the program ends */
    return 0 == crew_max(crew, 0 != rc) ? nccl : NULL;
}

void nccl_close(struct nccl *nccl)
{
    if (NULL == nccl) {
        return;
    }
    nccl->f.ncclGroupStart();
    for (int i = 0; i < nccl->crew->n; i++) {
        nccl->f.ncclCommDestroy(nccl->comm[i]);
    }
    nccl->f.ncclGroupEnd();
}

/* ---- calls ---- */

static stream_t handle_of(const struct gr_gpu_stream *stream)
{
#if GR_HAVE_CUDA
    return stream->stream;
#else
    (void) stream;
    return NULL;
#endif
}

static result_t put(const struct nccl *nccl, const struct nccl_call *call, comm_t comm,
                    stream_t stream)
{
    const struct functions *f = &nccl->f;
    const struct shape *s = call->shape;
    char *recv = call->buffers->recv;
    const char *send = s->shared ? recv + s->in_at * s->element : call->buffers->send;
    size_t n = s->block;
    int type = types[call->type].type, op = ops[call->op];

    switch (call->coll) {
    case GR_COLL_ALLREDUCE:
        return f->ncclAllReduce(send, recv, n, type, op, comm, stream);
    case GR_COLL_ALLGATHER:
        return f->ncclAllGather(send, recv, n, type, comm, stream);
    case GR_COLL_REDUCE_SCATTER:
        return f->ncclReduceScatter(send, recv, n, type, op, comm, stream);
    case GR_COLL_BCAST:
        return f->ncclBroadcast(recv, recv, n, type, s->root, comm, stream);
    case GR_COLL_REDUCE:
        return f->ncclReduce(send, recv, n, type, op, s->root, comm, stream);
    case GR_COLL_ALLTOALL: /* NCCL has it from 2.28 on, gpuring_gpu does not ask for it */
    case GR_COLL_BARRIER:
    case GR_NCOLLS:
        break;
    }
    return -1;
}

int nccl_start(struct nccl *nccl, const struct nccl_call *calls,
               struct gr_gpu_stream *const *streams, char *error)
{
    result_t bad = nccl->f.ncclGroupStart();

    for (int i = 0; i < nccl->crew->n; i++) {
        result_t result = put(nccl, &calls[i], nccl->comm[i], handle_of(streams[i]));
        bad = 0 != bad ? bad : result;
    }
    result_t result = nccl->f.ncclGroupEnd();
    return 0 == bad && 0 == result ? 0 : complain(nccl, "the call", error);
}
