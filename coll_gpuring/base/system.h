/* SPDX-License-Identifier: BSD-3-Clause */
/* What the system offers: its clock, and its shared libraries. */
#ifndef GR_BASE_SYSTEM_H
#define GR_BASE_SYSTEM_H

#include <time.h>

/*
 * Whether dlopen() would find a library by its name (without a slash): in LD_LIBRARY_PATH, in the
 * linker's cache, or in a default directory. A caller's own paths (RUNPATH) are not searched.
 * Loads nothing. Returns 1 or 0.
 */
int gr_library_found(const char *name);

/* Seconds since some moment in the past, the same for all processes of a host. */
static inline double gr_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

#endif
