/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that do not match: mismatch [COUNT [same | wait]]. Rank 1 calls another collective than all
 * others, or the same one with another number of elements, or another root. Each pair of calls has
 * a communicator of its own. Every rank that needs the data of a rank whose call is another one
 * gets an error, and so do all later calls of all ranks. What is legal, though it looks alike, is
 * right: other types with the same signature, MPI_IN_PLACE on one rank.
 *
 * COUNT: elements of 4 bytes of the calls that match; rank 1 has 90 for each 100 of them.
 * same:  only pairs of the same collective.
 * wait:  only an allreduce, for which rank 1 has 10000 times as many elements: ranks wait for each
 *        other by other means, until a script kills them.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "quick.h"
#include "tap.h"

enum { GROUP_MOST = 9 }; /* more ranks have several mailboxes (sched/groups.h) */

enum call { BARRIER, BCAST, ALLREDUCE, REDUCE, ALLGATHER, SCATTER, ALLTOALL };

struct what {
    enum call call;
    int percent; /* of COUNT */
    int root;
};

struct pair {
    const char *name;
    struct what others, odd; /* of rank 1 */
    int error;               /* class of rank 1's error; 0: any */
    bool only_odd;           /* the others need no data of rank 1 */
    bool waits_in_groups;    /* ranks 0 and 1 wait for each other where not all share a mailbox */
};

static const struct pair pairs[] = {
    {"allreduce, barrier", {ALLREDUCE, 100, 0}, {BARRIER, 0, 0}, 0, false, false},
    {"barrier, allreduce", {BARRIER, 0, 0}, {ALLREDUCE, 100, 0}, 0, false, false},
    {"bcast, fewer", {BCAST, 100, 0}, {BCAST, 90, 0}, MPI_ERR_TRUNCATE, true, false},
    {"bcast, more", {BCAST, 90, 0}, {BCAST, 100, 0}, MPI_ERR_TRUNCATE, true, false},
    {"allreduce, fewer", {ALLREDUCE, 100, 0}, {ALLREDUCE, 90, 0}, MPI_ERR_TRUNCATE, false, false},
    {"allgather, fewer", {ALLGATHER, 100, 0}, {ALLGATHER, 90, 0}, MPI_ERR_TRUNCATE, false, false},
    {"alltoall, fewer", {ALLTOALL, 100, 0}, {ALLTOALL, 90, 0}, MPI_ERR_TRUNCATE, false, false},
    {"reduce_scatter, fewer", {SCATTER, 100, 0}, {SCATTER, 90, 0}, MPI_ERR_TRUNCATE, false, false},
    {"allreduce, reduce", {ALLREDUCE, 100, 0}, {REDUCE, 100, 1}, 0, false, false},
    {"allreduce, bcast", {ALLREDUCE, 100, 0}, {BCAST, 100, 0}, 0, false, true},
};
#define PAIRS (sizeof pairs / sizeof pairs[0])

struct buffers {
    int *in, *out;
    int count;
};

static int start(const struct what *w, const struct buffers *b, MPI_Comm comm, bool blocking,
                 MPI_Request *request)
{
    int n = b->count * w->percent / 100, rc = MPI_SUCCESS;

    *request = MPI_REQUEST_NULL;
    switch (w->call) {
    case BARRIER:
        rc = blocking ? MPI_Barrier(comm) : MPI_Ibarrier(comm, request);
        break;
    case BCAST:
        rc = blocking ? MPI_Bcast(b->in, n, MPI_INT, w->root, comm)
                      : MPI_Ibcast(b->in, n, MPI_INT, w->root, comm, request);
        break;
    case ALLREDUCE:
        rc = blocking ? MPI_Allreduce(b->in, b->out, n, MPI_INT, MPI_SUM, comm)
                      : MPI_Iallreduce(b->in, b->out, n, MPI_INT, MPI_SUM, comm, request);
        break;
    case REDUCE:
        rc = blocking ? MPI_Reduce(b->in, b->out, n, MPI_INT, MPI_SUM, w->root, comm)
                      : MPI_Ireduce(b->in, b->out, n, MPI_INT, MPI_SUM, w->root, comm, request);
        break;
    case ALLGATHER:
        rc = blocking ? MPI_Allgather(b->in, n, MPI_INT, b->out, n, MPI_INT, comm)
                      : MPI_Iallgather(b->in, n, MPI_INT, b->out, n, MPI_INT, comm, request);
        break;
    case SCATTER:
        rc = blocking
                 ? MPI_Reduce_scatter_block(b->in, b->out, n, MPI_INT, MPI_SUM, comm)
                 : MPI_Ireduce_scatter_block(b->in, b->out, n, MPI_INT, MPI_SUM, comm, request);
        break;
    default:
        rc = blocking ? MPI_Alltoall(b->in, n, MPI_INT, b->out, n, MPI_INT, comm)
                      : MPI_Ialltoall(b->in, n, MPI_INT, b->out, n, MPI_INT, comm, request);
    }
    return rc;
}

/* The class of the call's error, or MPI_SUCCESS. */
static int do_call(const struct what *w, const struct buffers *b, MPI_Comm comm, bool blocking)
{
    MPI_Request request;
    int rc = start(w, b, comm, blocking, &request), class;

    if (MPI_SUCCESS == rc && MPI_REQUEST_NULL != request) {
        rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Error_class(rc, &class);
    return class;
}

/* Calls of both kinds, by all ranks, often enough that they are cached (mpi/call_cache.h). */
static bool do_both(const struct pair *pair, const struct buffers *b, MPI_Comm comm, bool blocking)
{
    bool good = true;

    for (int k = 0; k < 6; k++) {
        good =
            MPI_SUCCESS == do_call(k < 3 ? &pair->others : &pair->odd, b, comm, blocking) && good;
    }
    return good;
}

static void do_pair(const struct pair *pair, const struct buffers *b, bool blocking)
{
    static const struct what good = {ALLREDUCE, 100, 0};
    const char *form = blocking ? "" : ", nonblocking";
    bool odd = 1 == test_rank;
    int class, again;
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, pair->name);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    class = do_call(&good, b, comm, blocking);
    tap_check(MPI_SUCCESS == class && do_both(pair, b, comm, blocking),
              "%s%s: before that, all is right", pair->name, form);
    class = do_call(odd ? &pair->odd : &pair->others, b, comm, blocking);
    tap_check(MPI_SUCCESS != class || (pair->only_odd && !odd),
              "%s%s: ranks that need the data get an error", pair->name, form);
    tap_check(!odd || 0 == pair->error || pair->error == class,
              "%s%s: its class is that of truncated messages", pair->name, form);
    again = do_call(&good, b, comm, blocking);
    tap_check(MPI_SUCCESS != again, "%s%s: so do later calls of all ranks", pair->name, form);
    MPI_Comm_free(&comm);
}

/* Signatures are equal, counts are not; rank 1 reduces in place. */
static void do_legal(const struct buffers *b)
{
    int n = b->count / 2 * 2, sum = test_size * (test_size - 1) / 2;
    bool odd = 1 == test_rank, right = true;
    MPI_Datatype two;

    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    for (int i = 0; i < n; i++) {
        b->in[i] = 0 == test_rank ? i : -1;
    }
    MPI_Bcast(b->in, odd ? n / 2 : n, odd ? two : MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        right = right && i == b->in[i];
        b->in[i] = b->out[i] = test_rank;
    }
    tap_check(right, "a bcast with another type of the same signature is right");
    MPI_Allreduce(odd ? MPI_IN_PLACE : b->in, b->out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        right = right && sum == b->out[i];
    }
    tap_check(right, "an allreduce that is in place on one rank is right");
    MPI_Allgather(b->in, odd ? n / 2 : n, odd ? two : MPI_INT, b->out, odd ? n : n / 2,
                  odd ? MPI_INT : two, MPI_COMM_WORLD);
    for (int i = 0; i < n * test_size; i++) {
        right = right && i / n == b->out[i];
    }
    tap_check(right, "an allgather with types of the same signature is right");
    MPI_Type_free(&two);
}

int main(int argc, char **argv)
{
    bool same, waits;
    struct buffers b;
    size_t bytes;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    b.count = argc > 1 ? atoi(argv[1]) : 100;
    same = argc > 2 && 0 == strcmp(argv[2], "same");
    waits = argc > 2 && 0 == strcmp(argv[2], "wait");
    if (waits && 1 == test_rank) {
        b.count *= 10000;
    }
    bytes = (size_t) b.count * (size_t) test_size * sizeof(int);
    b.in = calloc(1, bytes);
    b.out = calloc(1, bytes);
    if (NULL == b.in || NULL == b.out) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (waits) {
        MPI_Allreduce(b.in, b.out, b.count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    do_legal(&b);
    /* MPI_Wait takes the errors of requests to MPI_COMM_WORLD */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (size_t k = 0; k < PAIRS; k++) {
        if ((pairs[k].waits_in_groups && test_size > GROUP_MOST) ||
            (same && pairs[k].others.call != pairs[k].odd.call)) {
            continue;
        }
        do_pair(&pairs[k], &b, true);
        do_pair(&pairs[k], &b, false);
    }
    free(b.in);
    free(b.out);
    return test_end();
}
