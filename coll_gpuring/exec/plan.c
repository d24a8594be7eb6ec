/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.h */
#include "plan.h"

#include <assert.h>

/* Elements after which a cache line begins again, so that ranks and channels do not share lines. */
static size_t line_elems(size_t elem_bytes)
{
    size_t n = GR_CACHE_LINE;

    while (n > 1 && 0 == n % 2 && 0 == (n / 2) * elem_bytes % GR_CACHE_LINE) {
        n /= 2;
    }
    return n;
}

/* Bytes that a message has at most. In a direct plan slots hold some words besides, or only these. */
static size_t message_bytes(const struct gr_team *team, const struct gr_request *r)
{
    if (!r->direct) {
        return team->slot_bytes;
    }
    return 0 != r->direct_bytes ? r->direct_bytes : team->slot_bytes - GR_DIRECT_HEAD;
}

void gr_plan_build(struct gr_plan *plan, const struct gr_team *team, const struct gr_request *r)
{
    size_t most = message_bytes(team, r);
    size_t chunk = 0 == r->chunk_bytes || r->chunk_bytes > most ? most : r->chunk_bytes;
    struct gr_shape shape = {
        .coll = r->coll,
        .layout = gr_algo_layout(r->algo, r->coll),
        .p = team->p,
        .total = r->total,
        .block = r->block,
        .counts = r->counts,
        .displs = r->displs,
        .nchannels = r->nchannels,
        .max_piece = chunk < r->elem_bytes ? 1 : chunk / r->elem_bytes,
        .align = line_elems(r->elem_bytes),
        .slices = GR_ALGO_FLAT == r->algo,
    };
    uint32_t c;

    assert(r->elem_bytes > 0 && r->elem_bytes <= most);
    assert(r->nchannels >= 1 && r->nchannels <= team->nchannels);
    plan->slot_elems = most / r->elem_bytes;
    plan->direct = r->direct;
    gr_split_init(&plan->split, &shape);
    for (c = 0; c < r->nchannels; c++) {
        struct gr_sched *s = &plan->sched[c];

        s->coll = r->coll;
        s->algo = r->algo;
        s->p = team->p;
        s->pos = team->where[c % 2][team->rank];
        s->root = team->where[c % 2][r->root];
        s->order = team->order[c % 2];
        s->nchunks = plan->split.nchunks;
        assert(0 == gr_sched_check(s));
    }
}
