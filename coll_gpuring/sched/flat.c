/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flat algorithms: one hop between all ranks concerned, GR_FAN links per step. They have the fewest
 * hops, so they suit small messages and few ranks. A rank moves (p-1) n bytes where a ring moves 2
 * (p-1)/p n.
 *
 *      bcast            the root sends to root+1, root+2, ...
 *      reduce           the root takes from root+1, root+2, ...
 *      allreduce        reduce to the root, then bcast: the same bits everywhere
 *      allgather        rank x sends its block to x+1, x+2, ...
 *      reduce_scatter   rank x sends each its block, and sums its own: x, then x-1, x-2, ...
 *
 * Two more for allreduce:
 *
 *      oneshot          every rank sends all its data to all ranks, and sums: one hop
 *      twoshot          reduce_scatter, then allgather: two hops, and no more bytes than a ring
 *
 * Order of reduction: ((x_root + x_{root+1}) + x_{root+2}) + ..., for reduce_scatter and twoshot
 * ((x_b + x_{b-1}) + x_{b-2}) + ..., for oneshot ((x_0 + x_1) + x_2) + ... at all ranks: the same
 * bits everywhere.
 */
#include "sched/algorithm.h"

/* Steps that it takes to serve all p - 1 others. */
static uint32_t fans(const struct gr_sched *s)
{
    return (uint32_t) ((s->p - 1 + GR_FAN - 1) / GR_FAN);
}

/*
 * Add the links of fan number f: the peers at distances 1 + f GR_FAN, 2 + f GR_FAN, ... in
 * direction dir.
 */
static void fan_links(const struct gr_sched *s, int32_t links[GR_FAN], uint8_t *n, uint32_t f,
                      int dir)
{
    int first = 1 + (int) f * GR_FAN, d;

    for (d = first; d < first + GR_FAN && d < s->p; d++) {
        links[(*n)++] = gr_rank_at(s, gr_wrap(s->pos + dir * d, s->p));
    }
}

/* Sum number f of what comes from others: the first onto the input, later ones onto the output. */
static struct gr_step fan_in(const struct gr_sched *s, uint32_t f, uint32_t chunk, uint32_t tick,
                             int dir)
{
    struct gr_step t =
        gr_step_make(GR_RECV | GR_REDUCE | GR_STORE, 0 == f ? GR_IN : GR_OUT, GR_OUT, chunk, tick);

    t.bits |= f == fans(s) - 1 ? GR_FINAL : 0;
    fan_links(s, t.from, &t.nfrom, f, dir);
    return t;
}

/* A result to fan number f of the others. */
static struct gr_step fan_out(const struct gr_sched *s, uint32_t f, int operand, uint32_t chunk,
                              uint32_t tick)
{
    struct gr_step t = gr_step_make(GR_SEND | GR_FINAL, operand, GR_OUT, chunk, tick);

    fan_links(s, t.to, &t.nto, f, 1);
    return t;
}

/* Ticks per chunk: the rays' sends, the root's steps, the rays' receipt. */
static uint32_t star_ticks(const struct gr_sched *s)
{
    return 2 * fans(s) + 2;
}

/*
 * What the root does for one chunk in its step i: take from all where it reduces, then give to all.
 */
static struct gr_step star_centre(const struct gr_sched *s, uint32_t i, uint32_t chunk)
{
    uint32_t reducing = GR_COLL_BCAST == s->coll ? 0 : fans(s);
    uint32_t tick = chunk * star_ticks(s) + 1 + i;

    if (i < reducing) {
        return fan_in(s, i, chunk, tick, 1);
    }
    return fan_out(s, i - reducing, GR_COLL_BCAST == s->coll ? GR_IN : GR_OUT, chunk, tick);
}

/* What the others do: give theirs where the root reduces, then take the result. */
static struct gr_step star_ray(const struct gr_sched *s, uint32_t i, uint32_t chunk)
{
    struct gr_step t;

    if (0 == i && GR_COLL_BCAST != s->coll) {
        t = gr_step_make(GR_SEND, GR_IN, GR_OUT, chunk, chunk * star_ticks(s));
        gr_step_to(s, &t, s->root);
        return t;
    }
    t = gr_step_make(GR_RECV | GR_STORE | GR_FINAL, GR_IN, GR_OUT, chunk,
                     (chunk + 1) * star_ticks(s) - 1);
    gr_step_from(s, &t, s->root);
    return t;
}

/* Steps per chunk. */
static uint32_t star_len(const struct gr_sched *s)
{
    uint32_t each = GR_COLL_ALLREDUCE == s->coll ? 2 : 1;

    return s->pos == s->root ? each * fans(s) : each;
}

/* Take the block of the peer k + 1 before this one. */
static struct gr_step block_in(const struct gr_sched *s, int k, uint32_t tick)
{
    int peer = gr_wrap(s->pos - 1 - k, s->p);
    struct gr_step t = gr_step_make(GR_RECV | GR_STORE | GR_FINAL, GR_IN, GR_OUT,
                                    (uint32_t) gr_rank_at(s, peer), tick);

    gr_step_from(s, &t, peer);
    return t;
}

static struct gr_step flat_allgather(const struct gr_sched *s, uint32_t i)
{
    struct gr_step t;

    if (i < fans(s)) {
        t = fan_out(s, i, GR_IN, (uint32_t) gr_rank_at(s, s->pos), i);
        t.bits |= 0 == i ? GR_STORE : 0;
        return t;
    }
    return block_in(s, (int) (i - fans(s)), i);
}

static struct gr_step flat_reduce_scatter(const struct gr_sched *s, uint32_t i)
{
    struct gr_step t;
    uint32_t sends = (uint32_t) s->p - 1;
    int peer;

    if (i >= sends) {
        return fan_in(s, i - sends, (uint32_t) gr_rank_at(s, s->pos), i, -1);
    }
    peer = gr_wrap(s->pos + 1 + (int) i, s->p);
    t = gr_step_make(GR_SEND, GR_IN, GR_OUT, (uint32_t) gr_rank_at(s, peer), i);
    gr_step_to(s, &t, peer);
    return t;
}

uint32_t gr_flat_len(const struct gr_sched *s)
{
    int blocks = GR_COLL_ALLGATHER == s->coll || GR_COLL_REDUCE_SCATTER == s->coll;

    return blocks ? fans(s) + (uint32_t) s->p - 1 : s->nchunks * star_len(s);
}

struct gr_step gr_flat_step(const struct gr_sched *s, uint32_t i)
{
    uint32_t n;

    if (GR_COLL_ALLGATHER == s->coll) {
        return flat_allgather(s, i);
    }
    if (GR_COLL_REDUCE_SCATTER == s->coll) {
        return flat_reduce_scatter(s, i);
    }
    n = star_len(s);
    return s->pos == s->root ? star_centre(s, i % n, i / n) : star_ray(s, i % n, i / n);
}

/* ---- oneshot ---- */

uint32_t gr_oneshot_len(const struct gr_sched *s)
{
    return 2 * s->nchunks;
}

struct gr_step gr_oneshot_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_step t;
    int k;

    if (0 == i % 2) {
        t = gr_step_make(GR_SEND, GR_IN, GR_OUT, i / 2, i);
        fan_links(s, t.to, &t.nto, 0, 1);
        return t;
    }
    t = gr_step_make(GR_RECV | GR_REDUCE | GR_STORE | GR_FINAL, GR_IN, GR_OUT, i / 2, i);
    t.before = (uint8_t) s->pos;
    for (k = 0; k < s->p - 1; k++) {
        gr_step_from(s, &t, k < s->pos ? k : k + 1);
    }
    return t;
}

/* ---- twoshot ---- */

/* Steps up to the last sum of this rank's block, which is sent on at once. */
static uint32_t twoshot_sums(const struct gr_sched *s)
{
    return (uint32_t) s->p - 1 + fans(s);
}

uint32_t gr_twoshot_len(const struct gr_sched *s)
{
    return twoshot_sums(s) + fans(s) - 1 + (uint32_t) s->p - 1;
}

struct gr_step gr_twoshot_step(const struct gr_sched *s, uint32_t i)
{
    uint32_t sums = twoshot_sums(s), own = (uint32_t) gr_rank_at(s, s->pos);
    struct gr_step t;

    if (i < sums) {
        t = flat_reduce_scatter(s, i);
        if (i == sums - 1) {
            t.bits |= GR_SEND;
            fan_links(s, t.to, &t.nto, 0, 1);
        }
        return t;
    }
    i -= sums - 1; /* number of the fan, then of the block that comes */
    if (i < fans(s)) {
        return fan_out(s, i, GR_OUT, own, sums - 1 + i);
    }
    return block_in(s, (int) (i - fans(s)), sums - 1 + i);
}

/* ---- costs ---- */

/* Bytes of a message in flight to or from the root while another one is made ready. */
#define HIDDEN_AT_ROOT 32.0

/* Messages of all ranks to all others at once hinder each other by so much. */
#define CROWD 1.1

static double flat_cost(const struct gr_cost_terms *t)
{
    double p = t->p, s = t->bytes, slots = ceil(s / p / t->most);
    int blocks = GR_COLL_ALLGATHER == t->coll || GR_COLL_REDUCE_SCATTER == t->coll;

    if (t->device && blocks) {
        return slots * (t->step + p * t->next) + (p - 1) * s / p * t->byte;
    }
    if (blocks) {
        /* one hop and no forwarding, but all links at once, which caches like less than one */
        return slots * (1.25 + 0.75 * (p - 1)) * t->step + 1.25 * s * t->byte;
    }
    /*
     * the centre does everything, one vector through each link; three links cost about a step more
     */
    slots = ceil(s / t->most);
    return (GR_COLL_ALLREDUCE == t->coll ? 2 : 1) *
           (slots * (1 + (p - 1) / 3) * t->step + (t->sends_once ? 1 : p - 1) * s * t->byte);
}

/* Ranks on other nodes, as seen from one. */
static double remote_ranks(const struct gr_cost_terms *t)
{
    return (double) t->p - t->internode->ranks;
}

static double crowd(const struct gr_cost_terms *t)
{
    return remote_ranks(t) > 1 ? CROWD : 1;
}

/*
 * To the root, or from it. Measured: on nodes of one rank each, the further messages hide headers,
 * and a message's first bytes.
 */
static struct gr_internode_cost star_internode_cost(const struct gr_cost_terms *t)
{
    double others = remote_ranks(t), halves = GR_COLL_ALLREDUCE == t->coll ? 2 : 1,
           s = gr_cost_with_header(t);

    if (1 == t->internode->ranks) {
        s = fmax(0, t->bytes - (halves > 1 ? 0 : HIDDEN_AT_ROOT));
    }
    return (struct gr_internode_cost) {
        .hops = halves, .messages = halves * (others - 1), .bytes = halves * others * s};
}

static struct gr_internode_cost flat_internode_cost(const struct gr_cost_terms *t)
{
    double n = t->p, ranks = t->internode->ranks, others = remote_ranks(t);

    if (GR_COLL_ALLGATHER != t->coll && GR_COLL_REDUCE_SCATTER != t->coll) {
        return star_internode_cost(t);
    }
    return (struct gr_internode_cost) {.hops = 1,
                                       .messages = 2 * (others - 1),
                                       .bytes =
                                           crowd(t) * ranks * others / n * gr_cost_with_header(t)};
}

static int flat_auto_ranks(const struct gr_cost_terms *t)
{
    (void) t;
    return GR_FLAT_RANKS;
}

/* Of oneshot and twoshot. */
static int shot_auto_ranks(const struct gr_cost_terms *t)
{
    return t->internode->nodes > 1 ? GR_FLAT_RANKS
           : t->device             ? GR_SHOT_RANKS_DEVICE
                                   : GR_SHOT_RANKS;
}

/* One hop per slice, one slice after the other; each rank sends all its data to all ranks. */
static double oneshot_cost(const struct gr_cost_terms *t)
{
    double p = t->p, s = t->bytes;

    return ceil(s / t->most) * (t->step + 2 * t->next) + (p - 1) * s * t->byte;
}

static struct gr_internode_cost oneshot_internode_cost(const struct gr_cost_terms *t)
{
    double ranks = t->internode->ranks, others = remote_ranks(t);

    return (struct gr_internode_cost) {.hops = 1,
                                       .messages = 2 * (others - 1),
                                       .bytes = crowd(t) * ranks * others * gr_cost_with_header(t)};
}

/* Two hops, and a step for each block that is sent or taken. */
static double twoshot_cost(const struct gr_cost_terms *t)
{
    double p = t->p, s = t->bytes, slots = ceil(s / p / t->most);

    return slots * (2 * t->step + (2 * p - 1) * t->next) + 2 * (p - 1) * s / p * t->byte;
}

static struct gr_internode_cost twoshot_internode_cost(const struct gr_cost_terms *t)
{
    double n = t->p, ranks = t->internode->ranks, others = remote_ranks(t);

    return (struct gr_internode_cost) {.hops = 2,
                                       .messages = 4 * (others - 1),
                                       .bytes = 2 * crowd(t) * ranks * others / n *
                                                gr_cost_with_header(t)};
}

/* ---- descriptors ---- */

const struct gr_algorithm gr_algorithm_flat = {
    .name = "flat",
    .help = "direct links between all ranks, or the root and all others: the fewest hops",
    .colls = GR_BLOCK_COLLS | GR_ROOTED_COLLS,
    .pipes = GR_BIT(GR_COLL_ALLREDUCE) | GR_ROOTED_COLLS,
    .traits = GR_TRAIT_FLAT,
    .len = gr_flat_len,
    .step = gr_flat_step,
    .links = gr_links_all,
    .cost = flat_cost,
    .internode_cost = flat_internode_cost,
    .auto_ranks = flat_auto_ranks,
};

const struct gr_algorithm gr_algorithm_oneshot = {
    .name = "oneshot",
    .help = "each rank sends its vector to all others, and all combine: one hop",
    .colls = GR_BIT(GR_COLL_ALLREDUCE),
    .pipes = GR_BIT(GR_COLL_ALLREDUCE),
    .most_ranks = GR_FAN + 1,
    .traits = GR_TRAIT_FLAT | GR_TRAIT_OVERWRITES_SENT,
    .len = gr_oneshot_len,
    .step = gr_oneshot_step,
    .links = gr_links_all,
    .cost = oneshot_cost,
    .internode_cost = oneshot_internode_cost,
    .auto_ranks = shot_auto_ranks,
};

const struct gr_algorithm gr_algorithm_twoshot = {
    .name = "twoshot",
    .help = "a flat reduce_scatter, then a flat allgather: two hops",
    .colls = GR_BIT(GR_COLL_ALLREDUCE),
    .traits = GR_TRAIT_FLAT,
    .len = gr_twoshot_len,
    .step = gr_twoshot_step,
    .links = gr_links_all,
    .cost = twoshot_cost,
    .internode_cost = twoshot_internode_cost,
    .auto_ranks = shot_auto_ranks,
};
