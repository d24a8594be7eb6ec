/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns gpuring_bench's help. */
#ifndef BENCH_HELP_H
#define BENCH_HELP_H

#include <stdio.h>

/* names lists the n collectives there are. */
void help_print(FILE *out, const char *const *names, int n);

#endif
