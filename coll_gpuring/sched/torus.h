/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules along a torus, as steps of step.h. Rank = place on the torus (topo/torus.h). A channel is one share of the
 * data, with an order of dimensions and a direction of its own, so that the channels together use all links:
 *
 *      channel   2 x 0     2 x 0 + 1   2 x 1     2 x 1 + 1   ...    the dimensions are rotated from row to row:
 *      goes      up        down        up        down               row 0: X Y Z, row 1: Y Z X, row 2: Z X Y
 *
 * Where a dimension is a line there is one channel per row. The data of channel c is gr_split's business.
 *
 * These stand beside sched.h's table, not in it: its struct gr_sched has neither a torus nor a channel.
 */
#ifndef GR_SCHED_TORUS_H
#define GR_SCHED_TORUS_H

#include "../topo/torus.h"
#include "sched.h"

#ifdef __cplusplus
extern "C" {
#endif

enum gr_torus_algo { GR_TORUS_BUCKET, GR_TORUS_SWING, GR_TORUS_MST, GR_NTORUS_ALGOS };

/* The schedule of one channel at one rank. */
struct gr_torus_sched {
    enum gr_torus_algo algo;
    enum gr_coll coll;
    struct gr_torus torus;
    int rank;
    int root;         /* 0 where the collective has none */
    int channel;      /* 0..gr_torus_channels()-1 */
    uint32_t nchunks; /* GR_PIPE: chunks in the pipeline, >= 1. GR_BLOCKS: not read */
};

/* Name of an algorithm ("bucket"), or NULL when out of range. */
const char *gr_torus_algo_name(enum gr_torus_algo algo);

/* Whether algo has a schedule for coll on this torus. */
int gr_torus_algo_has(enum gr_torus_algo algo, enum gr_coll coll, const struct gr_torus *torus);

/*
 * The layout that algo wants. With GR_BLOCKS, chunk number b is the block of rank b in allgather and reduce_scatter; in
 * an allreduce every channel has a numbering of its own, which only the split of the vector into p equal blocks sees.
 */
enum gr_layout gr_torus_algo_layout(enum gr_torus_algo algo);

/* How many channels use different links at any time; fewer may be run, any subset of them. */
int gr_torus_channels(enum gr_torus_algo algo, enum gr_coll coll, const struct gr_torus *torus);

/* Number of steps, and step i of 0..len-1. */
GR_HD uint32_t gr_torus_sched_len(const struct gr_torus_sched *s);
GR_HD struct gr_step gr_torus_sched_step(const struct gr_torus_sched *s, uint32_t i);

/*
 * Most chunks of a step of the channel. A link must have one slot more than a message of so many pieces takes: ranks
 * send such a message before they receive the like, and with all slots of a ring full nobody could pass one on.
 */
uint32_t gr_torus_sched_most(const struct gr_torus_sched *s);

/* The way of a message of this channel to that rank: hops[d] in dimension d, upwards where positive. */
void gr_torus_sched_way(const struct gr_torus_sched *s, int to, int hops[GR_MAX_DIMS]);

/*
 * Ranks from which (in) and to which (out) some step of the channel receives or sends, each once, in any collective
 * that algo has; both arrays have room for all ranks. Only GR_TORUS_MST looks at the root.
 */
void gr_torus_sched_peers(const struct gr_torus_sched *s, int *in, int *nin, int *out, int *nout);

/* ---- for the algorithms' files ---- */

/* The dimensions above extent 1, in the order in which the channel takes them; its direction; the longest extent. */
struct gr_torus_lane {
    int n, dims[GR_MAX_DIMS];
    int up, longest;
};
GR_HD struct gr_torus_lane gr_torus_lane_of(const struct gr_torus_sched *s);

/* A rank's position on the ring that a dimension is, in the channel's direction, and the coordinate at a position. */
GR_HD int gr_torus_position(const struct gr_torus *t, int d, int up, int x);
GR_HD int gr_torus_coord_at(const struct gr_torus *t, int d, int up, int position);

GR_HD uint32_t gr_bucket_len(const struct gr_torus_sched *s);
GR_HD struct gr_step gr_bucket_step(const struct gr_torus_sched *s, uint32_t i);
GR_HD uint32_t gr_swing_len(const struct gr_torus_sched *s);
GR_HD struct gr_step gr_swing_step(const struct gr_torus_sched *s, uint32_t i);
GR_HD uint32_t gr_mst_len(const struct gr_torus_sched *s);
GR_HD struct gr_step gr_mst_step(const struct gr_torus_sched *s, uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
