/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A torus of ranks: coordinates, neighbours, links and minimal routes, for 1 to GR_MAX_DIMS
 * dimensions, each of which is a ring (with a wrap-around link) or a line (a mesh dimension,
 * without one).
 *
 *      8 - 9 -10 -11 -         4 x 3; rank = x + 4 y. Every line between two ranks is two links,
 *      4 - 5 - 6 - 7 -         one each way. Where dimension 0 is a ring, 3 is joined to 0;
 *      0 - 1 - 2 - 3 -         in a ring of 2, ranks are joined twice, up (+) and down (-).
 *
 * What is inline here is for schedules, and compiles for the device, too. libc only; knows nothing
 * else.
 */
#ifndef GR_TOPO_TORUS_H
#define GR_TOPO_TORUS_H

#include "base/host_device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_MAX_DIMS 4

/* rank = x[0] + dims[0] * (x[1] + dims[1] * (...)). ndims 0: none is known. */
struct gr_torus {
    int ndims;
    int dims[GR_MAX_DIMS];
    unsigned mesh; /* bit d: dimension d is a line */
    /*
     * links in one dimension, number nested - 1, are far better: all ways take it first; 0: in none
     */
    int nested;
};

/* Whether dimension d is a line. */
GR_HD static inline int gr_torus_is_line(const struct gr_torus *t, int d)
{
    return (int) (t->mesh >> d & 1u);
}

/* Ranks between two neighbours in dimension d. */
GR_HD static inline int gr_torus_stride(const struct gr_torus *t, int d)
{
    int stride = 1, k;

    for (k = 0; k < d; k++) {
        stride *= t->dims[k];
    }
    return stride;
}

/* The rank's coordinate in dimension d. */
GR_HD static inline int gr_torus_coord(const struct gr_torus *t, int rank, int d)
{
    return rank / gr_torus_stride(t, d) % t->dims[d];
}

/*
 * The rank that differs from this one in dimension d only, where it has coordinate x (0..extent-1).
 */
GR_HD static inline int gr_torus_at(const struct gr_torus *t, int rank, int d, int x)
{
    return rank + (x - gr_torus_coord(t, rank, d)) * gr_torus_stride(t, d);
}

/*
 * The rank that lies `hops` links away in dimension d, upwards where hops > 0; -1 beyond the end of
 * a line.
 */
GR_HD static inline int gr_torus_move(const struct gr_torus *t, int rank, int d, int hops)
{
    int extent = t->dims[d], x = gr_torus_coord(t, rank, d) + hops;

    if (gr_torus_is_line(t, d)) {
        return x < 0 || x >= extent ? -1 : gr_torus_at(t, rank, d, x);
    }
    return gr_torus_at(t, rank, d, (x % extent + extent) % extent);
}

/*
 * The shortest way from coordinate x to coordinate y of dimension d, in hops, upwards where
 * positive. Halfway around a ring it goes up from even coordinates and down from odd ones, so that
 * both directions get their share.
 */
GR_HD static inline int gr_torus_offset(const struct gr_torus *t, int d, int x, int y)
{
    int extent = t->dims[d], up = (y - x + extent) % extent;

    if (gr_torus_is_line(t, d)) {
        return y - x;
    }
    return 2 * up < extent || (2 * up == extent && 0 == x % 2) ? up : up - extent;
}

/*
 * The number of the link that leaves the rank in dimension d, upwards (up != 0) or downwards. Of a
 * line's end, too.
 */
GR_HD static inline int gr_torus_link(const struct gr_torus *t, int rank, int d, int up)
{
    return 2 * (rank * t->ndims + d) + (0 == up);
}

/*
 * Parse "4x4x2" (1..GR_MAX_DIMS extents, each >= 1, all rings) into *torus; "" gives ndims 0.
 * 0, or -1 when the text is something else or the product does not fit an int.
 */
int gr_torus_parse(const char *text, struct gr_torus *torus);

/* Number of ranks of a torus; 0 for ndims 0. Link numbers are below gr_torus_links(). */
int gr_torus_size(const struct gr_torus *torus);
int gr_torus_links(const struct gr_torus *torus);

/* Length of the shortest ways between two ranks, in hops. */
int gr_torus_hops(const struct gr_torus *torus, int from, int to);

/*
 * The shortest way that takes dimension 0 first, then 1, ...: the numbers of its links into
 * links[], which must have room for gr_torus_hops(). Returns how many.
 */
int gr_torus_route(const struct gr_torus *torus, int from, int to, int *links);

#ifdef __cplusplus
}
#endif
#endif
