/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads with a communicator each (workers.h). */
#include "workers.h"

#include "rng.h"
#include "tap.h"

#define MAX_THREADS 16

void workers_run(const char *what, void *(*function)(void *), int threads, int rounds, uint64_t key)
{
    struct worker workers[MAX_THREADS];
    bool ok = true;

    for (int t = 0; t < threads; t++) {
        workers[t] = (struct worker) {
            .rounds = rounds,
            .calls = rng_key(test_seed, key, (uint64_t) t),
            .mine = rng_key(test_seed, key + 1 + (uint64_t) t, (uint64_t) test_rank),
            .ok = true,
        };
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
    }
    for (int t = 0; t < threads; t++) {
        pthread_create(&workers[t].thread, NULL, function, &workers[t]);
    }
    for (int t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        ok = ok && workers[t].ok;
        MPI_Comm_free(&workers[t].comm);
    }
    tap_check(ok, "%s: %d threads, %d rounds", what, threads, rounds);
}
