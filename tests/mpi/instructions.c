/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small calls of two ranks or more, for callgrind, which counts the instructions of the function
 * `measured`:
 *     instructions KIND ROUNDS
 * Kinds: root and leaf of MPI_Bcast; allreduce; barrier; ibcast with MPI_Wait; start of a persistent
 * broadcast with MPI_Wait; threads: ibcast with MPI_THREAD_MULTIPLE. The rank that is counted waits
 * for nobody: where ranks wait for each other, it is the late one, and rank 0, whom no other one
 * leads where ranks form groups. The first calls, after which the call is cached, are not counted.
 */
#include "forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARM 20
#define LATE_US 10000 /* for each rank */

static float buffer[2] = {1, 2}, sums[2];
static MPI_Request request;

static void bcast(void)
{
    MPI_Bcast(buffer, 2, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static void allreduce(void)
{
    MPI_Allreduce(buffer, sums, 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ibcast(void)
{
    MPI_Ibcast(buffer, 2, MPI_FLOAT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void start(void)
{
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct counted {
    const char *name;
    void (*call)(void);
    int counted; /* rank */
    int late;
    int level; /* of threads */
} counts[] = {
    {"root", bcast, 0, 0, MPI_THREAD_SINGLE},
    {"leaf", bcast, 1, 1, MPI_THREAD_SINGLE},
    {"allreduce", allreduce, 0, 1, MPI_THREAD_SINGLE},
    {"barrier", barrier, 0, 1, MPI_THREAD_SINGLE},
    {"ibcast", ibcast, 0, 0, MPI_THREAD_SINGLE},
    {"start", start, 0, 0, MPI_THREAD_SINGLE},
    {"threads", ibcast, 0, 0, MPI_THREAD_MULTIPLE},
};

__attribute__((noinline)) void measured(void (*call)(void));
void measured(void (*call)(void))
{
    call();
}

int main(int argc, char **argv)
{
    const struct counted *kind = counts, *end = counts + sizeof(counts) / sizeof(counts[0]);
    int rank, ranks, level, rounds = argc > 2 ? atoi(argv[2]) : 0, k;

    while (argc > 2 && kind < end && 0 != strcmp(kind->name, argv[1])) {
        kind++;
    }
    if (rounds < 1 || kind == end) {
        fprintf(stderr, "usage: instructions KIND ROUNDS\n");
        return 2;
    }
    MPI_Init_thread(&argc, &argv, kind->level, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (start == kind->call) {
        FORM_INIT(Bcast, buffer, 2, MPI_FLOAT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    }
    for (k = 0; k < WARM + rounds; k++) {
        if (rank == kind->counted && kind->late) {
            usleep((useconds_t) ranks * LATE_US);
        }
        if (k >= WARM && rank == kind->counted) {
            measured(kind->call);
        } else {
            kind->call();
        }
        if (!kind->late) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    if (start == kind->call) {
        MPI_Request_free(&request);
    }
    MPI_Finalize();
    return 0;
}
