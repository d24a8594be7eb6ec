/* SPDX-License-Identifier: BSD-3-Clause */
/* The timed loop of measure.h. */
#include "measure.h"
#include "collect.h"
#include "common/fit.h"

#include <stdlib.h>

/* One rank's times in microseconds. */
struct times {
    double mean, p50, p95, p99, cycle;
};

/*
 * Calls between two extra barriers. TCP acknowledges every second message: where a call and its
 * barrier make an even number, either all acknowledgments would fall into the time taken, or none.
 */
#define OUT_OF_STEP 7

static double time_once(struct call *call, int i)
{
    double start;

    collect_begin_together();
    if (0 == i % OUT_OF_STEP) {
        collect_begin_together();
    }
    start = MPI_Wtime();
    call_run(call);
    return (MPI_Wtime() - start) * 1e6;
}

static struct times time_loop(struct call *call, int iterations, double *us)
{
    double sum = 0, start = MPI_Wtime(), all;

    for (int i = 0; i < iterations; i++) {
        us[i] = time_once(call, i);
        sum += us[i];
    }
    all = (MPI_Wtime() - start) * 1e6;
    fit_sort(us, iterations);
    return (struct times) {sum / iterations, fit_percentile(us, iterations, 50),
                           fit_percentile(us, iterations, 95), fit_percentile(us, iterations, 99),
                           all / iterations};
}

static void summarize(const struct times *times, int ranks, struct timing *timing)
{
    const struct times *slowest = times;
    double sum = 0;

    timing->min = times[0].mean;
    timing->cycle = 0;
    for (int r = 0; r < ranks; r++) {
        sum += times[r].mean;
        timing->cycle = times[r].cycle > timing->cycle ? times[r].cycle : timing->cycle;
        timing->min = times[r].mean < timing->min ? times[r].mean : timing->min;
        slowest = times[r].mean > slowest->mean ? &times[r] : slowest;
    }
    timing->avg = sum / ranks;
    timing->max = slowest->mean;
    timing->p50 = slowest->p50;
    timing->p95 = slowest->p95;
    timing->p99 = slowest->p99;
}

int measure_call(struct call *call, struct mpit *mpit, int warmup, int iterations,
                 struct timing *timing)
{
    struct times mine, *all;
    double *us = malloc((size_t) iterations * sizeof *us);
    int rank, ranks;
    bool ok;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    all = malloc((size_t) ranks * sizeof *all);
    ok = collect_agree(NULL != us && NULL != all);
    if (ok) {
        for (int i = 0; i < warmup; i++) {
            time_once(call, i);
        }
        mpit_mark(mpit);
        mine = time_loop(call, iterations, us);
        timing->algorithm = mpit_algorithm(mpit);
        collect_gather(&mine, all, sizeof mine);
        if (0 == rank) {
            summarize(all, ranks, timing);
        }
    }
    free(all);
    free(us);
    return ok ? 0 : -1;
}
