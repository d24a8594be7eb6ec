/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchanges of alltoall.h as steps. The array of slots is scratch, which is filled first and
 * copied to the output last, where slot v has become the block of rank gr_alltoall_origin(v).
 *
 * A step has one run of chunks, and an exchange is a nest of them, so it goes in parts, each a
 * message: one for each digit and run of slots with that digit. These are `weight` slots side by
 * side, or one out of each group, whatever is longer:
 *
 *      digit 1 of radix 3, groups of 2       . . a b . . | . . c d . . | . . e f . .
 *      runs of a group: ab, cd, ef           runs across groups: ace, bdf
 *
 * Within a tick of the exchanges the parts are sent one after the other: each tick of these is as
 * many of the steps' ticks as an exchange has parts at most.
 */
#include "sched/algorithm.h"

#include "sched/alltoall.h"
#include "sched/torus.h"

/* Runs for a digit. */
static uint32_t runs_of(int p, int weight, int radix)
{
    int groups = p / (weight * radix);

    return (uint32_t) (groups < weight ? groups : weight);
}

static uint32_t parts_of(const struct gr_sched *s, const struct gr_exchange *e)
{
    return e->to < 0 ? 0
                     : (uint32_t) e->slots.count * runs_of(s->p, e->slots.weight, e->slots.radix);
}

/* The most parts of an exchange, and the most chunks of a part. */
struct most {
    uint32_t parts, chunks;
};

static void add_kind(struct most *most, int p, int weight, int radix, int count)
{
    uint32_t runs = runs_of(p, weight, radix), parts = (uint32_t) count * runs,
             chunks = (uint32_t) (p / radix) / runs;

    most->parts = parts > most->parts ? parts : most->parts;
    most->chunks = chunks > most->chunks ? chunks : most->chunks;
}

/* Of all ranks alike: from the kinds of exchanges that there are in each dimension. */
static struct most find_most(enum gr_algo algo, int p, const struct gr_torus *t)
{
    struct most most = {1, 1};
    int d, hops;

    for (d = 0; d < t->ndims; d++) {
        int extent = t->dims[d], stride = gr_torus_stride(t, d);

        if (GR_ALGO_ORDERED == algo && extent > 1) {
            add_kind(&most, p, stride, extent, gr_torus_is_line(t, d) ? extent - 1 : extent / 2);
        }
        for (hops = 1; GR_ALGO_SUH_SHIN == algo && hops <= 4 && extent >= 2 * hops; hops *= 2) {
            int radix = 4 == hops ? extent / 4 : 2;

            add_kind(&most, p, hops * stride, radix, radix - 1);
        }
    }
    return most;
}

/*
 * Which exchange of the rank step number *i (behind the filling) belongs to; then *i is the step in
 * it. 0: to none.
 */
static int find_exchange(const struct gr_sched *s, uint32_t *i, struct gr_exchange *e)
{
    uint32_t ticks = gr_alltoall_ticks(s), tick;
    int lane;

    for (tick = 0; tick < ticks; tick++) {
        for (lane = 0; lane < gr_alltoall_lanes(s); lane++) {
            *e = gr_alltoall_step(s, lane, tick);
            if (*i < 2 * parts_of(s, e)) {
                return 1;
            }
            *i -= 2 * parts_of(s, e);
        }
    }
    return 0;
}

/* The run of an exchange's part. */
static void set_run(const struct gr_sched *s, const struct gr_slots *slots, uint32_t part,
                    struct gr_step *t)
{
    uint32_t runs = runs_of(s->p, slots->weight, slots->radix), weight = (uint32_t) slots->weight,
             run = part % runs;
    int position = gr_wrap(slots->first + slots->step * (int) (part / runs), slots->radix);
    uint32_t digit = (uint32_t) (slots->fold ? gr_fold(slots->radix, position) : position);
    /* from a group to the next with the same digit */
    uint32_t whole = weight * (uint32_t) slots->radix;

    t->count = (uint32_t) (s->p / slots->radix) / runs;
    if (runs < weight) {
        t->first = run * whole + digit * weight;
        t->stride = 1;
    } else {
        t->first = digit * weight + run;
        t->stride = whole;
    }
}

static uint32_t exchanges_len(const struct gr_sched *s)
{
    struct gr_exchange e;
    uint32_t left = UINT32_MAX;

    (void) find_exchange(s, &left, &e);
    return 1 + (UINT32_MAX - left) + (uint32_t) s->p;
}

static struct gr_step exchanges_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_step t = gr_step_make(GR_STORE, GR_IN, GR_TMP, 0, 0);
    uint32_t ticks = find_most(s->algo, s->p, &s->torus).parts;
    struct gr_exchange e;

    t.count = (uint32_t) s->p;
    t.stride = 1;
    if (0 == i--) {
        return t;
    }
    if (!find_exchange(s, &i, &e)) {
        t = gr_step_make(GR_STORE | GR_FINAL, GR_TMP, GR_OUT, i, gr_alltoall_ticks(s) * ticks);
        t.shift = gr_alltoall_origin(s, (int) i) - (int) i;
        return t;
    }
    set_run(s, &e.slots, i / 2, &t);
    t.tick = e.tick * ticks + i / 2 + i % 2;
    t.operand = GR_TMP;
    if (0 == i % 2) {
        t.bits = GR_SEND;
        gr_step_to(s, &t, e.to);
    } else {
        t.bits = GR_RECV | GR_STORE;
        gr_step_from(s, &t, e.from);
    }
    return t;
}

/* The time of an Alltoall whose messages carry share * S bytes on their whole way. */
static double exchanges_cost(const struct gr_cost_terms *t, double share)
{
    return 2 * gr_cost_torus_hops(t->torus) * t->step + share * t->bytes * t->byte;
}

/* ---- ordered ---- */

static uint32_t ordered_message_chunks(int p, const struct gr_torus *torus)
{
    return find_most(GR_ALGO_ORDERED, p, torus).chunks;
}

/* A quarter of an extent's blocks in each exchange. */
static double ordered_cost(const struct gr_cost_terms *t)
{
    return exchanges_cost(t, gr_cost_torus_hops(t->torus) / 4 + 0.5);
}

/* The neighbours along each dimension, up and down. */
static struct gr_links_count ordered_links(int p, const struct gr_torus *torus)
{
    int d, n = 0;

    (void) p;
    for (d = 0; d < torus->ndims; d++) {
        n += torus->dims[d] > 2 ? 2 : torus->dims[d] - 1;
    }
    return (struct gr_links_count) {n, n};
}

const struct gr_algorithm gr_algorithm_ordered = {
    .name = "ordered",
    .help = "one dimension of a torus after the other, with messages combined",
    .colls = GR_BIT(GR_COLL_ALLTOALL),
    .scratch = GR_BIT(GR_COLL_ALLTOALL),
    .traits = GR_TRAIT_BY_RANK | GR_TRAIT_OVERWRITES_SENT,
    .fits = gr_torus_fits,
    .len = exchanges_len,
    .step = exchanges_step,
    .links = ordered_links,
    .message_chunks = ordered_message_chunks,
    .cost = ordered_cost,
    .internode_cost = gr_cost_all_pairs,
};

/* ---- suh-shin ---- */

static int suh_shin_fits(int p, const struct gr_torus *torus)
{
    int fits = gr_torus_fits(p, torus), d;

    for (d = 0; fits && d < torus->ndims; d++) {
        int extent = torus->dims[d];

        /* in a ring of 2 it only uses one link each way, so that it may as well be a line */
        fits = extent <= 2 || (0 == extent % 4 && !gr_torus_is_line(torus, d));
    }
    return fits;
}

static uint32_t suh_shin_message_chunks(int p, const struct gr_torus *torus)
{
    return find_most(GR_ALGO_SUH_SHIN, p, torus).chunks;
}

/* Half of all blocks in each round. */
static double suh_shin_cost(const struct gr_cost_terms *t)
{
    return exchanges_cost(t, gr_cost_torus_rounds(t->torus) / 2);
}

/* Half of each extent, three at most: neighbours, and partners of the exchanges. */
static struct gr_links_count suh_shin_links(int p, const struct gr_torus *torus)
{
    int d, n = 0;

    (void) p;
    for (d = 0; d < torus->ndims; d++) {
        n += torus->dims[d] < 6 ? torus->dims[d] / 2 : 3;
    }
    return (struct gr_links_count) {n, n};
}

const struct gr_algorithm gr_algorithm_suh_shin = {
    .name = "suh-shin",
    .help = "all dimensions of a torus at once, with messages combined; extents 1, 2 and multiples "
            "of 4",
    .colls = GR_BIT(GR_COLL_ALLTOALL),
    .scratch = GR_BIT(GR_COLL_ALLTOALL),
    .traits = GR_TRAIT_BY_RANK | GR_TRAIT_OVERWRITES_SENT,
    .fits = suh_shin_fits,
    .len = exchanges_len,
    .step = exchanges_step,
    .links = suh_shin_links,
    .message_chunks = suh_shin_message_chunks,
    .cost = suh_shin_cost,
    .internode_cost = gr_cost_all_pairs,
};
