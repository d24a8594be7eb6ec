/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns the clock: runs a call many times and says how long it took, over iterations and over ranks.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "collectives.h"
#include "mpit.h"

/* All in microseconds. */
struct timing {
    double avg;      /* each rank's mean over iterations, then the mean over ranks */
    double min, max; /* of the ranks' means */
    double p50, p99; /* over the iterations of the slowest rank */
    /*
     * all of the loop over its iterations, of the rank that takes longest: a call and what precedes
     * it
     */
    double cycle;
    char algorithm[MPIT_NAME_CHARS]; /* that rank 0 has counted most */
};

/*
 * Runs the call warmup + iterations times on all ranks. A barrier precedes each call, outside the
 * time taken (as OSU's benchmarks have it; now and then two): t includes how unevenly ranks leave
 * that barrier, but no call profits from work that the one before has left unfinished on another
 * rank. *timing is valid on rank 0. Returns 0, or -1 on every rank when memory is short on one.
 */
int measure_call(struct call *call, struct mpit *mpit, int warmup, int iterations,
                 struct timing *timing);

#endif
