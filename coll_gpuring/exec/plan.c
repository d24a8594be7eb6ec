/* SPDX-License-Identifier: BSD-3-Clause */
/* Building a plan. */
#include "exec/plan.h"

#include <assert.h>

/* The smallest number of elements whose bytes are a multiple of `align`. */
static size_t align_elems(size_t elem_bytes, size_t align)
{
    size_t n = align;

    while (n > 1 && 0 == n % 2 && 0 == (n / 2) * elem_bytes % align) {
        n /= 2;
    }
    return n;
}

/* Most bytes of a chunk; a message may have several chunks. */
static size_t chunk_bytes(const struct gr_plan_spec *r, int p, size_t most, uint32_t nslots)
{
    size_t chunks = gr_algo_message_chunks(r->algo, r->coll, p, &r->torus),
           room = most / chunks * (nslots - 1);

    most = chunks > 1 && room < most ? room : most;
    assert(most >= r->elem_bytes);
    return 0 == r->chunk_bytes || r->chunk_bytes > most ? most : r->chunk_bytes;
}

struct gr_split gr_plan_split(const struct gr_plan_spec *r, int p, size_t most, uint32_t nslots,
                              size_t align)
{
    size_t chunk = chunk_bytes(r, p, most, nslots);
    uint32_t slice_chunks = gr_algo_slice_chunks(r->algo);
    struct gr_split split = {
        .coll = r->coll,
        .layout = gr_algo_layout(r->algo, r->coll),
        .p = p,
        .total = r->total,
        .block = r->block,
        .counts = r->counts,
        .displs = r->displs,
        .nchannels = r->nchannels,
        .chunk_elems = chunk < r->elem_bytes ? 1 : chunk / r->elem_bytes,
        .align = align_elems(r->elem_bytes, align),
        .slice_chunks = 0 == slice_chunks ? r->slice_chunks : slice_chunks,
    };

    gr_split_init(&split);
    return split;
}

struct gr_sched gr_plan_sched(const struct gr_plan_spec *r, int p, int rank,
                              const struct gr_rings *rings, uint32_t channel, uint32_t nchunks)
{
    int along = gr_algo_is_by_rank(r->algo);
    const int *where = rings->where[channel % 2];
    struct gr_sched s = {
        .coll = r->coll,
        .algo = r->algo,
        .p = p,
        .pos = along ? rank : where[rank],
        .root = along ? r->root : where[r->root],
        .order = along ? NULL : rings->order[channel % 2],
        .nchunks = nchunks,
        .torus = r->torus,
        .channel = gr_rings_lane(&r->torus, channel),
    };

    assert(0 == gr_sched_check(&s));
    return s;
}

size_t gr_plan_scratch(const struct gr_plan_spec *r, int p)
{
    size_t elems = r->total + (size_t) p * r->block, sum = 0, end;
    int k;

    for (k = 0; k < p && NULL != r->counts; k++) {
        sum += r->counts[k];
        end = NULL != r->displs ? r->displs[k] + r->counts[k] : sum;
        elems = end > elems ? end : elems;
    }
    return gr_algo_has_scratch(r->algo, r->coll) ? elems * r->elem_bytes : 0;
}

/*
 * Most bytes of a message. In a direct plan a slot holds addresses before the data, or only these.
 */
static size_t message_bytes(const struct gr_channel_set *links, const struct gr_plan_spec *r)
{
    if (!r->direct) {
        return links->slot_bytes;
    }
    return 0 != r->direct_bytes ? r->direct_bytes : links->slot_bytes - GR_DIRECT_HEAD;
}

void gr_plan_build(struct gr_plan *plan, const struct gr_team *team, const struct gr_plan_spec *r)
{
    const struct gr_channel_set *links = gr_team_links_of(team, r->small);
    size_t most = message_bytes(links, r);
    uint32_t c;

    assert(r->elem_bytes > 0 && r->elem_bytes <= most);
    assert(r->nchannels >= 1 && r->nchannels <= links->nchannels);
    assert(!r->direct || gr_algo_may_fetch(r->algo));
    plan->slot_elems = most / r->elem_bytes;
    plan->split = gr_plan_split(r, team->p, most, links->nslots, GR_CACHE_LINE);
    for (c = 0; c < r->nchannels; c++) {
        plan->sched[c] =
            gr_plan_sched(r, team->p, team->rank, &team->rings, c, plan->split.nchunks);
    }
}
