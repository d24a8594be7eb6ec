/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First calls, which set up links, beside other communication: communicators that overlap in some
 * ranks and are first used one after the other; pending point-to-point messages on the same
 * communicator; nonblocking collectives posted before the first blocking call and completed after
 * it. Needs 4 ranks for the overlaps.
 */
#include <mpi.h>
#include <stdlib.h>

#include "quick.h"
#include "rng.h"
#include "tap.h"

#define BIG 50000 /* integers: more than is sent eagerly */

static uint64_t calls, delays;

/* The communicator of ranks first ... first + n - 1, MPI_COMM_NULL elsewhere. */
static MPI_Comm range_comm(int first, int n, int tag)
{
    MPI_Group world, some;
    MPI_Comm c = MPI_COMM_NULL;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, (int[1][3]) {{first, first + n - 1, 1}}, &some);
    if (test_rank >= first && test_rank < first + n) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, tag, &c);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&world);
    return c;
}

static void free_comm(MPI_Comm *c)
{
    if (MPI_COMM_NULL != *c) {
        MPI_Comm_free(c);
    }
}

/* One call that members make; everybody draws, so that the random numbers stay alike. */
static bool maybe_call(MPI_Comm comm, enum coll coll)
{
    static const int counts[] = {1, 40, 2500, 30000};
    int count = counts[rng_below(&calls, 4)];
    uint64_t salt = rng_next(&calls);

    if (MPI_COMM_NULL == comm) {
        return true;
    }
    quick_delay(&delays, 1500);
    return quick_call(comm, coll, count, salt);
}

/* A = {0, 1, 2} and B = {1, 2, 3}: first A then B, then in turns. */
static bool two_overlapping(enum coll coll)
{
    MPI_Comm a = range_comm(0, 3, 1), b = range_comm(1, 3, 2);
    bool ok = true;

    for (int i = 0; i < 3; i++) {
        ok = maybe_call(a, coll) && ok;
        ok = maybe_call(b, (enum coll)((coll + i) % NUM_COLLS)) && ok;
    }
    free_comm(&a);
    free_comm(&b);
    return ok;
}

/*
 * {0,1}, {1,2}, {2,3} ...: every rank but the ends waits for both neighbours; even pairs first, odd
 * next.
 */
static bool chain_of_pairs(enum coll coll)
{
    MPI_Comm *pairs = malloc((size_t) test_size * sizeof *pairs);
    bool ok = true;

    for (int i = 0; i + 1 < test_size; i++) {
        pairs[i] = range_comm(i, 2, 10 + i);
    }
    for (int turn = 0; turn < 4; turn++) {
        for (int i = turn % 2; i + 1 < test_size; i += 2) {
            ok = maybe_call(pairs[i], coll) && ok;
        }
    }
    for (int i = 0; i + 1 < test_size; i++) {
        free_comm(&pairs[i]);
    }
    free(pairs);
    return ok;
}

/*
 * Messages around the ring of comm, big ones that need their receiver's progress, while comm sets
 * up.
 */
static bool among_messages(enum coll coll)
{
    int rank, size, *out = malloc(2 * BIG * sizeof *out), *in = out + BIG;
    MPI_Request requests[2];
    MPI_Comm comm;
    bool ok;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < BIG; i++) {
        out[i] = rank * 7 + i;
    }
    MPI_Irecv(in, BIG, MPI_INT, (rank + size - 1) % size, 0, comm, &requests[0]);
    quick_delay(&delays, 1500);
    MPI_Isend(out, BIG, MPI_INT, (rank + 1) % size, 0, comm, &requests[1]);
    ok = maybe_call(comm, coll);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < BIG; i++) {
        ok = ok && (rank + size - 1) % size * 7 + i == in[i];
    }
    ok = maybe_call(comm, (enum coll)((coll + 1) % NUM_COLLS)) && ok;
    MPI_Comm_free(&comm);
    free(out);
    return ok;
}

/* A receive from any source and with any tag must not see what set-up sends. */
static bool beside_wildcards(enum coll coll)
{
    int got = -1, rank, size, mine;
    MPI_Request request;
    MPI_Status status;
    MPI_Comm comm;
    bool ok;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    ok = maybe_call(comm, coll);
    mine = 1000 + rank;
    MPI_Send(&mine, 1, MPI_INT, (rank + 1) % size, 5, comm);
    MPI_Wait(&request, &status);
    ok = ok && 5 == status.MPI_TAG && 1000 + status.MPI_SOURCE == got;
    MPI_Comm_free(&comm);
    return ok;
}

/* Nonblocking collectives of Open MPI pending on the communicator while it is first used. */
static bool among_pending(enum coll coll)
{
    int rank, size, *all;
    MPI_Request requests[2];
    MPI_Comm comm;
    bool ok;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    all = calloc((size_t) size, sizeof *all);
    quick_delay(&delays, 1500);
    MPI_Ibarrier(comm, &requests[0]);
    MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm, &requests[1]);
    ok = maybe_call(comm, coll);
    quick_delay(&delays, 1500);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int r = 0; r < size; r++) {
        ok = ok && r == all[r];
    }
    ok = maybe_call(comm, coll) && ok;
    MPI_Comm_free(&comm);
    free(all);
    return ok;
}

/*
 * The upper half of the ranks complete a nonblocking barrier before the call, the lower half after
 * it: its second round needs the progress of the lower half, who wait inside the call for the
 * upper.
 */
static bool across_a_barrier(enum coll coll)
{
    MPI_Request request;
    MPI_Comm comm;
    bool ok = true;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 3; i++) { /* the first sets up */
        MPI_Ibarrier(comm, &request);
        if (test_rank >= test_size / 2) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        ok = maybe_call(comm, coll) && ok;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&comm);
    return ok;
}

static const struct {
    const char *name;
    bool (*run)(enum coll coll);
    int min_ranks;
} tests[] = {
    {"two communicators that overlap", two_overlapping, 4},
    {"a chain of pairs", chain_of_pairs, 2},
    {"messages under way on the communicator", among_messages, 1},
    {"a receive from any source with any tag", beside_wildcards, 1},
    {"pending nonblocking collectives", among_pending, 1},
    {"a barrier that some complete before and some after", across_a_barrier, 1},
};

int main(int argc, char **argv)
{
    int rounds;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 6;
    calls = rng_key(test_seed, 70, 0);
    delays = rng_key(test_seed, 71, (uint64_t) test_rank);
    for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
        bool ok = true;

        if (test_size < tests[t].min_ranks) {
            tap_skip("too few ranks", "first call: %s", tests[t].name);
            continue;
        }
        for (int i = 0; i < rounds * NUM_COLLS; i++) {
            ok = tests[t].run((enum coll)(i % NUM_COLLS)) && ok;
        }
        tap_check(ok, "first call: %s", tests[t].name);
    }
    return test_end();
}
