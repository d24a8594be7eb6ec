/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of ranks: which rank stands at which position of a ring, and the torus that a communicator's
 * ranks form. Channels take different orders.
 */
#ifndef GR_TOPO_ORDER_H
#define GR_TOPO_ORDER_H

#define GR_MAX_DIMS 4

/* A torus; rank = x[0] + dims[0] * (x[1] + dims[1] * (...)). ndims 0: none is known. */
struct gr_torus {
    int ndims;
    int dims[GR_MAX_DIMS];
};

/*
 * Parse "4x4x2" (1..GR_MAX_DIMS extents, each >= 1) into *torus; "" gives ndims 0.
 * 0, or -1 when the text is something else or the product does not fit an int.
 */
int gr_torus_parse(const char *text, struct gr_torus *torus);

/* Number of ranks of a torus; 0 for ndims 0. */
int gr_torus_size(const struct gr_torus *torus);

/*
 * order[position] = rank for a ring over p ranks. Along a torus of p ranks the ring is a snake: consecutive
 * positions are neighbours in one dimension. The last and the first are too where the highest extent above 1
 * is even, or is the only one above 1. Without a torus
 * (or with one of another size) position = rank.
 * reverse: the same ring in the other direction, position 0 kept.
 */
void gr_order_ring(const struct gr_torus *torus, int p, int reverse, int *order);

/* where[rank] = position. */
void gr_order_invert(const int *order, int p, int *where);

#endif
