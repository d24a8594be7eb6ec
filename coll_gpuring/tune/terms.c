/* SPDX-License-Identifier: BSD-3-Clause */
/* The terms, and the table of methods, of terms.h. */
#include "tune/terms.h"

#include "sched/sched.h"

#include <math.h>

/* Where a message takes longer than some 20 us, it is under way for longer, which is no work. */
#define MOST_MESSAGE 5.0

double gr_terms_message(const struct gr_internode *nodes)
{
    return fmin(nodes->step / 4, MOST_MESSAGE);
}

/*
 * Between nodes with several rails: as many channels on each, as soon as what a further rail saves
 * is more than what a further message costs its sender (gr_cost_internode()).
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

/* ---- methods of moving messages ---- */

/* Shortest chunk worth a slot, and worth being fetched by itself. */
#define LEAST_CHUNK 4096.0
#define LEAST_FETCHED 65536.0

/* No element is longer. */
#define MOST_ELEM_BYTES 32

const struct gr_copy_method_desc gr_copy_methods[GR_NCOPY_METHODS] = {
    [GR_BY_SLOTS] = {GR_PROTOCOL_SIMPLE, 0, LEAST_CHUNK},
    [GR_BY_FETCHING] = {GR_PROTOCOL_SIMPLE, 1, LEAST_FETCHED},
    [GR_BY_LL] = {GR_PROTOCOL_LL, 0, LEAST_CHUNK},
    [GR_BY_LL128] = {GR_PROTOCOL_LL128, 0, LEAST_CHUNK},
};

/* Bytes of a message that fits a slot. */
static size_t slot_bytes(const struct gr_select_args *q, enum gr_protocol protocol)
{
    return GR_PROTOCOL_SIMPLE == protocol ? q->slot_bytes : q->line_bytes[protocol];
}

int gr_copy_may(const struct gr_select_args *q, enum gr_copy_method method)
{
    const struct gr_copy_method_desc *desc = &gr_copy_methods[method];

    return desc->fetches ? q->direct : slot_bytes(q, desc->protocol) > 0;
}

int gr_copy_can(const struct gr_select_args *q, enum gr_algo algo, enum gr_copy_method method)
{
    size_t most;

    if (gr_copy_methods[method].fetches) {
        return gr_algo_may_fetch(algo);
    }
    most = gr_algo_message_chunks(algo, q->coll, q->p, &q->torus);
    if (1 == most) {
        return 1;
    }
    /* several chunks must leave a slot of their link free; a slot of lines takes one chunk */
    return GR_BY_SLOTS == method ? q->slot_bytes / most * (q->nslots - 1) >= MOST_ELEM_BYTES
                                 : most < q->nslots;
}

enum gr_copy_method gr_copy_through_links(int protocol)
{
    return GR_PROTOCOL_LL == protocol      ? GR_BY_LL
           : GR_PROTOCOL_LL128 == protocol ? GR_BY_LL128
                                           : GR_BY_SLOTS;
}

/* ---- terms ---- */

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
    struct gr_cost_terms t = {
        .coll = q->coll,
        .p = q->p,
        .bytes = (double) q->bytes,
        .torus = &q->torus,
        .internode = &q->internode,
        .step = by->step,
        .next = 0 == q->threads ? by->step : costs->own,
        .byte = byte_of(q, method, by->byte) + (combines ? costs->combine : 0),
        /* a host has one thread */
        .channels = 0 == q->threads ? 1 : gr_terms_channels(costs, q, method),
        .least = desc->least,
        .most = (double) (0 != beyond ? beyond : slot_bytes(q, desc->protocol)),
        .device = 0 != q->threads,
        .fetched = desc->fetches,
        .sends_once = desc->fetches && !combines};

    t.least *= t.channels;
    t.most *= t.channels;
    return t;
}
