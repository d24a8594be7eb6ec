/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dimension-ordered Alltoall: one dimension after the other, in each a scatter along all its rings
 * at once. A block moves to the coordinate of its destination in dimension 0, then in dimension 1,
 * ...; blocks that go the same way travel in one message.
 *
 *      a ring of 5, round 0 and 1 of lane 0 (upwards) and lane 1 (downwards), as rank 0 sends them:
 *
 *      lane 0   to 1: what is for 1, 2            then, of what came from 4: what is for 1
 *      lane 1   to 4: what is for 4, 3            then, of what came from 1: what is for 4
 *
 * A ring of extent n takes n/2 ticks; halfway around an even one, blocks go up. A line takes n - 1
 * ticks as a folded ring (gr_fold()), in lane 0 only: even coordinates use the links upwards, odd
 * ones those downwards, each once.
 *
 * Cost of a ring dimension, m bytes per pair of p ranks: n/2 (a + hop) + (n/2)(n/2 + 1)/2 (p/n) m
 * b, that is about (n/8) p m b; of a line: (n-1)(a + 2 hops) + (n-1)/2 p m b.
 */
#include "sched/alltoall.h"

/* Ticks of dimension d. */
static uint32_t dimension_ticks(const struct gr_torus *t, int d)
{
    return (uint32_t) (gr_torus_is_line(t, d) ? t->dims[d] - 1 : t->dims[d] / 2);
}

uint32_t gr_ordered_ticks(const struct gr_torus *t)
{
    uint32_t n = 0;
    int d;

    for (d = 0; d < t->ndims; d++) {
        n += dimension_ticks(t, d);
    }
    return n;
}

struct gr_exchange gr_ordered_step(const struct gr_alltoall *a, int lane, uint32_t tick)
{
    const struct gr_torus *t = &a->torus;
    struct gr_exchange e = gr_exchange_none(tick);
    int d = 0, extent, line, x, position, step = 0 == lane ? 1 : -1, farthest;

    for (e.round = tick; e.round >= dimension_ticks(t, d); d++) {
        e.round -= dimension_ticks(t, d);
    }
    extent = t->dims[d];
    line = gr_torus_is_line(t, d);
    x = gr_torus_coord(t, a->rank, d);
    position = line ? gr_unfold(extent, x) : x;
    /* the most hops that a block goes in this lane */
    farthest = line ? (0 == lane ? extent - 1 : 0) : 0 == lane ? extent / 2 : (extent - 1) / 2;
    if ((int) e.round >= farthest) {
        return e;
    }
    e.dim = d;
    e.slots.weight = gr_torus_stride(t, d);
    e.slots.radix = extent;
    e.slots.first = gr_wrap(position + step * ((int) e.round + 1), extent);
    e.slots.step = step;
    e.slots.count = farthest - (int) e.round;
    e.slots.fold = line;
    if (line) {
        int next = gr_fold(extent, (position + 1) % extent);

        e.hops = next - x;
        e.to = gr_torus_at(t, a->rank, d, next);
        e.from = gr_torus_at(t, a->rank, d, gr_fold(extent, gr_wrap(position - 1, extent)));
    } else {
        e.hops = step;
        e.to = gr_torus_move(t, a->rank, d, step);
        e.from = gr_torus_move(t, a->rank, d, -step);
    }
    return e;
}

/* In dimension d, at coordinate x: the reflection of alltoall.h, on the ring. */
int gr_ordered_origin(const struct gr_torus *t, int d, int x, int v)
{
    int extent = t->dims[d];

    if (gr_torus_is_line(t, d)) {
        return gr_fold(extent, gr_wrap(2 * gr_unfold(extent, x) - gr_unfold(extent, v), extent));
    }
    return gr_wrap(2 * x - v, extent);
}
