/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms of alltoall.h, and the arithmetic of their slots.
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

/* An exchange in which nothing is done. */
static struct gr_exchange exchange_none(uint32_t tick)
{
    return (struct gr_exchange) {
        .to = -1, .from = -1, .slots = {.weight = 1, .radix = 1}, .tick = tick};
}

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

static struct gr_exchange ordered_step(const struct gr_sched *s, int lane, uint32_t tick)
{
    const struct gr_torus *t = &s->torus;
    struct gr_exchange e = exchange_none(tick);
    int d = 0, extent, line, x, position, step = 0 == lane ? 1 : -1, farthest;

    for (e.round = tick; e.round >= dimension_ticks(t, d); d++) {
        e.round -= dimension_ticks(t, d);
    }
    extent = t->dims[d];
    line = gr_torus_is_line(t, d);
    x = gr_torus_coord(t, s->pos, d);
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
        e.to = gr_torus_at(t, s->pos, d, next);
        e.from = gr_torus_at(t, s->pos, d, gr_fold(extent, gr_wrap(position - 1, extent)));
    } else {
        e.hops = step;
        e.to = gr_torus_move(t, s->pos, d, step);
        e.from = gr_torus_move(t, s->pos, d, -step);
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

/* ---- Suh and Shin's ---- */

/*
 * Alltoall of Suh and Shin: three stages of 4, 2 and 1 hops, which take a block to the right four
 * neighbours of a dimension, then to the right two of these, then to its destination. In every tick
 * each rank sends one message, in the dimension and direction that its coordinates mod 4 say, so
 * that no link carries two:
 *
 *      stage 1, a plane, phase A      + +X   ^ +Y   - -X   v -Y    a rank's letter is (x + y) mod 4
 *
 *        y=1    ^  -  v  +            in the row y = 0: x = 0 sends to 4 over the links upwards,
 *        y=0    +  ^  -  v            4 to 8, ...; x = 2 sends to -2 over those downwards; all of
 *               x=0 1  2  3           them are busy, each once
 *
 *      phase B: the other dimension, so that ^ + v - stands for + ^ - v
 *
 * A stage with dimensions X, Y, Z, W in which there is something to do has these phases:
 *
 *      dimensions   phases
 *      1            even x; odd x
 *      2            A; B
 *      3            z even A, z odd Z; z odd A, z even Z; all B
 *      4            A of X and Y; B of X and Y; A of Z and W; B of Z and W
 *
 * Stage 1: a phase is a ring scatter among the ranks with the same coordinate mod 4, extent/4 - 1
 * rounds of 4 hops. Stage 2: one exchange of 2 hops per phase, upwards from coordinates 0 and 1 mod
 * 4, downwards from 2 and 3. Stage 3: one exchange of 1 hop per dimension, upwards from even
 * coordinates, downwards from odd ones. Moves by 4 keep coordinates mod 4, and so a rank's part in
 * the pattern; moves by 2 keep them mod 2.
 *
 * D dimensions of extent a take D(a/4 + 1) ticks, and a rank sends D (a + 4) p / 8 blocks. Extents
 * may differ; a dimension whose ring is through then waits for the others of its phase. Extents of
 * 1 and 2 have no part in the first stages. Source: Suh, Shin: All-to-all personalized
 * communication in multidimensional torus and mesh networks, IEEE TPDS 12 (1), 2001, for equal
 * extents in 2 and 3 dimensions. One dimension, four, and extents of 1 and 2 are ours.
 */
/* Of a stage: hops of its messages, and the least extent for which there is something to do. */
static int stage_hops(int stage)
{
    return 4 >> stage;
}

/*
 * Where the tick lies: stage, phase in it, round of the phase; and the dimensions that the stage
 * has to do with.
 */
struct phase_at {
    int stage, phase, round;
    int naxes, axes[GR_MAX_DIMS];
};

/* The dimensions of a stage; the first one needs two groups of four. */
static void find_axes(const struct gr_torus *t, struct phase_at *at)
{
    int d;

    at->naxes = 0;
    for (d = 0; d < t->ndims; d++) {
        if (t->dims[d] >= 2 * stage_hops(at->stage)) {
            at->axes[at->naxes++] = d;
        }
    }
}

static int phases(const struct phase_at *at)
{
    return 1 == at->naxes && at->stage < 2 ? 2 : at->naxes;
}

/* Rounds of a phase: those of its longest ring. */
static int rounds(const struct gr_torus *t, const struct phase_at *at)
{
    /* three dimensions share phases 0 and 1; the last has no part in phase 2. Four go by pairs. */
    int first = 4 == at->naxes ? at->phase / 2 * 2 : 0;
    int last = 4 == at->naxes ? first + 2 : 3 == at->naxes && 2 == at->phase ? 2 : at->naxes;
    int most = 1, k;

    if (0 != at->stage) {
        return 1;
    }
    for (k = first; k < last; k++) {
        most = t->dims[at->axes[k]] / 4 > most ? t->dims[at->axes[k]] / 4 : most;
    }
    return most - 1;
}

/* Find where the tick lies, or count all ticks (when asked for one beyond the end). */
static uint32_t find_phase(const struct gr_torus *t, uint32_t tick, struct phase_at *at)
{
    uint32_t sum = 0;

    for (at->stage = 0; at->stage < 3; at->stage++) {
        find_axes(t, at);
        for (at->phase = 0; at->phase < phases(at); at->phase++) {
            uint32_t n = (uint32_t) rounds(t, at);

            if (tick - sum < n) {
                at->round = (int) (tick - sum);
                return sum;
            }
            sum += n;
        }
    }
    return sum;
}

static uint32_t suh_shin_ticks(const struct gr_torus *t)
{
    struct phase_at at;

    return find_phase(t, UINT32_MAX, &at);
}

/*
 * Which of the axes the rank uses in the phase (-1: none), and the sum whose value mod 4 says the
 * direction.
 */
static int pick_axis(const struct gr_sched *s, const struct phase_at *at, int *sum)
{
    int x[GR_MAX_DIMS] = {0, 0, 0, 0}, pair = 0, other = at->phase % 2, k;

    for (k = 0; k < at->naxes; k++) {
        x[k] = gr_torus_coord(&s->torus, s->pos, at->axes[k]);
    }
    if (2 == at->stage) {
        *sum = x[at->phase];
        return at->phase;
    }
    *sum = x[0];
    if (1 == at->naxes) {
        return x[0] % 2 == at->phase ? 0 : -1;
    }
    if (3 == at->naxes) {
        if (at->phase < 2 && x[2] % 2 != at->phase) {
            *sum = x[2];
            return 2;
        }
        other = 2 == at->phase;
    }
    if (4 == at->naxes) {
        pair = at->phase / 2 * 2;
    }
    *sum = x[pair] + x[pair + 1];
    k = pair + (*sum % 2 != other);
    if (1 == at->stage) {
        *sum = x[k];
    }
    return k;
}

static struct gr_exchange suh_shin_step(const struct gr_sched *s, uint32_t tick)
{
    const struct gr_torus *t = &s->torus;
    struct gr_exchange e = exchange_none(tick);
    struct phase_at at;
    int axis, sum, up, hops, mine;

    find_phase(t, tick, &at);
    hops = stage_hops(at.stage);
    axis = pick_axis(s, &at, &sum);
    if (axis < 0) {
        return e;
    }
    /* find_phase() has set it. NOLINTBEGIN(clang-analyzer-core.*) */
    e.dim = at.axes[axis];
    e.slots.radix = 0 == at.stage ? t->dims[e.dim] / 4 : 2;
    if (at.round >= e.slots.radix - 1) {
        return e;
    }
    /* NOLINTEND(clang-analyzer-core.*) */
    up = 2 == at.stage ? 0 == sum % 2 : sum % 4 < 2;
    mine = gr_torus_coord(t, s->pos, e.dim) / hops % e.slots.radix;
    e.round = (uint32_t) at.round;
    e.hops = up ? hops : -hops;
    e.to = gr_torus_move(t, s->pos, e.dim, e.hops);
    e.from = 0 == at.stage ? gr_torus_move(t, s->pos, e.dim, -e.hops) : e.to;
    e.slots.weight = gr_torus_stride(t, e.dim) * hops;
    e.slots.step = up ? 1 : -1;
    e.slots.first = gr_wrap(mine + e.slots.step * (at.round + 1), e.slots.radix);
    e.slots.count = e.slots.radix - 1 - at.round;
    return e;
}

/* In dimension d, at coordinate x: groups of four are reflected, and within a group nothing is. */
static int suh_shin_origin(const struct gr_torus *t, int d, int x, int v)
{
    int groups = t->dims[d] / 4;

    return groups < 2 ? v : gr_wrap(2 * (x / 4) - v / 4, groups) * 4 + v % 4;
}

/* ---- both algorithms ---- */

uint32_t gr_alltoall_ticks(const struct gr_sched *s)
{
    return GR_ALGO_SUH_SHIN == s->algo ? suh_shin_ticks(&s->torus) : ordered_ticks(&s->torus);
}

int gr_alltoall_lanes(const struct gr_sched *s)
{
    return GR_ALGO_SUH_SHIN == s->algo ? 1 : 2;
}

struct gr_exchange gr_alltoall_step(const struct gr_sched *s, int lane, uint32_t tick)
{
    return GR_ALGO_SUH_SHIN == s->algo ? suh_shin_step(s, tick) : ordered_step(s, lane, tick);
}

int gr_alltoall_origin(const struct gr_sched *s, int slot)
{
    const struct gr_torus *t = &s->torus;
    int origin = slot, d;

    for (d = 0; d < t->ndims; d++) {
        int x = gr_torus_coord(t, s->pos, d), v = gr_torus_coord(t, slot, d);

        origin = gr_torus_at(t, origin, d,
                             GR_ALGO_SUH_SHIN == s->algo ? suh_shin_origin(t, d, x, v)
                                                         : ordered_origin(t, d, x, v));
    }
    return origin;
}
