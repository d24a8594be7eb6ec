/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two levels: what both files of two-level have in common. Dimension 0 of the torus is a node, with
 * a leader; leaders stand for their nodes among the rest, which is one row of nodes to them:
 *
 *      node 0           node 1           node 2           node 3
 *      o o o o          o o o o          o o o o          o o o o
 *      |_|_|/           |_|_|/           |_|_|/           |_|_|/
 *      L <------------> L                L <------------> L
 *      L <-----------------------------> L
 *
 * Inside a node: a star around the leader. Between nodes: doubling, or a binomial tree.
 *
 * Nodes without a place in the doubling (algorithm.h) fold. The algorithm "doubling" is the same with
 * each rank for a node.
 */
#ifndef GR_SCHED_TWO_LEVEL_H
#define GR_SCHED_TWO_LEVEL_H

#include "sched/algorithm.h"

/* The position of a rank in its node, and of its node among the nodes. */
struct gr_node_position {
    int ranks;  /* ranks of a node */
    int nodes;  /* number of nodes */
    int local;  /* my number inside my node */
    int node;   /* the number of my node */
    int leader; /* the leader's number inside its node, the same in all nodes */
    int rounds; /* of the doubling between nodes */
    int place;  /* my node's place in the doubling, or the place that it folds into */
    int folded; /* whether my node has no place of its own */
    int extra;  /* the node that folds into mine; -1: none */
};

/* The position of a node's leader. */
static inline int gr_node_leader(const struct gr_node_position *me, int node)
{
    return node * me->ranks + me->leader;
}

/* The position of the n-th rank of my node besides the leader, n = 0 .. ranks - 2. */
static inline int gr_node_other(const struct gr_node_position *me, int n)
{
    return me->node * me->ranks + n + (n >= me->leader);
}

/* The node at a place; behind the last one: the number of nodes. */
static inline int gr_node_at_place(const struct gr_node_position *me, int place)
{
    return gr_place_at(me->nodes, me->rounds, place);
}

/* The position of the rank of the schedule. */
static inline struct gr_node_position gr_node_position_of(const struct gr_sched *s)
{
    struct gr_node_position me;
    int at;

    me.ranks = GR_ALGO_DOUBLING == s->algo ? 1 : s->torus.dims[0];
    me.nodes = s->p / me.ranks;
    me.local = s->pos % me.ranks;
    me.node = s->pos / me.ranks;
    me.leader = s->root % me.ranks;
    me.rounds = gr_place_bits(me.nodes);
    me.place = gr_place_of(me.nodes, me.rounds, me.node);
    at = gr_node_at_place(&me, me.place);
    me.folded = at != me.node;
    me.extra = !me.folded && gr_node_at_place(&me, me.place + 1) > at + 1 ? at + 1 : -1;
    return me;
}

/* Steps of up to GR_FAN links each. */
static inline int gr_fans(int links)
{
    return (links + GR_FAN - 1) / GR_FAN;
}

/* Allgather and reduce_scatter: two_level_blocks.c. */
uint32_t gr_two_level_blocks_len(const struct gr_sched *s);
struct gr_step gr_two_level_blocks_step(const struct gr_sched *s, uint32_t i);

#endif
