/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that run the same function, each with a communicator of its own. */
#ifndef TEST_WORKERS_H
#define TEST_WORKERS_H

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    int rounds;
    uint64_t calls, mine; /* random numbers: alike on all ranks, and of each rank */
    bool ok;
};

/*
 * One TAP line: run function(struct worker *) in that many threads, at most 16; good when all leave
 * ok true. Random numbers come from the keys `key` and up.
 */
void workers_run(const char *what, void *(*function)(void *), int threads, int rounds,
                 uint64_t key);

#endif
