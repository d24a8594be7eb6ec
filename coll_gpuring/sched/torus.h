/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the algorithms along a torus have in common. Rank = place on the torus (topo/torus.h). A
 * channel is one share of the data, with an order of dimensions and a direction of its own, so that
 * the channels together use all links:
 *
 *      channel   2 x 0     2 x 0 + 1   2 x 1     2 x 1 + 1   ...    the dimensions are rotated from row to row:
 *      goes      up        down        up        down               row 0: X Y Z, row 1: Y Z X, row 2: Z X Y
 *
 * Where a dimension is a line there is one channel per row. Channels beyond these begin again with
 * the first. The data of channel c is gr_split's business.
 *
 * With GR_BLOCKS, chunk number b is the block of rank b in allgather and reduce_scatter; in an
 * allreduce every channel has a numbering of its own, which only the split of the vector into p
 * equal blocks sees.
 */
#ifndef GR_SCHED_TORUS_H
#define GR_SCHED_TORUS_H

#include "sched/sched.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether an algorithm of these has a schedule on the torus of p ranks. */
int gr_torus_fits(enum gr_algo algo, int p, const struct gr_torus *torus);

/*
 * How many channels use different links at any time (bucket, mst; Swing's share some; an Alltoall's
 * are all alike).
 */
GR_HD int gr_torus_channels(enum gr_algo algo, enum gr_coll coll, const struct gr_torus *torus);

/*
 * The way of the message of a step of s to its rank to[0]: hops[d] in dimension d, upwards where
 * positive.
 */
void gr_torus_way(const struct gr_sched *s, const struct gr_step *step, int hops[GR_MAX_DIMS]);

/* gr_algo_most() of these. */
uint32_t gr_torus_most(enum gr_algo algo, int p, const struct gr_torus *torus);

/* ---- for the algorithms' files ---- */

/*
 * The dimensions above extent 1, in the order in which the channel takes them; its direction; the
 * longest extent.
 */
struct gr_torus_lane {
    int n, up, longest;
    uint32_t dims; /* packed, as kernels have no arrays: gr_lane_dim() */
};
GR_HD struct gr_torus_lane gr_torus_lane_of(const struct gr_sched *s);

/* Entry k of 4 small numbers in a word; the word with such an entry, which was 0 before. */
GR_HD static inline int gr_nibble(uint32_t word, int k)
{
    return (int) (word >> 4 * k & 15u);
}

GR_HD static inline uint32_t gr_with_nibble(uint32_t word, int k, int value)
{
    return word | (uint32_t) value << 4 * k;
}

/* The dimension that comes k-th, k = 0..n-1. */
GR_HD static inline int gr_lane_dim(const struct gr_torus_lane *lane, int k)
{
    return gr_nibble(lane->dims, k);
}

/*
 * A rank's position on the ring that a dimension is, in the channel's direction, and the coordinate
 * at a position.
 */
GR_HD int gr_torus_position(const struct gr_torus *t, int d, int up, int x);
GR_HD int gr_torus_coord_at(const struct gr_torus *t, int d, int up, int position);

#ifdef __cplusplus
}
#endif
#endif
