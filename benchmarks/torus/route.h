/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The links that a message of an algorithm along a torus takes, for torus_sim and the check that no
 * two channels use a link at the same time. Schedules name ranks, so a route follows from what the
 * algorithm's file says of its channels.
 */
#ifndef TORUS_ROUTE_H
#define TORUS_ROUTE_H

#include "sched/alltoall.h"
#include "sched/torus.h"

/* Up, or down, around each ring; straight along a line. */
static inline void route_around(const struct gr_torus *t, int from, int to, int up,
                                int hops[GR_MAX_DIMS])
{
    int d;

    for (d = 0; d < t->ndims; d++) {
        int x = gr_torus_coord(t, from, d), y = gr_torus_coord(t, to, d);

        hops[d] = gr_torus_is_line(t, d) ? y - x
                  : up                   ? gr_wrap(y - x, t->dims[d])
                                         : -gr_wrap(x - y, t->dims[d]);
    }
}

/* The shortest route. */
static inline void route_shortest(const struct gr_torus *t, int from, int to, int hops[GR_MAX_DIMS])
{
    int d;

    for (d = 0; d < t->ndims; d++) {
        hops[d] = gr_torus_offset(t, d, gr_torus_coord(t, from, d), gr_torus_coord(t, to, d));
    }
}

/* As the exchanges of an Alltoall say; all exchanges with one rank have the same route. */
static inline void route_exchange(const struct gr_sched *s, int to, int hops[GR_MAX_DIMS])
{
    uint32_t tick;
    int lane;

    for (tick = 0; tick < gr_alltoall_ticks(s); tick++) {
        for (lane = 0; lane < gr_alltoall_lanes(s); lane++) {
            struct gr_exchange e = gr_alltoall_step(s, lane, tick);

            if (e.to == to) {
                hops[e.dim] = e.hops;
                return;
            }
        }
    }
}

/* From the schedule's rank to another: hops[d] links in dimension d, upwards where positive. */
static inline void route_of(const struct gr_sched *s, int to, int hops[GR_MAX_DIMS])
{
    int up = gr_torus_lane_of(s, GR_MAX_DIMS).up, d;

    for (d = 0; d < GR_MAX_DIMS; d++) {
        hops[d] = 0;
    }
    switch (s->algo) {
    case GR_ALGO_SUH_SHIN:
    case GR_ALGO_ORDERED:
        route_exchange(s, to, hops);
        break;
    case GR_ALGO_SWING:
        route_shortest(&s->torus, s->pos, to, hops);
        break;
    case GR_ALGO_BUCKET:
        route_around(&s->torus, s->pos, to, up, hops);
        break;
    case GR_ALGO_MST: /* a reduce goes in the opposite direction */
        route_around(&s->torus, s->pos, to, GR_COLL_REDUCE == s->coll ? !up : up, hops);
        break;
    default: /* its channels are alike */
        route_around(&s->torus, s->pos, to, 1, hops);
    }
}

#endif
