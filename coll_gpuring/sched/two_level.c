/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two levels: few messages between nodes, for latency-bound sizes.
 * Inside a node all give to its leader, or take from it (two_level.h); only leaders talk to other
 * nodes.
 *
 *      bcast            down a binomial tree of the nodes; the root is its node's leader
 *      reduce           up that tree
 *      allreduce        to the leaders, recursive doubling among them, and back
 *      allgather, reduce_scatter: two_level_blocks.c
 *
 *      node, from the root's on    0 --> 4               a node sends to the farthest child first
 *                                  0 -> 2    4 -> 6
 *                                  0->1 2->3 4->5 6->7
 *
 * A rank has others below it: other leaders, and the other ranks of its node. Up, it takes from its
 * node first, then from the nearest leader; down, the other way round.
 *
 * Cost: log2 Q crossings of n bytes for Q nodes, where Q is no power of two one more (bcast,
 * reduce) or two (allreduce); and one hop inside nodes each way. Order of reduction: ((x + v_1) +
 * v_2) + ..., v_k from those below in the order of the way up; in an allreduce then, round by
 * round, the lower place's + (the higher one's): the same bits everywhere. Source: recursive
 * doubling with nodes folded: Thakur, Rabenseifner, Gropp: Optimization of collective communication
 * operations in MPICH, 2005; leaders: Karonis et al.: Exploiting hierarchy in parallel computer
 * networks, IPDPS 2000.
 */
#include "sched/two_level.h"

#include "sched/torus.h"

#include <limits.h>

/* ---- who is above and below ---- */

struct tree_links {
    struct gr_node_position me;
    int parent;          /* position; -1: there is none above me */
    int depth;           /* ranks above me */
    int nothers, nnodes; /* below me: the others of my node; leaders */
    int fans;            /* steps that it takes to serve them */
};

/* Nodes are counted from the root's on. */
static int node_number(const struct gr_sched *s, const struct gr_node_position *me)
{
    return gr_wrap(me->node - s->root / me->ranks, me->nodes);
}

/* A leader's place in the binomial tree: above node v is v without its lowest bit. */
static void find_in_tree(const struct gr_sched *s, struct tree_links *k)
{
    int v = node_number(s, &k->me), nodes = k->me.nodes, w;

    for (w = v; 0 != w; w &= w - 1) {
        k->depth++;
    }
    if (0 != v) {
        k->parent = gr_node_leader(&k->me, gr_wrap((v & (v - 1)) + s->root / k->me.ranks, nodes));
    }
    while (0 == (v & 1 << k->nnodes) && v + (1 << k->nnodes) < nodes) {
        k->nnodes++;
    }
}

static struct tree_links find_tree_links(const struct gr_sched *s)
{
    struct tree_links k;

    k.me = gr_node_position_of(s);
    k.parent = -1;
    k.depth = k.nnodes = 0;
    if (GR_COLL_ALLREDUCE != s->coll) {
        find_in_tree(s, &k);
    } else if (k.me.folded) {
        k.parent = gr_node_leader(&k.me, gr_node_at_place(&k.me, k.me.place));
        k.depth = 1;
    } else {
        k.nnodes = k.me.extra >= 0;
    }
    k.nothers = k.me.ranks - 1;
    if (k.me.local != k.me.leader) {
        k.parent = gr_node_leader(&k.me, k.me.node);
        k.depth++;
        k.nothers = k.nnodes = 0;
    }
    k.fans = gr_fans(k.nothers + k.nnodes);
    return k;
}

/* The n-th below me, in the order of the way up. */
static int below(const struct gr_sched *s, const struct tree_links *k, int n)
{
    int v = node_number(s, &k->me);

    if (n < k->nothers) {
        return gr_node_other(&k->me, n);
    }
    if (GR_COLL_ALLREDUCE == s->coll) {
        return gr_node_leader(&k->me, k->me.extra);
    }
    return gr_node_leader(
        &k->me, gr_wrap(v + (1 << (n - k->nothers)) + s->root / k->me.ranks, k->me.nodes));
}

/* ---- ticks ---- */

/* Most ranks that are above one; ticks that each of them is given, one for each fan. */
static uint32_t most_depth(const struct gr_sched *s, const struct gr_node_position *me)
{
    return 1 + (GR_COLL_ALLREDUCE == s->coll
                    ? 1
                    : (uint32_t) (me->rounds + (me->nodes > 1 << me->rounds)));
}

static uint32_t ticks_of_rank(const struct gr_sched *s, const struct gr_node_position *me)
{
    int fans = gr_fans(me->ranks - 1 + (int) most_depth(s, me) - 1);

    return fans > 1 ? (uint32_t) fans : 1;
}

/* From the leaves up; the doubling behind that; then from the top down. */
static uint32_t tick_up(const struct gr_sched *s, const struct tree_links *k, int f)
{
    return (most_depth(s, &k->me) - (uint32_t) k->depth) * ticks_of_rank(s, &k->me) + (uint32_t) f;
}

static uint32_t tick_doubling(const struct gr_sched *s, const struct gr_node_position *me,
                              int round)
{
    return (most_depth(s, me) + 1) * ticks_of_rank(s, me) + (uint32_t) round;
}

static uint32_t tick_down(const struct gr_sched *s, const struct tree_links *k, int f)
{
    uint32_t begin = GR_COLL_BCAST == s->coll ? 0 : tick_doubling(s, &k->me, k->me.rounds) - 1;

    return begin + (uint32_t) k->depth * ticks_of_rank(s, &k->me) + (uint32_t) f;
}

static uint32_t ticks(const struct gr_sched *s, const struct gr_node_position *me)
{
    return 2 * tick_doubling(s, me, me->rounds);
}

/* ---- steps ---- */

/* What those of fan f below me send, onto what I have. */
static void take_fan(const struct gr_sched *s, const struct tree_links *k, int f, struct gr_step *t)
{
    int n = f * GR_FAN, sums = GR_COLL_REDUCE == s->coll && k->parent >= 0 ? GR_TMP : GR_OUT;

    t->bits = GR_RECV | GR_REDUCE | GR_STORE;
    t->operand = (uint8_t) (0 == f ? GR_IN : sums);
    t->dest = (uint8_t) sums;
    t->tick += tick_up(s, k, f);
    for (; n < (f + 1) * GR_FAN && n < k->nothers + k->nnodes; n++) {
        gr_step_from(s, t, below(s, k, n));
    }
}

/* A result to those of fan f below me, the last of the way up first. */
static void give_fan(const struct gr_sched *s, const struct tree_links *k, int f, struct gr_step *t)
{
    int n = k->nothers + k->nnodes - 1 - f * GR_FAN, end = n - GR_FAN;

    t->bits |= GR_FINAL | (n >= 0 ? GR_SEND : 0);
    for (; n > end && n >= 0; n--) {
        gr_step_to(s, t, below(s, k, n));
    }
}

/* On the way up: sum what comes from below, then give it to whom is above. */
static void up_step(const struct gr_sched *s, const struct tree_links *k, int f, struct gr_step *t)
{
    if (0 == k->fans) {
        t->bits = GR_SEND;
        t->tick += tick_up(s, k, 0);
    } else {
        take_fan(s, k, f, t);
    }
    if (f >= k->fans - 1 && k->parent >= 0) {
        t->bits = (uint8_t) ((t->bits & ~GR_STORE) | GR_SEND);
        gr_step_to(s, t, k->parent);
    } else if (f >= k->fans - 1 && GR_COLL_REDUCE == s->coll) {
        t->bits |= GR_FINAL;
    }
}

/* On the way down: take it from above, and give it to those below. */
static void down_step(const struct gr_sched *s, const struct tree_links *k, int f,
                      struct gr_step *t)
{
    t->operand = (uint8_t) (GR_COLL_BCAST == s->coll && k->parent < 0 ? GR_IN : GR_OUT);
    t->tick += tick_down(s, k, f);
    if (0 == f && k->parent >= 0) {
        t->bits = GR_RECV | GR_STORE;
        gr_step_from(s, t, k->parent);
    }
    give_fan(s, k, f, t);
}

/*
 * Steps of the way up and down; of those who are above all the way down begins with the last sum.
 */
static int up_len(const struct gr_sched *s, const struct tree_links *k)
{
    return GR_COLL_BCAST == s->coll ? 0 : 0 == k->fans && k->parent >= 0 ? 1 : k->fans;
}

static int down_len(const struct gr_sched *s, const struct tree_links *k)
{
    if (GR_COLL_REDUCE == s->coll) {
        return 0;
    }
    if (k->parent >= 0) {
        return k->fans > 1 ? k->fans : 1;
    }
    return GR_COLL_BCAST == s->coll ? k->fans : k->fans > 1 ? k->fans - 1 : 0;
}

/*
 * Sums of those who are above all in an allreduce; where none comes from below, they begin with a
 * message.
 */
static int sums_len(const struct tree_links *k)
{
    return k->fans + k->me.rounds + (0 == k->fans && k->me.rounds > 0);
}

/*
 * Leaders with a place in the doubling: each sum goes to the partner of the next round, the last
 * one is the result.
 */
static void top_step(const struct gr_sched *s, const struct tree_links *k, int i, struct gr_step *t)
{
    const struct gr_node_position *me = &k->me;
    int sums = sums_len(k), round = i - (sums - me->rounds); /* that comes in */

    if (i >= sums) {
        down_step(s, k, i - sums + 1, t);
        return;
    }
    if (round >= 0) {
        t->bits = GR_RECV | GR_REDUCE | GR_STORE;
        t->operand = (uint8_t) (0 == k->fans && 0 == round ? GR_IN : GR_OUT);
        t->before = (uint8_t) (me->place >> round & 1);
        t->tick += tick_doubling(s, me, round);
        gr_step_from(s, t, gr_node_leader(me, gr_node_at_place(me, me->place ^ 1 << round)));
    } else if (k->fans > 0) {
        take_fan(s, k, i, t);
    } else {
        t->tick += tick_doubling(s, me, 0) - 1;
    }
    if (i == sums - 1) {
        give_fan(s, k, 0, t);
    } else if (round + 1 >= 0) {
        t->bits |= GR_SEND;
        gr_step_to(s, t, gr_node_leader(me, gr_node_at_place(me, me->place ^ 1 << (round + 1))));
    }
}

static int is_top(const struct gr_sched *s, const struct tree_links *k)
{
    return GR_COLL_ALLREDUCE == s->coll && k->parent < 0;
}

static int chunk_len(const struct gr_sched *s, const struct tree_links *k)
{
    return (is_top(s, k) ? sums_len(k) : up_len(s, k)) + down_len(s, k);
}

static int has_blocks(const struct gr_sched *s)
{
    return GR_COLL_ALLGATHER == s->coll || GR_COLL_REDUCE_SCATTER == s->coll;
}

static uint32_t two_level_len(const struct gr_sched *s)
{
    struct tree_links k;

    if (has_blocks(s)) {
        return gr_two_level_blocks_len(s);
    }
    k = find_tree_links(s);
    return s->nchunks * (uint32_t) chunk_len(s, &k);
}

static struct gr_step two_level_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_step t = gr_step_make(0, GR_IN, GR_OUT, 0, 0);
    struct tree_links k;
    int len, n;

    if (has_blocks(s)) {
        return gr_two_level_blocks_step(s, i);
    }
    k = find_tree_links(s);
    len = chunk_len(s, &k);
    /* a chunk has a step. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
    n = (int) i % len;
    t.first = i / (uint32_t) len;
    t.tick = t.first * ticks(s, &k.me);
    if (is_top(s, &k)) {
        top_step(s, &k, n, &t);
    } else if (n < up_len(s, &k)) {
        up_step(s, &k, n, &t);
    } else {
        down_step(s, &k, n - up_len(s, &k), &t);
    }
    return t;
}

/* Between leaders and the others of their nodes: all blocks. */
static uint32_t two_level_message_chunks(int p, const struct gr_torus *torus)
{
    (void) torus;
    return (uint32_t) p;
}

/* Leaders take and give what their row has, one after the other, then rounds follow. */
static double two_level_cost(const struct gr_cost_terms *t)
{
    double s = t->bytes, rounds = gr_cost_torus_rounds(t->torus);

    return (2 + rounds) * ceil(s / t->most) * t->step +
           (2 * t->torus->dims[0] + rounds) * s * t->byte;
}

/*
 * Leaders serve the others of their nodes one after the other; but where these share cores, all
 * have had their turn when the leader has.
 */
static struct gr_internode_cost two_level_internode_cost(const struct gr_cost_terms *t)
{
    double nodes = t->internode->nodes, rounds = gr_doubling_rounds(t->internode->nodes),
           others = t->internode->ranks - 1, s = gr_cost_with_header(t);
    double near = t->internode->oversubscribed ? fmin(others, 1) : others;
    /* nodes without a place are given the result besides */
    double fold = exp2(rounds) > nodes, doubled = rounds - fold;

    switch (t->coll) {
    case GR_COLL_BCAST:
    case GR_COLL_REDUCE:
        return (struct gr_internode_cost) {
            .hops = rounds, .local_hops = near, .bytes = rounds * s, .local_bytes = others * s};
    case GR_COLL_ALLREDUCE:
        return (struct gr_internode_cost) {.hops = doubled + 2 * fold,
                                           .local_hops = 2 * near,
                                           .bytes = (doubled + fold) * s,
                                           .local_bytes = 2 * others * s};
    default:
        return (struct gr_internode_cost) {.hops = doubled + 2 * fold,
                                           .local_hops = 2 * near,
                                           .bytes = (1 + fold) * (nodes - 1) / nodes * s,
                                           .local_bytes = others * s};
    }
}

/* Doubling and a binomial tree, whose partners differ, between leaders. */
static struct gr_links_count two_level_links(int p, const struct gr_torus *torus)
{
    int ranks = torus->dims[0];

    return gr_links_leaders(ranks, 2 * gr_doubling_rounds(p / ranks));
}

const struct gr_algorithm gr_algorithm_two_level = {
    .name = "two-level",
    .help = "the ranks of a node give to a leader, and leaders double among nodes: few messages",
    .colls = GR_BLOCK_COLLS | GR_ROOTED_COLLS,
    .pipes = GR_BIT(GR_COLL_ALLREDUCE) | GR_ROOTED_COLLS,
    .scratch = GR_BIT(GR_COLL_REDUCE_SCATTER) | GR_BIT(GR_COLL_REDUCE),
    .traits = GR_TRAIT_BY_RANK | GR_TRAIT_ROOTED | GR_TRAIT_OVERWRITES_SENT,
    .fits = gr_torus_fits,
    .len = two_level_len,
    .step = two_level_step,
    .links = two_level_links,
    .message_chunks = two_level_message_chunks,
    .cost = two_level_cost,
    .internode_cost = two_level_internode_cost,
    .auto_ranks = gr_cost_ranks_by_node,
};

/*
 * ---- recursive doubling ----
 *
 * That is two-level with each rank for a node. All ranks double, or halve in a reduce_scatter, the
 * lowest bits of their numbers first. Where all sizes are powers of two, these are those of a node
 * among themselves.
 *
 * Cost: log2 p rounds, where p is no power of two one or two more. Compared with two-level it has
 * two hops inside nodes less, and sends as many messages as a node has ranks.
 */

/* Bytes of a message in flight while another rank of the node makes its own ready. */
#define HIDDEN 128.0

/*
 * A message between nodes for which another rank of the node must have its turn on a core first, in
 * messages that a rank has besides.
 */
#define IN_TURN 6.0

static double doubling_cost(const struct gr_cost_terms *t)
{
    double p = t->p, s = t->bytes, rounds = gr_doubling_rounds(t->p);

    rounds += exp2(rounds) > p; /* some fold: another message for these, before and behind */
    return rounds * ceil(s / t->most) * t->step +
           (GR_COLL_ALLREDUCE == t->coll ? rounds : (p - 1) / p) * s * t->byte;
}

/*
 * Measured with two ranks in a node: their messages hide each other's headers, and first bytes.
 * More of them hinder each other. Where they share cores, all wait for what comes last: that are
 * exchanges between nodes, except in a reduce_scatter, which begins with them, when links have
 * rested.
 */
static struct gr_internode_cost doubling_internode_cost(const struct gr_cost_terms *t)
{
    const struct gr_internode *internode = t->internode;
    double ranks = internode->ranks, rounds = gr_doubling_rounds(t->p), fold = exp2(rounds) > t->p;
    double near = t->torus->nested && 0 == fold ? gr_doubling_rounds(internode->ranks) : 0;
    double hops = rounds - near + fold, s = (1 == internode->ranks ? GR_COST_HEADER : 0) + t->bytes;
    /* ranks without a place give or get all blocks besides */
    double blocks = (1 + fold) * (t->p - ranks) / t->p;
    double bytes = (GR_COLL_ALLREDUCE == t->coll ? hops : blocks) * s;
    double messages = gr_cost_hindered(ranks) * hops;
    int begins = GR_COLL_REDUCE_SCATTER == t->coll;

    if (internode->oversubscribed && hops > 1 && !begins) {
        messages += IN_TURN * (ranks - 1) * (hops - 1);
    }
    bytes -= ranks > 1 ? fmin(bytes, hops * (begins ? 2 : 1) * HIDDEN) : 0;
    return (struct gr_internode_cost) {
        .hops = hops, .local_hops = near, .messages = messages, .bytes = ranks * bytes};
}

/* Few rounds are worth little inside a node. */
static int doubling_auto_ranks(const struct gr_cost_terms *t)
{
    return t->internode->nodes > 1 ? INT_MAX : 0;
}

const struct gr_algorithm gr_algorithm_doubling = {
    .name = "doubling",
    .help =
        "recursive doubling, or halving, of all ranks: the fewest rounds where their number is a "
        "power of two",
    .colls = GR_BLOCK_COLLS,
    .pipes = GR_BIT(GR_COLL_ALLREDUCE),
    .scratch = GR_BIT(GR_COLL_REDUCE_SCATTER),
    .traits = GR_TRAIT_BY_RANK | GR_TRAIT_OVERWRITES_SENT,
    .len = two_level_len,
    .step = two_level_step,
    .links = gr_links_doubling,
    .message_chunks = gr_halving_message_chunks,
    .cost = doubling_cost,
    .internode_cost = doubling_internode_cost,
    .auto_ranks = doubling_auto_ranks,
};
