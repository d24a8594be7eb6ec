/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI_Init and MPI_Comm_dup + MPI_Comm_free cost: initcost [ROUNDS]. Rank 0 prints one CSV
 * line: initcost,ranks,init_us,dup_free_min_us,dup_free_median_us,dup_free_mean_us
 */
#include "common/clock.h"
#include "common/fit.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 500, rank, size;
    double *us = malloc((size_t) rounds * sizeof *us), start = clock_us(), init, mean = 0;
    MPI_Comm c;

    MPI_Init(&argc, &argv);
    init = clock_us() - start;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = -rounds / 10; i < rounds; i++) { /* some to warm up */
        start = clock_us();
        MPI_Comm_dup(MPI_COMM_WORLD, &c);
        MPI_Comm_free(&c);
        if (i >= 0) {
            us[i] = clock_us() - start;
            mean += us[i] / rounds;
        }
    }
    fit_sort(us, rounds);
    if (0 == rank) {
        printf("initcost,%d,%.1f,%.2f,%.2f,%.2f\n", size, init, us[0], us[rounds / 2], mean);
    }
    free(us);
    MPI_Finalize();
    return 0;
}
