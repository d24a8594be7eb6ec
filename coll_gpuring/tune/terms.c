/* SPDX-License-Identifier: BSD-3-Clause */
/* The terms of terms.h. */
#include "tune/terms.h"

#include "tune/copy_methods.h"

#include <math.h>

/* Where a message takes longer than some 20 us, it is under way for longer, which is no work. */
#define MOST_MESSAGE 5.0

double gr_terms_message(const struct gr_internode *nodes)
{
    return fmin(nodes->step / 4, MOST_MESSAGE);
}

/*
 * Between nodes with several rails: as many channels on each, as soon as what a further rail saves
 * is more than what a further message costs its sender (cost_internode.c).
 */
static size_t on_all_rails(const struct gr_internode *nodes, size_t bytes, size_t channels)
{
    size_t rails = nodes->rails > 1 && (double) bytes * nodes->byte > gr_terms_message(nodes)
                       ? (size_t) nodes->rails
                       : 1;

    return (channels + rails - 1) / rails * rails;
}

uint32_t gr_terms_channels(const struct gr_costs *costs, const struct gr_select_args *q,
                           enum gr_copy_method method)
{
    size_t wanted =
        on_all_rails(&q->internode, q->bytes, 1 + q->bytes / costs->by[method].channel_bytes);

    return wanted < q->nchannels ? (uint32_t) wanted : q->nchannels;
}

int gr_terms_combines(enum gr_coll coll)
{
    return GR_COLL_BCAST != coll && GR_COLL_ALLGATHER != coll && GR_COLL_ALLTOALL != coll;
}

size_t gr_terms_beyond_slot(const struct gr_costs *costs, const struct gr_select_args *q,
                            enum gr_copy_method method)
{
    return gr_terms_combines(q->coll) && 2 != q->p ? 0 : costs->by[method].most;
}

/*
 * Two ranks copy a message that is offered: what a byte of it costs, of what it costs one rank.
 * Among more ranks the sender has others to serve.
 */
#define BY_TWO 0.55

static double byte_of(const struct gr_select_args *q, enum gr_copy_method method, double byte)
{
    int by_two = gr_copy_methods[method].fetches && q->offers && 2 == q->p &&
                 gr_copy_is_offered(q->coll) && q->bytes >= GR_OFFERED_BYTES;

    return by_two ? BY_TWO * byte : byte;
}

struct gr_cost_terms gr_terms_of(const struct gr_costs *costs, const struct gr_select_args *q,
                                 enum gr_copy_method method)
{
    const struct gr_copy_method_desc *desc = &gr_copy_methods[method];
    const struct gr_copy_costs *by = &costs->by[method];
    size_t beyond = gr_terms_beyond_slot(costs, q, method);
    int combines = gr_terms_combines(q->coll);
    struct gr_cost_terms t = {.coll = q->coll,
                              .p = q->p,
                              .bytes = (double) q->bytes,
                              .torus = &q->torus,
                              .internode = &q->internode,
                              .step = by->step,
                              .next = 0 == q->threads ? by->step : costs->own,
                              .byte =
                                  byte_of(q, method, by->byte) + (combines ? costs->combine : 0),
                              /* a host has one thread */
                              .channels = 0 == q->threads ? 1 : gr_terms_channels(costs, q, method),
                              .least = desc->least,
                              .most = (double) (0 != beyond ? beyond : desc->slot_bytes(q)),
                              .device = 0 != q->threads,
                              .fetched = desc->fetches,
                              .sends_once = desc->fetches && !combines,
                              .flat_ranks = costs->flat_ranks,
                              .shot_ranks = costs->shot_ranks};

    t.least *= t.channels;
    t.most *= t.channels;
    return t;
}
