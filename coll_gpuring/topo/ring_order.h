/* SPDX-License-Identifier: BSD-3-Clause */
/* Round trips over devices with few hops of the worst distance classes. */
#ifndef GR_TOPO_RING_ORDER_H
#define GR_TOPO_RING_ORDER_H

#include "topo/distance.h"

/* Up to this many devices the best round trip is found by exhaustive search. */
#define GR_RING_ORDER_EXACT 9

/*
 * Order n devices for a ring: trip[position] = device, and position 0 is device 0. between: n x n
 * classes (enum gr_distance). The trip has the fewest hops of the worst class, then of the second
 * worst, and so on; the closing hop counts. Up to GR_RING_ORDER_EXACT devices it is the best trip,
 * and among equals the one with lower numbers first. Above, it goes on to the nearest device each
 * time, which is a best trip where distances are those of a tree.
 */
void gr_ring_order(const unsigned char *between, int n, int *trip);

#endif
