/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures a machine (tune/machine.h), in one process: two threads stand for two processes. */
#ifndef GR_TUNE_MEASURE_H
#define GR_TUNE_MEASURE_H

#include "tune/machine.h"

/* d1[i] = a[i] + b[i] for n floats, as gr_reduce_fn (exec/reduce.h). d2 is NULL. */
typedef void (*gr_machine_sum_fn)(void *d1, void *d2, const void *a, const void *b, size_t n);

/* How much is measured; the best of several counts, as what runs beside makes times longer. */
enum gr_effort {
    GR_EFFORT_BRIEF,    /* 1 ms: the two largest sizes follow from those of `whole` */
    GR_EFFORT_QUICK,    /* 5 ms, when a job starts */
    GR_EFFORT_THOROUGH, /* 60 ms, a round of gpuring_tune */
    GR_EFFORTS
};

struct gr_measure_args {
    int cpus[2]; /* the two processors; only the threads that measure are bound to them */
    enum gr_effort effort;
    const struct gr_machine *whole; /* measured at another distance; GR_EFFORT_BRIEF only */
    double limit;                   /* seconds after which it is given up */
    gr_machine_sum_fn sum;
};

/*
 * Measure two processors. Where the kernel refuses single copy, its times are unknown. Returns 0
 * and fills *m; or GR_ERR_NOT_SUPPORTED (a thread must not run on its processor), GR_ERR_NOMEM, or
 * GR_ERR_TIMEOUT (the time did not suffice): *m is all zero then. Leaves no thread and no memory
 * behind, and the caller's processors as they are.
 */
int gr_machine_measure(const struct gr_measure_args *args, struct gr_machine *m);

#endif
