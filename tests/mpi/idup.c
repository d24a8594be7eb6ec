/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_idup beside blocking collectives on its parent: idup [ROUNDS [thread]]. Open MPI makes
 * the communicator with nonblocking collectives on the parent, started out of opal_progress, at
 * another moment on each rank. Each rank tests the request now and then, at moments of its own.
 * With "thread", another thread does that, all the time.
 *
 * No nonblocking collective is pending on the parent, and no other communicator is made meanwhile:
 * stock Open MPI 4.1 hangs there by itself.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "colls.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

/* Blocking collectives while one communicator is made. */
#define INNER 24

static atomic_int stop;

/* Progresses Open MPI, on no communicator of the test's. */
static void *progress(void *arg)
{
    int flag;

    while (!atomic_load(&stop)) {
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
    return arg;
}

/* All kinds of collectives and sizes: boards, and links that the first call makes. */
static bool beside(MPI_Comm parent, MPI_Request *request, int round, uint64_t *rng)
{
    static const int counts[] = {1, 40, 3000, 40000};
    bool ok = true;
    int flag;

    for (int k = 0; k < INNER; k++) {
        ok = quick_call(parent, (enum coll)(k % NUM_COLLS), counts[(k + round) % 4],
                        (uint64_t) (round + k)) &&
             ok;
        if (0 == rng_below(rng, 5)) {
            MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        }
    }
    return ok;
}

static bool make_one(MPI_Comm parent, int round, uint64_t *rng)
{
    MPI_Request request;
    MPI_Comm made;
    bool ok;

    MPI_Comm_idup(parent, &made, &request);
    ok = beside(parent, &request, round, rng);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ok = quick_call(made, COLL_ALLREDUCE, 7, (uint64_t) round) && ok;
    MPI_Comm_free(&made);
    return ok;
}

int main(int argc, char **argv)
{
    bool threads = argc > 2 && 0 == strcmp(argv[2], "thread"), ok = true;
    int rounds;
    uint64_t rng;
    pthread_t thread;
    MPI_Comm parent;

    test_begin(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    rounds = argc > 1 ? atoi(argv[1]) : 10;
    rng = test_seed + 1000003u * (uint64_t) test_rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent); /* its links are made while idup is pending */
    if (threads) {
        pthread_create(&thread, NULL, progress, NULL);
    }
    for (int k = 0; k < rounds && ok; k++) {
        ok = make_one(parent, k, &rng);
    }
    atomic_store(&stop, 1);
    if (threads) {
        pthread_join(thread, NULL);
    }
    tap_check(ok, "idup beside blocking collectives, %d rounds%s", rounds,
              threads ? ", progressed by a thread" : "");
    MPI_Comm_free(&parent);
    return test_end();
}
