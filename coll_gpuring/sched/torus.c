/* SPDX-License-Identifier: BSD-3-Clause */
/* The table and the channels of torus.h. */
#include "torus.h"

#include "alltoall.h" /* gr_fold(), gr_wrap() */

#include <stddef.h>

#define BIT(x) (1u << (x))

static const struct {
    const char *name;
    unsigned colls; /* BIT(coll) of each collective that it has a schedule for */
    enum gr_layout layout;
} algos[GR_NTORUS_ALGOS] = {
    {"bucket", BIT(GR_COLL_ALLREDUCE) | BIT(GR_COLL_ALLGATHER) | BIT(GR_COLL_REDUCE_SCATTER), GR_BLOCKS},
    {"swing", BIT(GR_COLL_ALLREDUCE), GR_BLOCKS},
    {"mst", BIT(GR_COLL_BCAST) | BIT(GR_COLL_REDUCE), GR_PIPE},
};

const char *gr_torus_algo_name(enum gr_torus_algo algo)
{
    return (unsigned) algo < GR_NTORUS_ALGOS ? algos[algo].name : NULL;
}

enum gr_layout gr_torus_algo_layout(enum gr_torus_algo algo)
{
    return algos[algo].layout;
}

int gr_torus_algo_has(enum gr_torus_algo algo, enum gr_coll coll, const struct gr_torus *t)
{
    int d;

    if ((unsigned) algo >= GR_NTORUS_ALGOS || (unsigned) coll >= GR_NCOLLS || t->ndims < 1) {
        return 0;
    }
    for (d = 0; d < t->ndims && GR_TORUS_SWING == algo; d++) {
        if (0 != (t->dims[d] & (t->dims[d] - 1))) {
            return 0; /* its distances are those of powers of two */
        }
    }
    return 0 != (algos[algo].colls & BIT(coll));
}

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
 * The blocks of a message of a bucket are those of the ranks that agree with some coordinates, and a step has one
 * run of chunks for them. In allgather and reduce_scatter, where a chunk's number is a rank, the dimensions that are
 * still free must then lie side by side: they can only be fixed from one end or the other.
 */
GR_HD static int from_the_ends(const struct gr_torus_sched *s)
{
    return GR_TORUS_BUCKET == s->algo && GR_COLL_ALLREDUCE != s->coll;
}

int gr_torus_channels(enum gr_torus_algo algo, enum gr_coll coll, const struct gr_torus *t)
{
    struct gr_torus_sched s = {algo, coll, *t, 0, 0, 0, 1};
    int rows = gr_torus_lane_of(&s).n;

    if (from_the_ends(&s) && rows > 2) {
        rows = 2;
    }
    return rows < 1 ? 1 : has_line(t) ? rows : 2 * rows;
}

GR_HD struct gr_torus_lane gr_torus_lane_of(const struct gr_torus_sched *s)
{
    const struct gr_torus *t = &s->torus;
    struct gr_torus_lane lane = {0, {0, 0, 0, 0}, 1, 1};
    int all[GR_MAX_DIMS] = {0, 0, 0, 0}, row, d, k;

    for (d = 0; d < t->ndims; d++) {
        if (t->dims[d] > 1) {
            all[lane.n++] = d;
            lane.longest = t->dims[d] > lane.longest ? t->dims[d] : lane.longest;
        }
    }
    row = has_line(t) ? s->channel : s->channel / 2;
    lane.up = has_line(t) || 0 == s->channel % 2;
    for (k = 0; k < lane.n; k++) {
        d = (k + row) % lane.n;
        if (from_the_ends(s) && 1 == row) { /* Y X; Z X Y; W Z Y X: at no time the dimension of row 0 */
            d = 4 == lane.n ? 3 - k : (k + lane.n - 1) % lane.n;
        }
        lane.dims[k] = all[d];
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

GR_HD uint32_t gr_torus_sched_len(const struct gr_torus_sched *s)
{
    switch (s->algo) {
    case GR_TORUS_SWING:
        return gr_swing_len(s);
    case GR_TORUS_MST:
        return gr_mst_len(s);
    default:
        return gr_bucket_len(s);
    }
}

GR_HD struct gr_step gr_torus_sched_step(const struct gr_torus_sched *s, uint32_t i)
{
    switch (s->algo) {
    case GR_TORUS_SWING:
        return gr_swing_step(s, i);
    case GR_TORUS_MST:
        return gr_mst_step(s, i);
    default:
        return gr_bucket_step(s, i);
    }
}

uint32_t gr_torus_sched_most(const struct gr_torus_sched *s)
{
    struct gr_torus_lane lane = gr_torus_lane_of(s);
    int p = gr_torus_stride(&s->torus, s->torus.ndims);

    if (GR_TORUS_MST == s->algo || lane.n < 1) {
        return 1;
    }
    return (uint32_t) (GR_TORUS_SWING == s->algo ? p / 2 : p / s->torus.dims[lane.dims[0]]);
}

void gr_torus_sched_way(const struct gr_torus_sched *s, int to, int hops[GR_MAX_DIMS])
{
    const struct gr_torus *t = &s->torus;
    int up = gr_torus_lane_of(s).up, d;

    if (GR_TORUS_MST == s->algo && GR_COLL_REDUCE == s->coll) {
        up = !up; /* the way back */
    }
    for (d = 0; d < GR_MAX_DIMS; d++) {
        hops[d] = 0;
        if (d < t->ndims) {
            int x = gr_torus_coord(t, s->rank, d), y = gr_torus_coord(t, to, d);

            hops[d] = gr_torus_offset(t, d, x, y);
            if (GR_TORUS_SWING != s->algo && !gr_torus_is_line(t, d)) { /* they keep to the channel's direction */
                hops[d] = up ? gr_wrap(y - x, t->dims[d]) : -gr_wrap(x - y, t->dims[d]);
            }
        }
    }
}

static void add_peers(const int32_t *ranks, int n, int *peers, int *npeers)
{
    int k, seen;

    for (k = 0; k < n; k++) {
        for (seen = 0; seen < *npeers && peers[seen] != ranks[k]; seen++) {
        }
        if (seen == *npeers) {
            peers[(*npeers)++] = ranks[k];
        }
    }
}

void gr_torus_sched_peers(const struct gr_torus_sched *s, int *in, int *nin, int *out, int *nout)
{
    struct gr_torus_sched one = *s;
    uint32_t i, len;
    int coll;

    *nin = *nout = 0;
    one.nchunks = 1;
    for (coll = 0; coll < GR_NCOLLS; coll++) {
        one.coll = (enum gr_coll) coll;
        if (!gr_torus_algo_has(s->algo, one.coll, &s->torus)) {
            continue;
        }
        if (one.channel >= gr_torus_channels(s->algo, one.coll, &s->torus)) {
            continue;
        }
        for (i = 0, len = gr_torus_sched_len(&one); i < len; i++) {
            struct gr_step step = gr_torus_sched_step(&one, i);

            add_peers(step.from, step.nfrom, in, nin);
            add_peers(step.to, step.nto, out, nout);
        }
    }
}
