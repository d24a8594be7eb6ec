/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs and expected results of the self-checking collectives (quick.h). */
#include "quick.h"

#include <stdlib.h>
#include <time.h>

#include "rng.h"
#include "tap.h"

struct call {
    MPI_Comm comm;
    int rank, size, root, count;
    uint32_t salt;
    uint32_t *in, *out; /* room for size blocks of count + 2 each */
    int *counts, *displs;
    int total;
};

static uint32_t value(const struct call *c, int rank, int i)
{
    return (uint32_t) rank * 2654435761u + (uint32_t) i * 40503u + c->salt * 97u + 1u;
}

/* Sum of the ranks' elements i; it wraps, as the collective's does. */
static uint32_t sum(const struct call *c, int ranks, int i)
{
    uint32_t s = 0;

    for (int r = 0; r < ranks; r++) {
        s += value(c, r, i);
    }
    return s;
}

static struct call begin(MPI_Comm comm, int count, uint64_t salt)
{
    struct call c = {.comm = comm, .count = count, .salt = (uint32_t) salt};
    size_t room;

    MPI_Comm_rank(comm, &c.rank);
    MPI_Comm_size(comm, &c.size);
    c.root = (int) (salt % (uint64_t) c.size);
    room = (size_t) c.size * (size_t) (count + 2);
    c.in = malloc(2 * room * sizeof *c.in);
    c.out = c.in + room;
    c.counts = malloc(2 * (size_t) c.size * sizeof *c.counts);
    c.displs = c.counts + c.size;
    for (size_t i = 0; i < room; i++) {
        c.in[i] = value(&c, c.rank, (int) i);
        c.out[i] = 0xdeadbeef;
    }
    for (int r = 0; r < c.size; r++) {
        c.counts[r] = count + r % 3;
        c.displs[r] = c.total;
        c.total += c.counts[r];
    }
    return c;
}

static bool end(struct call *c, const char *name, int wrong)
{
    if (wrong >= 0) {
        tap_fault("%s, count %d, salt %u, rank %d of %d: element %d is wrong", name, c->count,
                  (unsigned) c->salt, c->rank, c->size, wrong);
    }
    free(c->in);
    free(c->counts);
    return wrong < 0;
}

/* Each returns the first of n wrong elements, or -1. */
static int check_sums(const struct call *c, int ranks, int n, int first)
{
    for (int i = 0; i < n; i++) {
        if (c->out[i] != sum(c, ranks, first + i)) {
            return i;
        }
    }
    return -1;
}

/* n elements at displacement `at` of the output are `from`'s elements, starting at its `first`. */
static int check_block(const struct call *c, int at, int from, int first, int n)
{
    for (int i = 0; i < n; i++) {
        if (c->out[at + i] != value(c, from, first + i)) {
            return at + i;
        }
    }
    return -1;
}

static int check_blocks(const struct call *c, const int *counts)
{
    int at = 0, wrong = -1;

    for (int r = 0; r < c->size && wrong < 0; r++) {
        int n = counts ? counts[r] : c->count;

        wrong = check_block(c, at, r, 0, n);
        at += n;
    }
    return wrong;
}

static void bcast_prepare(struct call *c)
{
    for (int i = 0; i < c->count && c->rank == c->root; i++) {
        c->out[i] = value(c, c->root, i);
    }
}

static int check_alltoall(const struct call *c)
{
    int wrong = -1;

    for (int r = 0; r < c->size && wrong < 0; r++) {
        wrong = check_block(c, r * c->count, r, c->rank * c->count, c->count);
    }
    return wrong;
}

bool quick_call(MPI_Comm comm, enum coll coll, int count, uint64_t salt)
{
    static const char *const names[] = {
        "allreduce", "allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block",
        "bcast",     "reduce",    "alltoall"};
    struct call c = begin(comm, count, salt);
    MPI_Datatype t = MPI_UINT32_T;
    int wrong = -1;

    switch (coll) {
    case COLL_ALLREDUCE:
        MPI_Allreduce(c.in, c.out, count, t, MPI_SUM, comm);
        wrong = check_sums(&c, c.size, count, 0);
        break;
    case COLL_ALLGATHER:
        MPI_Allgather(c.in, count, t, c.out, count, t, comm);
        wrong = check_blocks(&c, NULL);
        break;
    case COLL_ALLGATHERV:
        MPI_Allgatherv(c.in, c.counts[c.rank], t, c.out, c.counts, c.displs, t, comm);
        wrong = check_blocks(&c, c.counts);
        break;
    case COLL_REDUCE_SCATTER:
        MPI_Reduce_scatter(c.in, c.out, c.counts, t, MPI_SUM, comm);
        wrong = check_sums(&c, c.size, c.counts[c.rank], c.displs[c.rank]);
        break;
    case COLL_REDUCE_SCATTER_BLOCK:
        MPI_Reduce_scatter_block(c.in, c.out, count, t, MPI_SUM, comm);
        wrong = check_sums(&c, c.size, count, c.rank * count);
        break;
    case COLL_BCAST:
        bcast_prepare(&c);
        MPI_Bcast(c.out, count, t, c.root, comm);
        wrong = check_block(&c, 0, c.root, 0, count);
        break;
    case COLL_REDUCE:
        MPI_Reduce(c.in, c.out, count, t, MPI_SUM, c.root, comm);
        wrong = c.rank == c.root ? check_sums(&c, c.size, count, 0) : -1;
        break;
    case COLL_ALLTOALL:
        MPI_Alltoall(c.in, count, t, c.out, count, t, comm);
        wrong = check_alltoall(&c);
        break;
    default:
        abort();
    }
    return end(&c, names[coll], wrong);
}

/* The v-form, with blocks of one size. */
static void alltoallv(struct call *c)
{
    for (int r = 0; r < c->size; r++) {
        c->counts[r] = c->count;
        c->displs[r] = r * c->count;
    }
    MPI_Alltoallv(c->in, c->counts, c->displs, MPI_UINT32_T, c->out, c->counts, c->displs,
                  MPI_UINT32_T, c->comm);
}

bool quick_other(MPI_Comm comm, enum other other, int count, uint64_t salt)
{
    static const char *const names[] = {"barrier", "alltoallv",  "gather",    "scan",
                                        "ibcast",  "iallreduce", "iallgather"};
    struct call c = begin(comm, count, salt);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype t = MPI_UINT32_T;
    int wrong = -1;

    switch (other) {
    case OTHER_BARRIER:
        MPI_Barrier(comm);
        break;
    case OTHER_ALLTOALLV:
        alltoallv(&c);
        break;
    case OTHER_GATHER:
        MPI_Gather(c.in, count, t, c.out, count, t, c.root, comm);
        break;
    case OTHER_SCAN:
        MPI_Scan(c.in, c.out, count, t, MPI_SUM, comm);
        break;
    case OTHER_IBCAST:
        bcast_prepare(&c);
        MPI_Ibcast(c.out, count, t, c.root, comm, &request);
        break;
    case OTHER_IALLREDUCE:
        MPI_Iallreduce(c.in, c.out, count, t, MPI_SUM, comm, &request);
        break;
    case OTHER_IALLGATHER:
        MPI_Iallgather(c.in, count, t, c.out, count, t, comm, &request);
        break;
    default:
        abort();
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    switch (other) {
    case OTHER_ALLTOALLV:
        wrong = check_alltoall(&c);
        break;
    case OTHER_GATHER:
        wrong = c.rank == c.root ? check_blocks(&c, NULL) : -1;
        break;
    case OTHER_SCAN:
        wrong = check_sums(&c, c.rank + 1, count, 0);
        break;
    case OTHER_IBCAST:
        wrong = check_block(&c, 0, c.root, 0, count);
        break;
    case OTHER_IALLREDUCE:
        wrong = check_sums(&c, c.size, count, 0);
        break;
    case OTHER_IALLGATHER:
        wrong = check_blocks(&c, NULL);
        break;
    default:
        break;
    }
    return end(&c, names[other], wrong);
}

void quick_sleep(int us)
{
    struct timespec t = {us / 1000000, 1000l * (us % 1000000)};

    nanosleep(&t, NULL);
}

void quick_delay(uint64_t *rng, int max_us)
{
    if (0 == rng_below(rng, 3)) {
        quick_sleep(rng_below(rng, max_us));
    }
}
