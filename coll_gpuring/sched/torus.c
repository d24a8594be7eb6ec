/* SPDX-License-Identifier: BSD-3-Clause */
/* The channels of torus.h. */
#include "sched/torus.h"

#include "sched/alltoall.h" /* gr_fold(), gr_wrap() */

/* Whether a dimension above extent 1 is a line. */
GR_HD static int has_line(const struct gr_torus *t)
{
    int d, found = 0;

    for (d = 0; d < t->ndims; d++) {
        found |= t->dims[d] > 1 && gr_torus_is_line(t, d);
    }
    return found;
}

/*
 * The blocks of a message of a bucket are those of the ranks that agree with some coordinates, and
 * a step has one run of chunks for them. In allgather and reduce_scatter, where a chunk's number is
 * a rank, the dimensions that are still free must then lie side by side: they can only be fixed
 * from one end or the other.
 */
GR_HD static int from_the_ends(enum gr_algo algo, enum gr_coll coll)
{
    return GR_ALGO_BUCKET == algo && GR_COLL_ALLREDUCE != coll;
}

GR_HD int gr_torus_channels(enum gr_algo algo, enum gr_coll coll, const struct gr_torus *t)
{
    int rows = 0, d;

    if (GR_COLL_ALLTOALL == coll || GR_ALGO_TWO_LEVEL == algo || GR_ALGO_NODE_TREE == algo ||
        GR_ALGO_DOUBLING == algo) {
        return 1;
    }
    for (d = 0; d < t->ndims; d++) {
        rows += t->dims[d] > 1;
    }
    if (from_the_ends(algo, coll) && rows > 2) {
        rows = 2;
    }
    return rows < 1 ? 1 : has_line(t) ? rows : 2 * rows;
}

GR_HD struct gr_torus_lane gr_torus_lane_of(const struct gr_sched *s)
{
    const struct gr_torus *t = &s->torus;
    struct gr_torus_lane lane = {0, 1, 1, 0};
    uint32_t all = 0;
    int channel = s->channel % gr_torus_channels(s->algo, s->coll, t), row, d, k;

    for (d = 0; d < t->ndims; d++) {
        if (t->dims[d] > 1) {
            all = gr_with_nibble(all, lane.n++, d);
            lane.longest = t->dims[d] > lane.longest ? t->dims[d] : lane.longest;
        }
    }
    row = has_line(t) ? channel : channel / 2;
    lane.up = has_line(t) || 0 == channel % 2;
    for (k = 0; k < lane.n; k++) {
        d = (k + row) % lane.n;
        /* Y X; Z X Y; W Z Y X: at no time the dimension of row 0 */
        if (from_the_ends(s->algo, s->coll) && 1 == row) {
            d = 4 == lane.n ? 3 - k : (k + lane.n - 1) % lane.n;
        }
        lane.dims = gr_with_nibble(lane.dims, k, gr_nibble(all, d));
    }
    return lane;
}

GR_HD int gr_torus_position(const struct gr_torus *t, int d, int up, int x)
{
    if (gr_torus_is_line(t, d)) {
        return gr_unfold(t->dims[d], x);
    }
    return up ? x : (t->dims[d] - x) % t->dims[d];
}

GR_HD int gr_torus_coord_at(const struct gr_torus *t, int d, int up, int position)
{
    int q = gr_wrap(position, t->dims[d]);

    if (gr_torus_is_line(t, d)) {
        return gr_fold(t->dims[d], q);
    }
    return up ? q : (t->dims[d] - q) % t->dims[d];
}
