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

/* ---- methods of moving messages ---- */

/* Shortest chunk worth a slot, and worth being fetched by itself. */
#define LEAST_CHUNK 4096.0
#define LEAST_FETCHED 65536.0

/* No element is longer. */
#define MOST_ELEM_BYTES 32

static size_t message_chunks(const struct gr_select_args *q, enum gr_algo algo)
{
    return gr_algo_message_chunks(algo, q->coll, q->p, &q->torus);
}

/* ---- slots ---- */

static int slots_may(const struct gr_select_args *q)
{
    (void) q;
    return 1;
}

/* Several chunks must leave a slot of their link free. */
static int slots_can(const struct gr_select_args *q, enum gr_algo algo)
{
    size_t most = message_chunks(q, algo);

    return 1 == most || q->slot_bytes / most * (q->nslots - 1) >= MOST_ELEM_BYTES;
}

static size_t slots_bytes(const struct gr_select_args *q)
{
    return q->slot_bytes;
}

/* ---- fetching ---- */

static int fetching_may(const struct gr_select_args *q)
{
    return q->direct;
}

static int fetching_can(const struct gr_select_args *q, enum gr_algo algo)
{
    (void) q;
    return gr_algo_may_fetch(algo);
}

/* ---- LL and LL128 ---- */

/* A slot takes one chunk. */
static int lines_can(const struct gr_select_args *q, enum gr_algo algo)
{
    size_t most = message_chunks(q, algo);

    return 1 == most || most < q->nslots;
}

static size_t ll_bytes(const struct gr_select_args *q)
{
    return q->line_bytes[GR_PROTOCOL_LL];
}

static int ll_may(const struct gr_select_args *q)
{
    return ll_bytes(q) > 0;
}

static size_t ll128_bytes(const struct gr_select_args *q)
{
    return q->line_bytes[GR_PROTOCOL_LL128];
}

static int ll128_may(const struct gr_select_args *q)
{
    return ll128_bytes(q) > 0;
}

const struct gr_copy_method_desc gr_copy_methods[GR_NCOPY_METHODS] = {
    [GR_BY_SLOTS] = {GR_PROTOCOL_SIMPLE, 0, LEAST_CHUNK, slots_may, slots_can, slots_bytes},
    [GR_BY_FETCHING] = {GR_PROTOCOL_SIMPLE, 1, LEAST_FETCHED, fetching_may, fetching_can,
                        slots_bytes},
    [GR_BY_LL] = {GR_PROTOCOL_LL, 0, LEAST_CHUNK, ll_may, lines_can, ll_bytes},
    [GR_BY_LL128] = {GR_PROTOCOL_LL128, 0, LEAST_CHUNK, ll128_may, lines_can, ll128_bytes},
};

enum gr_copy_method gr_copy_through_links(int protocol)
{
    return GR_PROTOCOL_LL == protocol      ? GR_BY_LL
           : GR_PROTOCOL_LL128 == protocol ? GR_BY_LL128
                                           : GR_BY_SLOTS;
}
