/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels along a torus. */
#include "sched/torus.h"

/* Whether a dimension above extent 1 is a line. */
static int has_line(const struct gr_torus *t)
{
    int d, found = 0;

    for (d = 0; d < t->ndims; d++) {
        found |= t->dims[d] > 1 && gr_torus_is_line(t, d);
    }
    return found;
}

int gr_torus_channels(const struct gr_torus *t, int most_rows)
{
    int rows = 0, d;

    for (d = 0; d < t->ndims; d++) {
        rows += t->dims[d] > 1;
    }
    rows = rows < most_rows ? rows : most_rows;
    return rows < 1 ? 1 : has_line(t) ? rows : 2 * rows;
}

int gr_torus_all_channels(enum gr_coll coll, const struct gr_torus *t)
{
    (void) coll;
    return gr_torus_channels(t, GR_MAX_DIMS);
}

struct gr_torus_lane gr_torus_lane_of(const struct gr_sched *s, int most_rows)
{
    const struct gr_torus *t = &s->torus;
    struct gr_torus_lane lane = {0, 1, 1, {0}};
    int all[GR_MAX_DIMS] = {0};
    int channel = s->channel % gr_torus_channels(t, most_rows), row, d, k;

    for (d = 0; d < t->ndims; d++) {
        if (t->dims[d] > 1) {
            all[lane.n++] = d;
            lane.longest = t->dims[d] > lane.longest ? t->dims[d] : lane.longest;
        }
    }
    row = has_line(t) ? channel : channel / 2;
    lane.up = has_line(t) || 0 == channel % 2;
    for (k = 0; k < lane.n; k++) {
        d = (k + row) % lane.n;
        /* Y X; Z X Y; W Z Y X: at no time the dimension of row 0 */
        if (2 == most_rows && 1 == row) {
            d = 4 == lane.n ? 3 - k : (k + lane.n - 1) % lane.n;
        }
        lane.dims[k] = all[d];
    }
    return lane;
}

int gr_torus_fits(int p, const struct gr_torus *t)
{
    return NULL != t && t->ndims >= 1 && gr_torus_size(t) == p;
}
