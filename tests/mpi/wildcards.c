/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives and probes of the application that match any message: wildcards [ROUNDS]. Links between
 * nodes may go over Open MPI's own messages on MPI_COMM_WORLD; no receive of the application may
 * get one of them, and none of its messages may be taken for one. Rank r sends to r + 1, modulo
 * their number, and collectives of all sizes are under way meanwhile.
 */
#include <mpi.h>
#include <stdlib.h>

#include "colls.h"
#include "quick.h"
#include "tap.h"

#define TAG 5

/* Small, and of more than one slot. */
static const int counts[] = {1, 1000, 100000};
#define NCOUNTS ((int) (sizeof(counts) / sizeof(counts[0])))

static MPI_Comm comm; /* MPI_COMM_WORLD, or one on which no collective was called yet */

static int left(void)
{
    return (test_rank + test_size - 1) % test_size;
}

static int right(void)
{
    return (test_rank + 1) % test_size;
}

static bool collectives(int round)
{
    bool ok = true;

    for (int k = 0; k < NCOUNTS; k++) {
        ok = quick_call(comm, COLL_ALLREDUCE, counts[k], (uint64_t) round) && ok;
        ok = quick_call(comm, COLL_ALLTOALL, counts[k], (uint64_t) round) && ok;
    }
    return ok;
}

/* Whether what was received is what the neighbour sent in this round. */
static bool is_mine(const MPI_Status *status, const int *got, int round)
{
    int n;

    MPI_Get_count(status, MPI_INT, &n);
    if (left() == status->MPI_SOURCE && TAG == status->MPI_TAG && 2 == n && left() == got[0] &&
        round == got[1]) {
        return true;
    }
    tap_fault("round %d: %d ints from %d with tag %d: %d %d", round, n, status->MPI_SOURCE,
              status->MPI_TAG, got[0], got[1]);
    return false;
}

/* A receive for anything is posted before the collectives; its message is sent behind them. */
static bool posted_before(int round)
{
    int mine[2] = {test_rank, round}, got[2] = {-1, -1}, early;
    MPI_Request request;
    MPI_Status status;
    bool ok;

    MPI_Irecv(got, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    ok = collectives(round);
    MPI_Request_get_status(request, &early, &status);
    ok = ok && !early;
    tap_sync(); /* nobody sends before all have looked */
    MPI_Send(mine, 2, MPI_INT, right(), TAG, comm);
    MPI_Wait(&request, &status);
    return is_mine(&status, got, round) && ok;
}

/*
 * A message lies unexpected while collectives run; then it is probed for, and nothing else is
 * found.
 */
static bool sent_before(int round)
{
    int mine[2] = {test_rank, round}, got[2] = {-1, -1}, more;
    MPI_Request request;
    MPI_Status status;
    bool ok;

    MPI_Isend(mine, 2, MPI_INT, right(), TAG, comm, &request);
    ok = collectives(round);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    ok = is_mine(&status, got, round) && ok;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &more, &status);
    ok = ok && !more;
    tap_sync(); /* the next round's message comes behind this look */
    return ok;
}

int main(int argc, char **argv)
{
    bool posted = true, sent = true, fresh = true;
    int rounds;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 20;
    for (int i = 0; i < rounds; i++) {
        comm = MPI_COMM_WORLD;
        posted = posted_before(i) && posted;
        sent = sent_before(i) && sent;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        fresh = posted_before(i) && fresh;
        MPI_Comm_free(&comm);
    }
    tap_check(posted, "a receive for any message gets the application's, %d rounds", rounds);
    tap_check(sent, "a probe for any message finds the application's and no other, %d rounds",
              rounds);
    tap_check(fresh, "also on a communicator whose links are made meanwhile, %d rounds", rounds);
    return test_end();
}
