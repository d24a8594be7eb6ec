/* SPDX-License-Identifier: BSD-3-Clause */
/* The time, for programs that measure without MPI. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <time.h>

/* Microseconds since some moment in the past. */
static inline double clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double) t.tv_sec + 1e-3 * (double) t.tv_nsec;
}

#endif
