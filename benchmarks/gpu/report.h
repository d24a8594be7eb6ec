/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of gpuring_gpu, as a table and as JSON. The floors: no ring among
 * ranks of one device can be faster than its memory moves
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

#include "common/columns.h"

#include <stdio.h>

struct report {
    int table;  /* to stdout */
    FILE *json; /* or NULL */
    int check;
    const char *nccl; /* NCCL's version; NULL: without NCCL */
    int rows;         /* so far */
    struct columns columns;
};

struct row {
    const char *collective;
    const char *algorithm;
    double bytes;
    double us;      /* median */
    double best_us; /* least */
    double algbw;
    double busbw;
    double user;      /* bytes of callers' buffers that all ranks access, per byte of S */
    double fifo;      /* bytes of slots that all ranks access, per byte of S */
    double copy;      /* GB/s */
    double in_memory; /* efficiency, all accesses in memory; NAN without a copy
                       rate */
    double in_cache;  /* efficiency, slots in the cache; NAN without a copy rate */
    double launches;  /* per call and rank */
    double errors;
    double ratio; /* NCCL's time / that of the row before; NAN in rows of gpuring */
};

void report_begin(struct report *report, int ranks, int processes, const struct world_shape *shape,
                  const struct gr_gpu *gpu);
void report_row(struct report *report, const struct row *row);
void report_end(struct report *report);

/* Measures costs and prints them. 0, or 2 with a line in error. */
int report_costs(struct report *report, struct gr_gpus *gpus, struct gr_gpu *gpu, char *error);

#endif
