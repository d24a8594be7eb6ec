/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive doubling: two-level (two_level.c, two_level_blocks.c) with each rank for a node. All
 * ranks double, or halve in a reduce_scatter, the lowest bits of their numbers first. Where all
 * sizes are powers of two, these are those of a node among themselves.
 *
 * Cost: log2 p rounds, where p is no power of two one or two more. Compared with two-level it has
 * two hops inside nodes less, and sends as many messages as a node has ranks.
 */
#include "sched/two_level.h"

#include <limits.h>
/* Bytes of a message in flight while another rank of the node makes its own ready. */
#define HIDDEN 128.0

/*
 * A message between nodes for which another rank of the node must have its turn on a core first, in
 * messages that a rank has besides.
 */
#define IN_TURN 6.0

static double doubling_cost(const struct gr_cost_terms *t)
{
    double p = t->p, s = t->bytes, rounds = gr_cost_rounds(t->p);

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
    double ranks = internode->ranks, rounds = gr_cost_rounds(t->p), fold = exp2(rounds) > t->p;
    double near = t->torus->nested && 0 == fold ? gr_cost_rounds(internode->ranks) : 0;
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
    .traits = GR_TRAIT_TORUS | GR_TRAIT_OVERWRITES_SENT,
    .len = gr_two_level_len,
    .step = gr_two_level_step,
    .links = gr_links_doubling,
    .message_chunks = gr_halving_message_chunks,
    .cost = doubling_cost,
    .internode_cost = doubling_internode_cost,
    .auto_ranks = doubling_auto_ranks,
};
