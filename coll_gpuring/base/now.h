/* SPDX-License-Identifier: BSD-3-Clause */
/* The time, for limits and for what is measured inside a process. */
#ifndef GR_BASE_NOW_H
#define GR_BASE_NOW_H

#include <time.h>

/* Seconds since some moment in the past, the same for all processes of a host. */
static inline double gr_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

#endif
