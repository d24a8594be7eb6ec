/* SPDX-License-Identifier: BSD-3-Clause */
/* Which distances of a node are measured, and how thoroughly (measure_node.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include "tune/measure_node.h"

#include "base/errors.h"
#include "base/now.h"

/* The distance that most calls will have; -1: there is no other processor. */
static int main_distance(const int partners[GR_CPU_DISTANCES], int ranks)
{
    int d, found = -1;

    for (d = 0; d < GR_CPU_DISTANCES; d++) {
        if (partners[d] >= 0 && (found < 0 || ranks > 2)) {
            found = d;
        }
    }
    return found;
}

/*
 * Measure one distance, until `end` at most, by gr_now(). whole: one that was measured; NULL: this
 * is the first one.
 */
static int measure_distance(const struct gr_measure_node_args *args, int partner,
                            const struct gr_machine *whole, double end, struct gr_machine *m)
{
    struct gr_measure_args two = {.cpus = {args->cpu, partner},
                                  .effort = NULL == whole ? GR_EFFORT_QUICK : GR_EFFORT_BRIEF,
                                  .whole = whole,
                                  .limit = end - gr_now(),
                                  .sum = args->sum};

    return gr_machine_measure(&two, m);
}

int gr_constants_measure(struct gr_constants *c, const struct gr_measure_node_args *args)
{
    int partners[GR_CPU_DISTANCES], first, d, rc = GR_ERR_NOT_SUPPORTED;
    double end = gr_now() + args->limit;
    struct gr_machine whole, m;

    gr_cpu_partners(args->folder, args->cpu, &args->allowed, partners);
    first = main_distance(partners, args->ranks);
    if (first >= 0 && gr_constants_complete(c, first)) {
        return 0;
    }
    if (first >= 0) {
        rc = measure_distance(args, partners[first], NULL, end, &whole);
    }
    if (0 != rc) {
        c->not_measured = rc;
        return rc;
    }
    gr_constants_take(c, first, &whole, GR_FROM_MEASUREMENT);
    for (d = 0; d < GR_CPU_DISTANCES; d++) {
        if (d != first && partners[d] >= 0 && !gr_constants_complete(c, d) &&
            0 == measure_distance(args, partners[d], &whole, end, &m)) {
            gr_constants_take(c, d, &m, GR_FROM_MEASUREMENT);
        }
    }
    return 0;
}
