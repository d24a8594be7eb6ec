/* SPDX-License-Identifier: BSD-3-Clause */
/* gpuring_bench's help. */
#ifndef BENCH_HELP_H
#define BENCH_HELP_H

#include <stdio.h>

/* names: of the n collectives. */
void help_print(FILE *out, const char *const *names, int n);

#endif
