/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a call and opal_progress() cost in a process with many communicators: commcost [COMMS]. Each
 * communicator makes a board-sized, a link-sized, and a nonblocking allreduce first. The calls that
 * are timed are on the first. Rank 0 prints one CSV line of microseconds, the fastest of some
 * batches: commcost,ranks,communicators,progress_us,allreduce_8_us,allreduce_256k_us
 */
#include "common/clock.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST (1 << 18) /* bytes of the link-sized calls */
#define BATCHES 20

static char from[MOST], to[MOST];
static MPI_Comm timed;
static MPI_Request pending; /* never completes */

static void allreduce(int bytes)
{
    MPI_Allreduce(from, to, bytes / 8, MPI_INT64_T, MPI_SUM, timed);
}

/* Each MPI_Test of a request that is not complete calls opal_progress() once. */
static void progress(int bytes)
{
    int flag;

    (void) bytes;
    MPI_Test(&pending, &flag, MPI_STATUS_IGNORE);
}

static double fastest(void (*call)(int bytes), int bytes, int calls)
{
    double least = 1e30, us;

    for (int batch = 0; batch < BATCHES; batch++) {
        MPI_Barrier(MPI_COMM_WORLD);
        us = clock_us();
        for (int k = 0; k < calls; k++) {
            call(bytes);
        }
        us = (clock_us() - us) / calls;
        least = us < least ? us : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    int ncomms = argc > 1 ? atoi(argv[1]) : 1, rank, size;
    MPI_Comm *comms = malloc((size_t) ncomms * sizeof *comms);
    MPI_Request request;
    double idle, small, large;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Irecv(from, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &pending);
    for (int k = 0; k < ncomms; k++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
        timed = comms[k];
        allreduce(8);
        allreduce(MOST);
        MPI_Iallreduce(from, to, MOST / 8, MPI_INT64_T, MPI_SUM, timed, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    timed = comms[0];
    idle = fastest(progress, 0, 1000);
    small = fastest(allreduce, 8, 100);
    large = fastest(allreduce, MOST, 10);
    if (0 == rank) {
        printf("commcost,%d,%d,%.3f,%.2f,%.1f\n", size, ncomms, idle, small, large);
    }
    for (int k = 0; k < ncomms; k++) {
        MPI_Comm_free(&comms[k]);
    }
    MPI_Cancel(&pending);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    free(comms);
    MPI_Finalize();
    return 0;
}
