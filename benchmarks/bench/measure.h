/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a call many times and says how long it took, over iterations and over ranks. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "collectives.h"
#include "mpit.h"

/* All times are in microseconds. */
struct timing {
    double avg;            /* each rank's mean over iterations, then the mean over ranks */
    double min;            /* the least of the ranks' means */
    double max;            /* the largest of the ranks' means */
    double p50, p95, p99;  /* percentiles over the iterations of the slowest rank */
    double cycle;          /* loop / iterations, of the rank whose loop takes longest */
    const char *algorithm; /* the one that rank 0 has counted most */
};

/*
 * Runs the call warmup + iterations times on all ranks. A barrier, now and then two, precedes each
 * call, untimed, as in OSU's benchmarks: times include how unevenly ranks leave that barrier, but
 * no call profits from work that the one before has left unfinished on another rank. *timing is
 * valid on rank 0. Returns 0, or -1 on every rank when memory is short on one.
 */
int measure_call(struct call *call, struct mpit *mpit, int warmup, int iterations,
                 struct timing *timing);

#endif
