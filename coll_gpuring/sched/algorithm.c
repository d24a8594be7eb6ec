/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of links that several algorithms have. */
#include "sched/algorithm.h"

static struct gr_links_count same(int n)
{
    return (struct gr_links_count) {n, n};
}

struct gr_links_count gr_links_one(int p, const struct gr_torus *torus)
{
    (void) p;
    (void) torus;
    return same(1);
}

struct gr_links_count gr_links_two_trees(int p, const struct gr_torus *torus)
{
    (void) p;
    (void) torus;
    return same(4);
}

struct gr_links_count gr_links_all(int p, const struct gr_torus *torus)
{
    (void) torus;
    return same(p - 1);
}

struct gr_links_count gr_links_doubling(int p, const struct gr_torus *torus)
{
    (void) torus;
    return same(gr_doubling_rounds(p));
}

struct gr_links_count gr_links_torus_doubling(int p, const struct gr_torus *torus)
{
    int d, n = 0;

    (void) p;
    for (d = 0; d < torus->ndims; d++) {
        n += gr_doubling_rounds(torus->dims[d]);
    }
    return same(n);
}

struct gr_links_count gr_links_leaders(int ranks, int between)
{
    int most = ranks - 1 + between;

    return (struct gr_links_count) {most, (most + 2 * (ranks - 1)) / ranks};
}
