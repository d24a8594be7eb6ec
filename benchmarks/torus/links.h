/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of the links of a torus (topo/torus.h), for what counts their load; also for tests. */
#ifndef GR_BENCHMARKS_TORUS_LINKS_H
#define GR_BENCHMARKS_TORUS_LINKS_H

#include "topo/torus.h"

/*
 * The number of the link from a rank in dimension d, upwards (up != 0) or downwards. A line's ends
 * have such a number, too, which no link uses.
 */
static inline int torus_link(const struct gr_torus *t, int rank, int d, int up)
{
    return 2 * (rank * t->ndims + d) + (0 == up);
}

/* All link numbers are below this. */
static inline int torus_links(const struct gr_torus *torus)
{
    return 2 * torus->ndims * gr_torus_size(torus);
}

#endif
