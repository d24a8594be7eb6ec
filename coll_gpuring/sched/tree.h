/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Double trees: what the algorithms that consist of two trees have in common (tree.c: the labels of
 * the trees, and the grid of ticks in which chunks go up and down).
 */
#ifndef GR_SCHED_TREE_H
#define GR_SCHED_TREE_H

#include "sched/algos.h"

/* A position in a tree. */
struct gr_tree_node {
    int parent;          /* position, -1 for the root */
    int32_t kid[GR_FAN]; /* positions of the children; at most two in a binary tree */
    int nkids;           /* entries of kid[] */
    int depth;           /* links to the root; 0: it is the root */
};

/* The greatest depth in a tree over n labels; 0 when the root is alone. */
int gr_tree_height(int n);

/* The node of pos in tree t (0, 1) of the double binary tree over p positions with that root. */
struct gr_tree_node gr_tree_node_of(int p, int pos, int root, int t);

/* The steps of two trees in which no depth is above height; v: my node in the tree of step i. */
uint32_t gr_tree_grid_len(const struct gr_sched *s, int height);
struct gr_step gr_tree_grid_step(const struct gr_sched *s, const struct gr_tree_node *v, int height,
                                 uint32_t i);

/* The tree, 0 or 1, of step i of the grid: the two take turns. */
static inline int gr_tree_of_step(uint32_t i)
{
    return (int) (i % 2);
}

#endif
