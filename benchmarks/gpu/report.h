/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns the output of gpuring_gpu. The floors: no ring among ranks of one device can be faster than
 * its memory moves
 *
 *      FIFO in memory   all accesses, of callers' buffers and of slots
 *      FIFO in cache    those of callers' buffers only, if slots never leave the cache
 *
 * at the rate of a plain copy of the same footprint, measured in the same run (bytes read and
 * written both counted). The efficiency is floor / time.
 */
#ifndef BENCH_GPU_REPORT_H
#define BENCH_GPU_REPORT_H

#include "costs.h"

#include <stdio.h>

struct report {
    int table;  /* to stdout */
    FILE *json; /* or NULL */
    int check;
    const char *nccl; /* its version, where it runs beside us; else NULL */
    int rows;
};

struct row {
    const char *collective, *algorithm;
    double bytes, us, best_us, algbw, busbw;
    double user, fifo;          /* bytes accessed, of all ranks, per byte of S */
    double copy;                /* GB/s */
    double in_memory, in_cache; /* efficiency; NAN without a copy rate */
    double launches, errors;
    double ratio; /* NCCL's time / ours of the row before; NAN in our rows */
};

void report_begin(struct report *report, int ranks, int processes, const struct world_shape *shape,
                  const struct gr_gpu *gpu);
void report_row(struct report *report, const struct row *row);
void report_end(struct report *report);

/* Measures costs and prints them. 0, or 2 with a line in error. */
int report_costs(struct report *report, struct gr_gpus *gpus, struct gr_gpu *gpu, char *error);

#endif
