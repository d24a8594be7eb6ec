/* SPDX-License-Identifier: BSD-3-Clause */
/* The need of a set-up of links. */
#include "link/need.h"

#include "link/fifo.h"
#include "sched/algorithm.h"
#include "sched/sched.h"
#include "topo/torus.h"

/* Notes go along all dimensions, to all ranks of a row. */
static struct gr_links_count count_lines(const struct gr_team *team)
{
    const struct gr_torus *torus = &team->rings.torus;
    int d, n = 0;

    for (d = 0; d < torus->ndims; d++) {
        n += torus->dims[d] - 1;
    }
    n = torus->ndims > 0 ? n : team->p - 1;
    return (struct gr_links_count) {n, n};
}

struct gr_need gr_team_need(const struct gr_team *team, int way, uint32_t nchannels)
{
    const struct gr_channel_set *set = gr_team_channel_set(team, way);
    struct gr_links_count n = GR_WAY_NOTES == way
                                  ? count_lines(team)
                                  : gr_algo_links(gr_way_algo(way), team->p, &team->rings.torus);
    size_t link = gr_link_bytes(set->nslots, set->slot_bytes);
    int channels = (int) nchannels, ends = 1;

    if (NULL != team->remote) { /* a slab at both ends, and a reply to each handle */
        link += gr_link_net_bytes(set->nslots, set->slot_bytes);
        ends = 2;
    }
    /* the agreement is by dissemination */
    return (struct gr_need) {.links = n.most * channels,
                             .bytes = (size_t) (n.mean * channels) * link,
                             .most_bytes = (size_t) (n.most * channels) * link,
                             .messages = n.most * channels * ends + gr_doubling_rounds(team->p)};
}
