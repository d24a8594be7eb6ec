/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the options that need the number of ranks, the MPI library or collectives[]. */
#ifndef BENCH_SUPPORTED_H
#define BENCH_SUPPORTED_H

#include "common/options.h"

/*
 * After MPI_Init, with the same result on every rank. Collectives of "all" that lack a form or a
 * size asked for are dropped. counters: number of gpuring's counters, 0: it is not loaded. Returns
 * 0, or -1 with one line in error[CLI_ERROR_CHARS].
 */
int supported_check(struct options *options, int ranks, int counters, char *error);

#endif
