/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE: threads that call collectives at the same time, each on a communicator of
 * its own.
 */
#include <mpi.h>
#include <stdlib.h>

#include "quick.h"
#include "rng.h"
#include "tap.h"
#include "workers.h"

static bool any_call(struct worker *w)
{
    static const int counts[] = {1, 3, 100, 5000, 70000};
    int which = rng_below(&w->calls, NUM_COLLS + 1);
    int count = counts[rng_below(&w->calls, 5)];
    uint64_t salt = rng_next(&w->calls);

    if (NUM_COLLS == which) {
        return quick_other(w->comm, (enum other)(salt % NUM_OTHERS), count, salt);
    }
    return quick_call(w->comm, (enum coll) which, count, salt);
}

static void *work(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < w->rounds; i++) {
        quick_delay(&w->mine, 500);
        w->ok = any_call(w) && w->ok;
    }
    return NULL;
}

/* Every thread makes, uses and frees communicators of its own as fast as it can. */
static void *churn(void *arg)
{
    struct worker *w = arg, inner = *w;

    for (int i = 0; i < w->rounds; i++) {
        MPI_Comm_dup(w->comm, &inner.comm);
        w->ok = any_call(&inner) && any_call(&inner) && w->ok;
        MPI_Comm_free(&inner.comm);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level = test_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    int rounds = argc > 1 ? atoi(argv[1]) : 60;

    if (level < MPI_THREAD_MULTIPLE) {
        tap_skip("no MPI_THREAD_MULTIPLE", "threads");
        return test_end();
    }
    workers_run("one communicator each", work, 1, rounds, 50);
    workers_run("one communicator each", work, 4, rounds, 50);
    workers_run("making and freeing communicators", churn, 4, rounds, 50);
    return test_end();
}
