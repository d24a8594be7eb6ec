/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the options that need the number of ranks, the MPI library or collectives[]. */
#ifndef BENCH_SUPPORTED_H
#define BENCH_SUPPORTED_H

#include "common/options.h"

/*
 * Both functions: after MPI_Init, with the same result on every rank; counters: number of gpuring's
 * counters, 0: it is not loaded. Return 0, or -1 with one line in error[CLI_ERROR_CHARS].
 */

/* All checks. Collectives of "all" that lack a form or a size asked for are dropped. */
int supported_check(struct options *options, int ranks, int counters, char *error);

/* Only: whether the MPI library or gpuring takes the buffers that -d asks for. */
int supported_check_device(const struct options *options, int ranks, int counters, char *error);

#endif
