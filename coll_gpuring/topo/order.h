/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders of ranks: the rank at each position of a ring. Channels may use different orders. */
#ifndef GR_TOPO_ORDER_H
#define GR_TOPO_ORDER_H

#include "topo/torus.h"

#include <stdint.h>

/*
 * Order p ranks for a ring: order[position] = rank. On a torus of p ranks the ring is a snake:
 * ranks at consecutive positions are neighbours in one dimension. So are the last and the first
 * rank if the highest extent above 1 is even, or is the only extent above 1. Without a torus, or
 * with a torus of another size, position = rank. reverse: the ring in the other direction, with the
 * same position 0.
 */
void gr_order_ring(const struct gr_torus *torus, int p, int reverse, int *order);

/*
 * Order p ranks of several nodes for a ring, where no torus is known: node by node, so that the
 * ring enters and leaves each node once. node[rank]: an identifier of the rank's node. Nodes come
 * in the order of their lowest ranks, and ranks of a node in ascending order.
 */
void gr_order_nodes(const uint64_t *node, int p, int *order);

/*
 * p ranks of several nodes as a torus of two dimensions. In a block layout dimension 0 is inside
 * nodes (nested 1); in a cyclic layout dimension 1 is (nested 2). ndims 0: one node only, nodes
 * with different numbers of ranks, or another layout.
 *
 *      2 nodes a and b of 3 ranks:     a a a b b b     3 x 2, nested 1
 *                                      a b a b a b     2 x 3, nested 2
 */
struct gr_torus gr_torus_of_nodes(const uint64_t *node, int p);

/* Invert an order: position[order[k]] = k. */
void gr_order_invert(const int *order, int p, int *position);

#endif
