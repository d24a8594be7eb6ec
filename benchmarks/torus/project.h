/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Projects what an allreduce costs on a torus, tick by tick, for the schedules of
 * coll_gpuring/sched.
 *
 * In a tick every message takes  overhead + latency of its way + (bytes on the busiest link of its
 * way) / bandwidth, and the tick takes as long as its slowest message: ranks are in step, as under
 * scheme 3 of schemes.h. So a tick's time is the greatest of some straight lines in the size of the
 * vector, which are found once for all sizes. Channels of a bucket are in step only where they
 * change dimension.
 */
#ifndef TORUS_PROJECT_H
#define TORUS_PROJECT_H

#include "source.h"

/* All that is to know of one algorithm on one torus. */
struct projection;

/*
 * chunks: of the tree's pipeline; others do not read it. NULL where the algorithm has no schedule
 * on that torus; exits when memory runs out. Takes some seconds for 32768 ranks.
 */
struct projection *project_make(enum source_algo algo, const struct machine *m, uint32_t chunks);
void project_free(struct projection *p);

/* Nanoseconds for a vector of so many bytes. */
double project_ns(const struct projection *p, double bytes, double overhead);

/* Ticks of the schedule. */
uint32_t project_ticks(const struct projection *p);

#endif
