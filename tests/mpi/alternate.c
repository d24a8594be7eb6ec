/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For test_ab.py: a program of 5 ms per step that calls collectives of every form after each 10th,
 * and that takes longer where gpuring is selected, if it is asked to.
 *     alternate STEPS [slower=PERCENT] [fail=STATUS] [none]
 * fail: with gpuring it prints a line and ends so. none: it calls no collectives.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "forms.h"

enum { COUNT = 512, EVERY = 10 };

static double values[COUNT], sums[COUNT];

/* Other work on the machine makes a step no longer. */
static void sleep_until(double end)
{
    double left = end - MPI_Wtime();

    if (0 < left) {
        nanosleep(&(struct timespec) {.tv_nsec = (long) (1e9 * left)}, NULL);
    }
}

static void collectives(MPI_Request *persistent)
{
    MPI_Request requests[2];
    double got[COUNT];

    MPI_Allreduce(values, sums, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Ibcast(sums, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Start(persistent);
    MPI_Wait(persistent, MPI_STATUS_IGNORE);
}

/* A reduce; in 4.1 its name is another. */
static void make_persistent(MPI_Request *request)
{
    static double result[4];

    FORM_INIT(Reduce, sums, result, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
              request);
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 1, slower = 0, fail = 0;
    const char *coll = getenv("OMPI_MCA_coll");
    bool gpuring = NULL != coll && 0 == strncmp(coll, "gpuring", 7), none = false;
    MPI_Request persistent = MPI_REQUEST_NULL;
    double end;

    for (int k = 2; k < argc; k++) {
        sscanf(argv[k], "slower=%d", &slower);
        sscanf(argv[k], "fail=%d", &fail);
        none |= 0 == strcmp(argv[k], "none");
    }
    MPI_Init(&argc, &argv);
    if (0 < fail && gpuring) {
        printf("no more of this\n");
        fflush(stdout);
        return fail;
    }
    if (!none) {
        make_persistent(&persistent);
    }
    end = MPI_Wtime();
    for (int k = 0; k < steps; k++) {
        end += 5e-3 * (100 + (gpuring ? slower : 0)) / 100;
        sleep_until(end);
        if (!none && 0 == (k + 1) % EVERY) {
            collectives(&persistent);
        }
    }
    if (!none) {
        MPI_Request_free(&persistent);
    }
    return MPI_Finalize();
}
