/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of ranks: which rank stands at which position of a ring. Channels take different orders.
 */
#ifndef GR_TOPO_ORDER_H
#define GR_TOPO_ORDER_H

#include "topo/torus.h"

#include <stdint.h>

/*
 * order[position] = rank for a ring over p ranks. Along a torus of p ranks the ring is a snake:
 * consecutive positions are neighbours in one dimension. The last and the first are too where the
 * highest extent above 1 is even, or is the only one above 1. Without a torus (or with one of
 * another size) position = rank. reverse: the same ring in the other direction, position 0 kept.
 */
void gr_order_ring(const struct gr_torus *torus, int p, int reverse, int *order);

/*
 * The same for ranks of several nodes where no torus is known: node by node, each entered once, so
 * that a ring crosses the link of each node once, wherever its ranks are. node[rank]: a number of
 * its node, the same for those of one. Nodes come in the order of their lowest ranks, ranks of a
 * node in their own.
 */
void gr_order_nodes(const uint64_t *node, int p, int *order);

/*
 * The same ranks as a torus of two dimensions. Where nodes lie one behind the other, dimension 0 is
 * inside nodes (nested 1), and where their ranks were placed in turns it is the nodes (nested 2).
 * ndims 0: there is none, since there is one node only, or nodes have different numbers of ranks or
 * lie otherwise.
 *
 *      2 nodes a and b of 3 ranks      a a a b b b: 3 x 2, nested 1        a b a b a b: 2 x 3, nested 2
 */
struct gr_torus gr_torus_of_nodes(const uint64_t *node, int p);

/* where[rank] = position. */
void gr_order_invert(const int *order, int p, int *where);

#endif
