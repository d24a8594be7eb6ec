/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns what only the ranks, the library and the table of collectives can tell about the options. */
#ifndef BENCH_SUPPORTED_H
#define BENCH_SUPPORTED_H

#include "common/options.h"

/*
 * Both: after MPI_Init, on every rank alike; counters: of gpuring's algorithms, 0 where it is not
 * loaded. They return 0, or -1 with one line in error[OPTIONS_ERROR_CHARS].
 */

/* Everything. Collectives of "all" that lack what was asked for are dropped. */
int supported_check(struct options *options, int ranks, int counters, char *error);

/* Only: does anybody take the buffers that -d asks for, the MPI or gpuring? */
int supported_check_device(const struct options *options, int ranks, int counters, char *error);

#endif
