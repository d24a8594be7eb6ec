/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libnccl.so.2 for machines without a GPU: the calls that benchmarks/gpu/nccl.c makes, done by the
 * host on the fake driver when the group ends, over a file that the ranks' processes share:
 *
 *      [joined][arrived][gone] [what rank 0 gave] [what rank 1 gave] ...       each gives, waits for all, combines
 *
 * As strict as its user should be: it joins several ranks only where NCCL_MULTI_RANK_GPU_ENABLE is
 * 1 and the number of blocks is bounded, both ways alike. Environment: FAKENCCL_VERSION (23003);
 * FAKENCCL_WRONG=1: the first byte of rank 0's output is wrong; FAKENCCL_SLEEP: microseconds that
 * each group takes longer.
 */
#include <cuda.h>

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS, BAD_CUDA, BAD_SYSTEM, BAD_INTERNAL, BAD_ARGUMENT, BAD_USAGE };
enum { ID_BYTES = 128, QUEUE = 64, HEAD = 4096 };
enum coll { ALLREDUCE, ALLGATHER, REDUCE_SCATTER, BROADCAST, REDUCE };
/* for what a rank gives; pages that nobody touches cost nothing */
static const size_t room = (size_t) 64 << 20;

typedef struct {
    char internal[ID_BYTES];
} ncclUniqueId;

struct shared {
    _Atomic int joined;
    _Atomic long arrived, gone;
};

typedef struct ncclComm {
    struct shared *shared;
    int ranks, rank;
    long calls;
} * ncclComm_t;

struct op {
    enum coll coll;
    const void *send;
    void *recv;
    size_t n;
    int type, op, root;
    ncclComm_t comm;
    CUstream stream;
};

static struct op queue[QUEUE];
static int queued, depth;
static char last_error[256];

static int fail(int result, const char *why)
{
    snprintf(last_error, sizeof last_error, "%s", why);
    return result;
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void) comm;
    return last_error;
}

int ncclGetVersion(int *version)
{
    const char *text = getenv("FAKENCCL_VERSION");

    *version = NULL != text ? atoi(text) : 23003;
    return SUCCESS;
}

int ncclGetUniqueId(ncclUniqueId *id)
{
    const char *folder = getenv("TMPDIR");
    int fd;

    snprintf(id->internal, sizeof id->internal, "%.100s/fake_nccl.XXXXXX",
             NULL != folder ? folder : "/tmp");
    fd = mkstemp(id->internal);
    if (fd < 0) {
        return fail(BAD_SYSTEM, "no file to share");
    }
    close(fd);
    return SUCCESS;
}

static int allowed(void)
{
    const char *many = getenv("NCCL_MULTI_RANK_GPU_ENABLE"), *least = getenv("NCCL_MIN_CTAS"),
               *most = getenv("NCCL_MAX_CTAS");

    return NULL != many && 0 == strcmp(many, "1") && NULL != least && NULL != most &&
           0 == strcmp(least, most);
}

int ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    size_t bytes = HEAD + (size_t) ranks * room;
    int fd = open(id.internal, O_RDWR);
    struct shared *shared = MAP_FAILED;

    if (ranks > 1 && !allowed()) {
        return fail(BAD_USAGE,
                    "several ranks on a device, and nobody allowed it or bounded the blocks");
    }
    if (fd >= 0 && 0 == ftruncate(fd, (off_t) bytes)) {
        shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (MAP_FAILED == shared) {
        return fail(BAD_SYSTEM, "cannot share memory");
    }
    close(fd);
    if (atomic_fetch_add(&shared->joined, 1) + 1 == ranks) {
        unlink(id.internal);
    }
    *comm = malloc(sizeof **comm);
    **comm = (struct ncclComm) {shared, ranks, rank, 0};
    return SUCCESS;
}

int ncclCommDestroy(ncclComm_t comm)
{
    munmap(comm->shared, HEAD + (size_t) comm->ranks * room);
    free(comm);
    return SUCCESS;
}

/* ---- what is done when a group ends ---- */

static size_t size_of(int type)
{
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

    return sizes[type];
}

static char *given(const struct op *op, int rank)
{
    return (char *) op->comm->shared + HEAD + (size_t) rank * room;
}

static void wait_until(_Atomic long *counter, long value)
{
    while (atomic_load(counter) < value) {
        sched_yield();
    }
}

#define COMBINE(type)                                \
    for (size_t i = 0; i < n; i++) {                 \
        type *a = (type *) into + i;                 \
        type b = ((const type *) from)[i];           \
        *a = (type) (0 == op   ? *a + b              \
                     : 1 == op ? *a * b              \
                     : 2 == op ? (*a > b ? *a : b)   \
                               : (*a < b ? *a : b)); \
    }

static void combine(void *into, const void *from, size_t n, int type, int op)
{
    switch (type) {
    case 0:
        COMBINE(int8_t) break;
    case 1:
        COMBINE(uint8_t) break;
    case 2:
        COMBINE(int32_t) break;
    case 3:
        COMBINE(uint32_t) break;
    case 4:
        COMBINE(int64_t) break;
    case 5:
        COMBINE(uint64_t) break;
    case 7:
        COMBINE(float) break;
    case 8:
        COMBINE(double) break;
    default:
        abort();
    }
}

/* Elements that a rank gives to all. */
static size_t gives(const struct op *op)
{
    if (BROADCAST == op->coll && op->root != op->comm->rank) {
        return 0;
    }
    return REDUCE_SCATTER == op->coll ? op->n * (size_t) op->comm->ranks : op->n;
}

static int give(struct op *op)
{
    struct ncclComm *c = op->comm;
    size_t bytes = gives(op) * size_of(op->type);

    if (bytes > room) {
        return fail(BAD_ARGUMENT, "more than 64 MiB: too much for the fake library");
    }
    wait_until(&c->shared->gone, c->calls * c->ranks);
    c->calls++;
    if (CUDA_SUCCESS != cuStreamSynchronize(op->stream) ||
        (bytes > 0 && CUDA_SUCCESS != cuMemcpyDtoH(given(op, c->rank),
                                                   (CUdeviceptr) (uintptr_t) op->send, bytes))) {
        return fail(BAD_CUDA, "cannot read what to send");
    }
    atomic_fetch_add(&c->shared->arrived, 1);
    return SUCCESS;
}

/* The output in ordinary memory; its size in bytes. */
static char *work_out(const struct op *op, size_t *bytes)
{
    struct ncclComm *c = op->comm;
    size_t each = op->n * size_of(op->type),
           at = REDUCE_SCATTER == op->coll ? (size_t) c->rank * each : 0;
    char *out;

    *bytes = ALLGATHER == op->coll ? each * (size_t) c->ranks : each;
    out = malloc(*bytes + 1);
    if (BROADCAST == op->coll) {
        memcpy(out, given(op, op->root), each);
    } else if (ALLGATHER == op->coll) {
        for (int r = 0; r < c->ranks; r++) {
            memcpy(out + (size_t) r * each, given(op, r), each);
        }
    } else {
        memcpy(out, given(op, 0) + at, each);
        for (int r = 1; r < c->ranks; r++) {
            combine(out, given(op, r) + at, op->n, op->type, op->op);
        }
    }
    return out;
}

static int take(struct op *op)
{
    struct ncclComm *c = op->comm;
    CUresult result = CUDA_SUCCESS;
    size_t bytes;
    char *out;

    wait_until(&c->shared->arrived, c->calls * c->ranks);
    out = work_out(op, &bytes);
    if (NULL != getenv("FAKENCCL_WRONG") && 0 == c->rank) {
        out[0] ^= 1;
    }
    if (bytes > 0 && (REDUCE != op->coll || op->root == c->rank)) {
        result = cuMemcpyHtoD((CUdeviceptr) (uintptr_t) op->recv, out, bytes);
        result = CUDA_SUCCESS == result ? cuStreamSynchronize(NULL) : result;
    }
    free(out);
    atomic_fetch_add(&c->shared->gone, 1);
    return CUDA_SUCCESS == result ? SUCCESS : fail(BAD_CUDA, "cannot write what was received");
}

int ncclGroupStart(void)
{
    depth++;
    return SUCCESS;
}

int ncclGroupEnd(void)
{
    const char *sleep = getenv("FAKENCCL_SLEEP");
    int rc = SUCCESS;

    if (--depth > 0) {
        return SUCCESS;
    }
    for (int i = 0; SUCCESS == rc && i < queued; i++) {
        rc = give(&queue[i]);
    }
    for (int i = 0; SUCCESS == rc && i < queued; i++) {
        rc = take(&queue[i]);
    }
    if (NULL != sleep && queued > 0) {
        usleep((useconds_t) atoi(sleep));
    }
    queued = 0;
    return rc;
}

/* A call outside of groups is a group of its own. */
static int put(struct op op)
{
    if (QUEUE == queued) {
        return fail(BAD_ARGUMENT, "too many calls in a group");
    }
    depth++;
    queue[queued++] = op;
    return ncclGroupEnd();
}

int ncclAllReduce(const void *send, void *recv, size_t n, int type, int op, ncclComm_t comm,
                  CUstream stream)
{
    return put((struct op) {ALLREDUCE, send, recv, n, type, op, 0, comm, stream});
}

int ncclAllGather(const void *send, void *recv, size_t n, int type, ncclComm_t comm,
                  CUstream stream)
{
    return put((struct op) {ALLGATHER, send, recv, n, type, 0, 0, comm, stream});
}

int ncclReduceScatter(const void *send, void *recv, size_t n, int type, int op, ncclComm_t comm,
                      CUstream stream)
{
    return put((struct op) {REDUCE_SCATTER, send, recv, n, type, op, 0, comm, stream});
}

int ncclBroadcast(const void *send, void *recv, size_t n, int type, int root, ncclComm_t comm,
                  CUstream stream)
{
    return put((struct op) {BROADCAST, send, recv, n, type, 0, root, comm, stream});
}

int ncclReduce(const void *send, void *recv, size_t n, int type, int op, int root, ncclComm_t comm,
               CUstream stream)
{
    return put((struct op) {REDUCE, send, recv, n, type, op, root, comm, stream});
}
