/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures a machine (tune/machine.h), in one process: a thread stands for the other process. */
#ifndef GR_TUNE_MEASURE_H
#define GR_TUNE_MEASURE_H

#include "tune/machine.h"

/* d1[i] = a[i] + b[i] for n floats, as gr_reduce_fn (exec/reduce.h). d2 is NULL. */
typedef void (*gr_machine_sum_fn)(void *d1, void *d2, const void *a, const void *b, size_t n);

/*
 * Measure, with the loop by which calls combine elements, in about `limit` seconds. Needs two
 * processors: the caller's, and another one of its socket; what runs beside may make times longer,
 * so the best of several counts. Returns 0 and fills *m; GR_ERR_NOT_SUPPORTED (there is one
 * processor), GR_ERR_NOMEM, or GR_ERR_TIMEOUT (the time did not suffice): *m is all zero then.
 * Leaves no thread and no memory behind.
 */
int gr_machine_measure(double limit, gr_machine_sum_fn sum, struct gr_machine *m);

#endif
