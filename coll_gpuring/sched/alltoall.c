/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dispatch to the algorithms of alltoall.h, the arithmetic of their slots, and one of them:
 *
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

#include <stddef.h>

/* Ticks of dimension d. */
static uint32_t dimension_ticks(const struct gr_torus *t, int d)
{
    return (uint32_t) (gr_torus_is_line(t, d) ? t->dims[d] - 1 : t->dims[d] / 2);
}

static uint32_t ordered_ticks(const struct gr_torus *t)
{
    uint32_t n = 0;
    int d;

    for (d = 0; d < t->ndims; d++) {
        n += dimension_ticks(t, d);
    }
    return n;
}

static struct gr_exchange ordered_step(const struct gr_alltoall *a, int lane, uint32_t tick)
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
static int ordered_origin(const struct gr_torus *t, int d, int x, int v)
{
    int extent = t->dims[d];

    if (gr_torus_is_line(t, d)) {
        return gr_fold(extent, gr_wrap(2 * gr_unfold(extent, x) - gr_unfold(extent, v), extent));
    }
    return gr_wrap(2 * x - v, extent);
}

/* ---- both algorithms ---- */

const char *gr_alltoall_name(enum gr_alltoall_algo algo)
{
    static const char *const names[GR_NALLTOALLS] = {"suh-shin", "dimension-ordered"};

    return (unsigned) algo < GR_NALLTOALLS ? names[algo] : NULL;
}

int gr_alltoall_suits(enum gr_alltoall_algo algo, const struct gr_torus *torus)
{
    int d;

    for (d = 0; d < torus->ndims && GR_ALLTOALL_SUH_SHIN == algo; d++) {
        int extent = torus->dims[d];

        /* in a ring of 2 it only uses one link each way, so that it may as well be a line */
        if (extent > 2 && (0 != extent % 4 || gr_torus_is_line(torus, d))) {
            return 0;
        }
    }
    return torus->ndims >= 1;
}

uint32_t gr_alltoall_ticks(const struct gr_alltoall *a)
{
    return GR_ALLTOALL_SUH_SHIN == a->algo ? gr_suh_shin_ticks(&a->torus)
                                           : ordered_ticks(&a->torus);
}

int gr_alltoall_lanes(const struct gr_alltoall *a)
{
    return GR_ALLTOALL_SUH_SHIN == a->algo ? 1 : 2;
}

struct gr_exchange gr_alltoall_step(const struct gr_alltoall *a, int lane, uint32_t tick)
{
    return GR_ALLTOALL_SUH_SHIN == a->algo ? gr_suh_shin_step(a, tick)
                                           : ordered_step(a, lane, tick);
}

int gr_alltoall_origin(const struct gr_alltoall *a, int slot)
{
    const struct gr_torus *t = &a->torus;
    int origin = slot, d;

    for (d = 0; d < t->ndims; d++) {
        int x = gr_torus_coord(t, a->rank, d), v = gr_torus_coord(t, slot, d);

        origin = gr_torus_at(t, origin, d,
                             GR_ALLTOALL_SUH_SHIN == a->algo ? gr_suh_shin_origin(t, d, x, v)
                                                             : ordered_origin(t, d, x, v));
    }
    return origin;
}

/* Slots with the same digit. */
static int alike(const struct gr_alltoall *a, const struct gr_slots *slots)
{
    return gr_torus_stride(&a->torus, a->torus.ndims) / slots->radix;
}

int gr_slots_count(const struct gr_alltoall *a, const struct gr_slots *slots)
{
    return slots->count * alike(a, slots);
}

int gr_slots_at(const struct gr_alltoall *a, const struct gr_slots *slots, int k)
{
    int rest = k % alike(a, slots);
    int digit = gr_wrap(slots->first + slots->step * (k / alike(a, slots)), slots->radix);

    if (slots->fold) {
        digit = gr_fold(slots->radix, digit);
    }
    return (rest / slots->weight * slots->radix + digit) * slots->weight + rest % slots->weight;
}
