/* SPDX-License-Identifier: BSD-3-Clause */
/* torus_sim's results as text, CSV and JSON. */
#ifndef TORUS_REPORT_H
#define TORUS_REPORT_H

#include "options.h"

#include <stdio.h>

/* The schemes at one size; those that were not run have ns < 0. */
struct row {
    const char *model, *algorithm;
    double bytes, uneven, skewed;
    struct outcome outcome[4]; /* by enum scheme */
};

void report_begin(FILE *out, const struct options *o, const char *title);
void report_row(FILE *out, const struct options *o, const struct row *row);
void report_end(FILE *out, const struct options *o);

#endif
