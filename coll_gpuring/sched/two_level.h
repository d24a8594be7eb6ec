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
 * Nodes without a place in the doubling (algos.h) fold. The algorithm "doubling" is the same with
 * each rank for a node (doubling.c).
 */
#ifndef GR_SCHED_TWO_LEVEL_H
#define GR_SCHED_TWO_LEVEL_H

#include "sched/algos.h"

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

/* The position of the rank of the schedule. */
struct gr_node_position gr_node_position_of(const struct gr_sched *s);

/* The position of a node's leader. */
int gr_node_leader(const struct gr_node_position *me, int node);

/* The position of the n-th rank of my node besides the leader, n = 0 .. ranks - 2. */
int gr_node_other(const struct gr_node_position *me, int n);

/* The node at a place; behind the last one: the number of nodes. */
int gr_node_at_place(const struct gr_node_position *me, int place);

/* Steps of up to GR_FAN links each. */
static inline int gr_fans(int links)
{
    return (links + GR_FAN - 1) / GR_FAN;
}

/* two-level, and doubling (doubling.c). */
uint32_t gr_two_level_len(const struct gr_sched *s);
struct gr_step gr_two_level_step(const struct gr_sched *s, uint32_t i);

/* Allgather and reduce_scatter: two_level_blocks.c. */
uint32_t gr_two_level_blocks_len(const struct gr_sched *s);
struct gr_step gr_two_level_blocks_step(const struct gr_sched *s, uint32_t i);

#endif
