/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings: every rank receives from the one before it and sends to the one after it.
 *
 *      0 --> 1 --> 2 --> 3        block b belongs to the rank at position b
 *      ^                 |
 *      '-----------------'
 *
 * Reduce-scatter: block b starts at position b + 1 and travels once around, every rank adding its
 * own; it arrives complete at position b. Allgather: block b starts at b and travels once around.
 * Allreduce is both, with the last step of the first half and the first step of the second fused:
 * 2p - 1 steps.
 *
 * Position x, step i of an allreduce handles block x - 1 - i:
 *
 *      i            0     1 .. p-2         p-1                  p .. 2p-3      2p-2
 *      primitive    send  recvReduceSend   recvReduceCopySend   recvCopySend   recv
 *
 * Cost per half: (p-1) a + ((p-1)/p) n b, bandwidth-optimal: every rank sends (p-1)/p n bytes.
 * Order of reduction of block b: x_b + (x_{b-1} + (... + (x_{b+2} + x_{b+1}))), in ring order.
 * Source: Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations,
 * 2009.
 */
#include "sched/algorithm.h"

uint32_t gr_ring_len(const struct gr_sched *s)
{
    return (uint32_t) (GR_COLL_ALLREDUCE == s->coll ? 2 * s->p - 1 : s->p);
}

/* One step of the ring with the block of position b. */
static struct gr_step ring_step(const struct gr_sched *s, int bits, int b, uint32_t i)
{
    struct gr_step t = gr_step_make(bits, GR_IN, GR_OUT, (uint32_t) gr_rank_at(s, b), i);

    if (bits & GR_RECV) {
        gr_step_from(s, &t, gr_wrap(s->pos - 1, s->p));
    }
    if (bits & GR_SEND) {
        gr_step_to(s, &t, gr_wrap(s->pos + 1, s->p));
    }
    return t;
}

static struct gr_step ring_allreduce(const struct gr_sched *s, int i)
{
    int p = s->p;
    int b = gr_wrap(s->pos - 1 - i % p, p);

    if (0 == i) {
        return ring_step(s, GR_SEND, b, 0);
    }
    if (i < p - 1) {
        return ring_step(s, GR_RECV | GR_REDUCE | GR_SEND, b, (uint32_t) i);
    }
    if (i == p - 1) {
        return ring_step(s, GR_RECV | GR_REDUCE | GR_STORE | GR_SEND | GR_FINAL, b, (uint32_t) i);
    }
    if (i < 2 * p - 2) {
        return ring_step(s, GR_RECV | GR_STORE | GR_SEND | GR_FINAL, b, (uint32_t) i);
    }
    return ring_step(s, GR_RECV | GR_STORE | GR_FINAL, b, (uint32_t) i);
}

static struct gr_step ring_reduce_scatter(const struct gr_sched *s, int i)
{
    int b = gr_wrap(s->pos - 1 - i, s->p);

    if (0 == i) {
        return ring_step(s, GR_SEND, b, 0);
    }
    if (i < s->p - 1) {
        return ring_step(s, GR_RECV | GR_REDUCE | GR_SEND, b, (uint32_t) i);
    }
    return ring_step(s, GR_RECV | GR_REDUCE | GR_STORE | GR_FINAL, b, (uint32_t) i);
}

static struct gr_step ring_allgather(const struct gr_sched *s, int i)
{
    int b = gr_wrap(s->pos - i, s->p);

    if (0 == i) {
        return ring_step(s, GR_STORE | GR_SEND | GR_FINAL, b, 0);
    }
    if (i < s->p - 1) {
        return ring_step(s, GR_RECV | GR_STORE | GR_SEND | GR_FINAL, b, (uint32_t) i);
    }
    return ring_step(s, GR_RECV | GR_STORE | GR_FINAL, b, (uint32_t) i);
}

struct gr_step gr_ring_step(const struct gr_sched *s, uint32_t i)
{
    switch (s->coll) {
    case GR_COLL_ALLREDUCE:
        return ring_allreduce(s, (int) i);
    case GR_COLL_REDUCE_SCATTER:
        return ring_reduce_scatter(s, (int) i);
    default:
        return ring_allgather(s, (int) i);
    }
}

/*
 * Half a step more than a rank sends: the first message is only sent. An allreduce sends on what it
 * has just combined: a message of that is fetched out of a cache that still writes to it.
 */
static double ring_cost(const struct gr_cost_terms *t)
{
    double p = t->p, block = t->bytes / p, slots = ceil(block / t->most);
    int both = GR_COLL_ALLREDUCE == t->coll;

    slots *= both && t->fetched ? 2 : 1;
    return ((both ? 2 : 1) * (p - 1) + 0.5) * (gr_cost_messages(t, slots) + block * t->byte);
}

/* Of its steps as many as there are nodes lead from one node to the next. */
static struct gr_internode_cost ring_internode_cost(const struct gr_cost_terms *t)
{
    double n = t->p, nodes = t->internode->nodes;
    double steps = (GR_COLL_ALLREDUCE == t->coll ? 2 : 1) * (n - 1), hops = ceil(steps * nodes / n);

    return (struct gr_internode_cost) {
        .hops = hops, .local_hops = steps - hops, .bytes = steps / n * gr_cost_with_header(t)};
}

const struct gr_algorithm gr_algorithm_ring = {
    .name = "ring",
    .help = "a ring of all ranks, in blocks: the fewest bytes per rank",
    .colls = GR_BLOCK_COLLS,
    .len = gr_ring_len,
    .step = gr_ring_step,
    .links = gr_links_one,
    .cost = ring_cost,
    .internode_cost = ring_internode_cost,
};
