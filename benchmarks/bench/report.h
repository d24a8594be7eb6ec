/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of gpuring_bench: table, CSV and JSON, printed by rank 0 as
 * results come in. A field without a value (an ideal without a known bandwidth,
 * errors without -c) is "-", empty, or null.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "common/columns.h"
#include "common/fit.h"
#include "links.h"
#include "mpit.h"
#include "common/options.h"

#include <stdio.h>

/* One line of results. Times are in microseconds, bandwidths in GB/s (1e9 bytes
 * per second). */
struct result {
    size_t bytes; /* S, as the collective defines it */
    double avg_us;
    double min_us; /* of the ranks' means */
    double max_us;
    double p50_us; /* percentiles of the slowest rank's calls */
    double p95_us;
    double p99_us;
    double algbw;
    double busbw;
    double ideal;      /* of busbw; NAN: unknown */
    double efficiency; /* busbw / ideal; NAN: unknown */
    const char *algorithm;
    double cycle_us; /* of a call and the barrier before it */
    double errors;   /* wrong elements on all ranks; NAN: not checked */
};

struct report {
    FILE *out;
    const struct options *options;
    const struct links *links;
    struct columns columns;
    const char *collective; /* the one being reported */
    const char *op;         /* "none" where nothing is combined */
    int collectives;        /* begun so far */
    int results;            /* of this collective so far */
    double busbw;           /* their sum; NAN: a collective that moves nothing */
};

/*
 * The order of calls: begin; for each collective open, result, ..., close; end.
 * fit is NULL where none was asked for or none exists. end returns 0, or -1 if
 * anything could not be written.
 */
void report_begin(struct report *report, FILE *out, const struct options *options,
                  const struct links *links);
void report_open(struct report *report, const char *collective, const char *op);
void report_result(struct report *report, const struct result *result);
void report_close(struct report *report, const struct fit_line *fit);
int report_end(struct report *report);

#endif
