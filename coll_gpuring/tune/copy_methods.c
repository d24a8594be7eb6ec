/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of copy_methods.h. */
#include "tune/copy_methods.h"

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
