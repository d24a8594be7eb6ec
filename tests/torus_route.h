/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortest routes on a torus by the functions of topo/torus.h, for their tests. */
#ifndef GR_TESTS_TORUS_ROUTE_H
#define GR_TESTS_TORUS_ROUTE_H

#include "../benchmarks/torus/links.h"

#include <stdlib.h>

/* Length of a shortest route between two ranks, in hops. */
static inline int torus_hops(const struct gr_torus *torus, int from, int to)
{
    int hops = 0, d;

    for (d = 0; d < torus->ndims; d++) {
        hops += abs(gr_torus_offset(torus, d, gr_torus_coord(torus, from, d),
                                    gr_torus_coord(torus, to, d)));
    }
    return hops;
}

/*
 * The shortest route in dimension order: dimension 0 first, then 1, and so on. Writes the link
 * numbers to links[], which has torus_hops() entries. Returns their number.
 */
static inline int torus_route(const struct gr_torus *torus, int from, int to, int *links)
{
    int n = 0, d, offset, step;

    for (d = 0; d < torus->ndims; d++) {
        offset =
            gr_torus_offset(torus, d, gr_torus_coord(torus, from, d), gr_torus_coord(torus, to, d));
        step = offset > 0 ? 1 : -1;
        for (; 0 != offset; offset -= step) {
            links[n++] = torus_link(torus, from, d, step > 0);
            from = gr_torus_move(torus, from, d, step);
        }
    }
    return n;
}

#endif
