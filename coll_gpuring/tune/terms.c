/* SPDX-License-Identifier: BSD-3-Clause */
/* The terms of terms.h. */
#include "tune/terms.h"

/* Shortest chunk worth a slot, and worth being fetched by itself. */
#define MIN_CHUNK 4096.0
#define MIN_DIRECT_CHUNK 65536.0

enum gr_protocol gr_terms_protocol(enum gr_copy_method method)
{
    return GR_BY_LL == method      ? GR_PROTOCOL_LL
           : GR_BY_LL128 == method ? GR_PROTOCOL_LL128
                                   : GR_PROTOCOL_SIMPLE;
}

/*
 * Between nodes with several rails: as many channels on each, as soon as what a further rail saves
 * is more than what a further message costs its sender (cost_internode.c).
 */
static size_t on_all_rails(const struct gr_internode *nodes, size_t bytes, size_t channels)
{
    size_t rails = nodes->rails > 1 && (double) bytes * nodes->byte > nodes->step / 4
                       ? (size_t) nodes->rails
                       : 1;

    return (channels + rails - 1) / rails * rails;
}

uint32_t gr_terms_channels(const struct gr_costs *costs, const struct gr_select_args *q,
                           enum gr_protocol protocol)
{
    size_t per = GR_PROTOCOL_SIMPLE == protocol ? costs->channel_bytes
                                                : costs->lines[protocol].channel_bytes;
    size_t wanted = on_all_rails(&q->internode, q->bytes, 1 + q->bytes / per);

    return wanted < q->nchannels ? (uint32_t) wanted : q->nchannels;
}

int gr_terms_combines(enum gr_coll coll)
{
    return GR_COLL_BCAST != coll && GR_COLL_ALLGATHER != coll && GR_COLL_ALLTOALL != coll;
}

size_t gr_terms_most_fetched(const struct gr_costs *costs, const struct gr_select_args *q)
{
    return gr_terms_combines(q->coll) && 2 != q->p ? 0 : costs->direct_most;
}

struct gr_cost_terms gr_terms_of(const struct gr_costs *costs, const struct gr_select_args *q,
                                 enum gr_copy_method method)
{
    const struct gr_line_costs *lines = &costs->lines[gr_terms_protocol(method)];
    double combine = gr_terms_combines(q->coll) ? costs->combine : 0;
    struct gr_cost_terms t = {
        .coll = q->coll,
        .p = q->p,
        .bytes = (double) q->bytes,
        .torus = &q->torus,
        .internode = &q->internode,
        .step = costs->step,
        .byte = costs->byte + combine,
        /* a host has one thread */
        .channels = 0 == q->threads ? 1 : gr_terms_channels(costs, q, gr_terms_protocol(method)),
        .least = MIN_CHUNK,
        .most = (double) q->slot_bytes,
        .device = 0 != q->threads,
        .fetched = GR_BY_FETCHING == method,
        .flat_ranks = costs->flat_ranks,
        .shot_ranks = costs->shot_ranks};

    if (gr_terms_protocol(method) != GR_PROTOCOL_SIMPLE) {
        t.step = lines->step;
        t.byte = lines->byte;
        t.most = (double) q->line_bytes[gr_terms_protocol(method)];
    }
    if (GR_BY_FETCHING == method) {
        t.step = costs->direct_step;
        t.byte = costs->direct_byte + combine;
        t.least = MIN_DIRECT_CHUNK;
        t.most = 0 != gr_terms_most_fetched(costs, q) ? (double) gr_terms_most_fetched(costs, q)
                                                      : t.most;
        t.sends_once = !gr_terms_combines(q->coll);
    }
    t.next = 0 == q->threads ? t.step : costs->own;
    t.least *= t.channels;
    t.most *= t.channels;
    return t;
}
