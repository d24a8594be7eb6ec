/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the algorithms along a torus have in common. Rank = number on the torus (topo/torus.h). A
 * channel is one share of the data, with an order of dimensions and a direction of its own, so that
 * the channels together use all links:
 *
 *      channel   2 x 0     2 x 0 + 1   2 x 1     2 x 1 + 1   ...
 *      goes      up        down        up        down
 *
 * The dimensions are rotated from row to row. Row 0: X Y Z, row 1: Y Z X, row 2: Z X Y.
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

#include "sched/types.h"

/* Whether the ranks form a torus of p numbers. */
int gr_torus_fits(int p, const struct gr_torus *torus);

/*
 * Channels that use different links at any time, in at most so many rows (Swing's share some).
 */
int gr_torus_channels(const struct gr_torus *torus, int most_rows);

/* `channels` of a descriptor: a row for each dimension. */
int gr_torus_all_channels(enum gr_coll coll, const struct gr_torus *torus);

/* The route of a channel through the torus. */
struct gr_torus_lane {
    int n;                 /* dimensions above extent 1 */
    int up;                /* the direction: 1 up, 0 down */
    int longest;           /* the longest extent */
    int dims[GR_MAX_DIMS]; /* those dimensions, in the order in which the channel takes them */
};

/*
 * The channel of s where there are at most so many rows. With two rows the dimensions are fixed
 * from one end or the other: row 0: X Y Z W, row 1: W Z Y X (Y X; Z X Y).
 */
struct gr_torus_lane gr_torus_lane_of(const struct gr_sched *s, int most_rows);

#endif
