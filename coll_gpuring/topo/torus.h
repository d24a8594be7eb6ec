/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A torus of ranks: coordinates, neighbours and links in 1 to GR_MAX_DIMS dimensions. A dimension
 * is a ring (with a wrap-around link) or a line (a mesh dimension, without it).
 *
 *      8 - 9 -10 -11 -         4 x 3; rank = x + 4 y. Each connection is two links, one in each
 *      4 - 5 - 6 - 7 -         direction. If dimension 0 is a ring, 3 and 0 are connected. In a
 *      0 - 1 - 2 - 3 -         ring of 2, the ranks are connected twice, up (+) and down (-).
 */
#ifndef GR_TOPO_TORUS_H
#define GR_TOPO_TORUS_H

#include <stdint.h>

#define GR_MAX_DIMS 4

/* rank = x[0] + dims[0] * (x[1] + dims[1] * (...)) for coordinates x. */
struct gr_torus {
    int ndims;             /* 0: no torus is known */
    int dims[GR_MAX_DIMS]; /* extents */
    unsigned mesh;         /* bit d: dimension d is a line */
    int nested; /* dimension nested - 1 is inside nodes, so algorithms use it first; 0: none is */
};

/* Whether dimension d is a line. */
static inline int gr_torus_is_line(const struct gr_torus *t, int d)
{
    return (int) (t->mesh >> d & 1u);
}

/* Difference of the rank numbers of two neighbours in dimension d. */
static inline int gr_torus_stride(const struct gr_torus *t, int d)
{
    int stride = 1, k;

    for (k = 0; k < d; k++) {
        stride *= t->dims[k];
    }
    return stride;
}

/* The rank's coordinate in dimension d. */
static inline int gr_torus_coord(const struct gr_torus *t, int rank, int d)
{
    return rank / gr_torus_stride(t, d) % t->dims[d];
}

/* The rank with coordinate x (0..extent-1) in dimension d, and otherwise this rank's. */
static inline int gr_torus_at(const struct gr_torus *t, int rank, int d, int x)
{
    return rank + (x - gr_torus_coord(t, rank, d)) * gr_torus_stride(t, d);
}

/* The rank `hops` links away in dimension d, upwards if hops > 0; -1: beyond a line's end. */
static inline int gr_torus_move(const struct gr_torus *t, int rank, int d, int hops)
{
    int extent = t->dims[d], x = gr_torus_coord(t, rank, d) + hops;

    if (gr_torus_is_line(t, d)) {
        return x < 0 || x >= extent ? -1 : gr_torus_at(t, rank, d, x);
    }
    return gr_torus_at(t, rank, d, (x % extent + extent) % extent);
}

/*
 * The shortest route from coordinate x to coordinate y of dimension d, in hops; positive: upwards.
 * Halfway around a ring the route goes up from even coordinates and down from odd ones, which
 * balances the two directions.
 */
static inline int gr_torus_offset(const struct gr_torus *t, int d, int x, int y)
{
    int extent = t->dims[d], up = (y - x + extent) % extent;

    if (gr_torus_is_line(t, d)) {
        return y - x;
    }
    return 2 * up < extent || (2 * up == extent && 0 == x % 2) ? up : up - extent;
}

/*
 * A line folded into a ring: up over the even coordinates and down over the odd ones, at most two
 * links from one to the next. gr_fold(): the coordinate of a position on that ring; gr_unfold():
 * the position of a coordinate.
 *
 *      coordinates   0---1---2---3---4     positions 0 1 2 3 4 are coordinates 0 2 4 3 1
 */
static inline int gr_fold(int extent, int position)
{
    return 2 * position < extent ? 2 * position : 2 * (extent - position) - 1;
}

static inline int gr_unfold(int extent, int coordinate)
{
    return 0 == coordinate % 2 ? coordinate / 2 : extent - (coordinate + 1) / 2;
}

/* x mod n for any x */
static inline int gr_wrap(int x, int n)
{
    x %= n;
    return x < 0 ? x + n : x;
}

/*
 * Parse a text like "4x4x2": 1..GR_MAX_DIMS extents >= 1, all dimensions rings. "" gives ndims 0.
 * Returns 0, or -1: another text, or the product does not fit an int.
 */
int gr_torus_parse(const char *text, struct gr_torus *torus);

/* Number of ranks; 0 for ndims 0. */
int gr_torus_size(const struct gr_torus *torus);

/* ---- orders of ranks: the rank at each position of a ring; channels may use different ones ---- */

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
