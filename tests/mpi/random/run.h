/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out a program on this rank. */
#ifndef RANDOM_RUN_H
#define RANDOM_RUN_H

#include <mpi.h>

#include "program.h"

/* Where a thread is: for those who look at it when it does not go on. */
struct whereabouts {
    volatile int step; /* of the program; n: its end */
    const char *volatile doing;
};

/* What is planted, to see that it is found. */
enum plant {
    PLANT_NONE,
    PLANT_WRONG, /* an output's first element is changed after each call */
    PLANT_HANG   /* rank 1 does not come to blocking collectives */
};
extern enum plant run_plant;

/*
 * Runs p on `world`, which is freed; all ranks of it call this with the same program. `repeat` only
 * changes what the ranks draw for themselves. Ends the job with a line "FAILED ..." when something
 * is wrong. Returns the calls made.
 */
long program_run(const struct program *p, MPI_Comm world, int repeat, struct whereabouts *w);

#endif
