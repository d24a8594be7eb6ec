/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The projected time of an allreduce on a torus, tick by tick, for the schedules of
 * coll_gpuring/sched.
 *
 * In a tick every message takes  overhead + latency of its path + (bytes on the busiest link of its
 * path) / bandwidth. The tick takes as long as its slowest message: ranks are in step, as under
 * scheme 3 of schemes.h. So a tick's time is the maximum of some straight lines in the size of the
 * vector; they are computed once for all sizes. Channels of a bucket are in step only where they
 * change dimension.
 */
#ifndef TORUS_PROJECT_H
#define TORUS_PROJECT_H

#include "links.h"
#include "source.h"

/* One algorithm on one torus. */
struct projection;

/*
 * chunks: of the tree's pipeline; other algorithms ignore it. NULL: no schedule on that torus.
 * Exits when memory runs out. Takes some seconds for 32768 ranks.
 */
struct projection *project_make(enum source_algo algo, const struct machine *m, uint32_t chunks);
void project_free(struct projection *p);

/* Nanoseconds for a vector of so many bytes. */
double project_ns(const struct projection *p, double bytes, double overhead);

#endif
