/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the constants of a node, at each distance that processors of a job may have. */
#ifndef GR_TUNE_MEASURE_NODE_H
#define GR_TUNE_MEASURE_NODE_H

#include "tune/constants.h"
#include "tune/measure.h"

#include <sched.h>

struct gr_measure_node_args {
    const char *folder; /* GR_SYSFS_CPUS */
    int cpu;            /* the processor of this process */
    cpu_set_t allowed;  /* processors that the job may use */
    int ranks;          /* of the job on this node */
    double limit;       /* seconds after which it is given up, for all distances */
    gr_machine_sum_fn sum;
};

/*
 * Add to c what files and parameters do not say. One distance is measured at all sizes, in about
 * 5 ms: that of two ranks, which are placed side by side, or else the farthest one. The others
 * follow briefly, and their large sizes from those of the first. Returns 0; or GR_ERR_..., as
 * gr_machine_measure(), which c->not_measured then is, too.
 */
int gr_constants_measure(struct gr_constants *c, const struct gr_measure_node_args *args);

#endif
