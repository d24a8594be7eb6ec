/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where algorithms along a torus can run, and which links their messages take: what of torus.h is
 * for the host only.
 */
#include "sched/torus.h"

#include "sched/algos.h"
#include "sched/alltoall.h"

int gr_torus_fits(enum gr_algo algo, int p, const struct gr_torus *t)
{
    if (GR_ALGO_DOUBLING == algo) {
        return 1;
    }
    if (NULL == t || t->ndims < 1 || gr_torus_size(t) != p) {
        return 0;
    }
    return GR_ALGO_SUH_SHIN != algo || gr_alltoall_suits(GR_ALLTOALL_SUH_SHIN, t);
}

uint32_t gr_torus_most(enum gr_algo algo, int p, const struct gr_torus *t)
{
    uint32_t most = 1;
    int d;

    /* half of all, or all where some are folded: no power of two */
    if (GR_ALGO_SWING == algo || GR_ALGO_DOUBLING == algo) {
        return 1 == p ? 1 : 0 == (p & (p - 1)) ? (uint32_t) p / 2 : (uint32_t) p;
    }
    if (GR_ALGO_TWO_LEVEL == algo) { /* between leaders and the others of their nodes */
        return (uint32_t) p;
    }
    if (GR_ALGO_BUCKET != algo) {
        return gr_exchanges_most(algo, p, t);
    }
    for (d = 0; d < t->ndims; d++) { /* some channel may take it first */
        if (t->dims[d] > 1 && (uint32_t) (p / t->dims[d]) > most) {
            most = (uint32_t) (p / t->dims[d]);
        }
    }
    return most;
}

void gr_torus_way(const struct gr_sched *s, const struct gr_step *step, int hops[GR_MAX_DIMS])
{
    const struct gr_torus *t = &s->torus;
    int up = gr_torus_lane_of(s).up, to = step->to[0], d;

    if (GR_COLL_ALLTOALL == s->coll) {
        gr_exchanges_way(s, step, hops);
        return;
    }
    if (GR_ALGO_MST == s->algo && GR_COLL_REDUCE == s->coll) {
        up = !up; /* the way back */
    }
    for (d = 0; d < GR_MAX_DIMS; d++) {
        hops[d] = 0;
        if (d < t->ndims) {
            int x = gr_torus_coord(t, s->pos, d), y = gr_torus_coord(t, to, d);

            hops[d] = gr_torus_offset(t, d, x, y);
            /* they keep to the channel's direction */
            if (GR_ALGO_SWING != s->algo && !gr_torus_is_line(t, d)) {
                hops[d] = up ? gr_wrap(y - x, t->dims[d]) : -gr_wrap(x - y, t->dims[d]);
            }
        }
    }
}
