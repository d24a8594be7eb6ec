/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of measured times: percentiles, and the straight line t = overhead + S / bandwidth
 * with the error it leaves. No MPI.
 */
#ifndef BENCH_FIT_H
#define BENCH_FIT_H

struct fit_line {
    double overhead_us;
    double bandwidth_GBs; /* 1e9 bytes per second */
    double residual_rms;  /* of (line - measured) / measured: a fraction, not per cent */
    double residual_max;  /* largest absolute value of (line - measured) / measured */
};

/*
 * Fits a line to n points (bytes, microseconds > 0) by least squares of the relative error: the
 * small sizes, which alone show the overhead, count as much as the large ones. Returns 0, or -1
 * where there is no such line: fewer than two different sizes, or times that do not grow with the
 * size.
 */
int fit_times(struct fit_line *line, const double *bytes, const double *us, int n);

/* Sorts the n values in place, smallest first, for fit_percentile. */
void fit_sort(double *values, int n);

/* The smallest of n > 0 sorted values that at least percent (0..100) of them do not exceed. */
double fit_percentile(const double *sorted, int n, double percent);

#endif
