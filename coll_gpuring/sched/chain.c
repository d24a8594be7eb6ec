/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chains: a ring cut open at the root, with the vector's chunks following each other.
 *
 *      bcast    root --> root+1 --> ... --> root-1        recvCopySend in the middle
 *      reduce   root+1 --> root+2 --> ... --> root        recvReduceSend in the middle
 *
 * Step i is chunk i. Cost (p - 2 + C) (a + n b / C) with C chunks: n b for long vectors, whatever p
 * is. Order of reduction: x_root + (x_{root-1} + (... + (x_{root+2} + x_{root+1}))).
 */
#include "sched/algorithm.h"

uint32_t gr_chain_len(const struct gr_sched *s)
{
    return s->nchunks;
}

static struct gr_step chain_bcast(const struct gr_sched *s, uint32_t i)
{
    int d = gr_wrap(s->pos - s->root, s->p); /* my distance from the root */
    int bits = (d > 0 ? GR_RECV | GR_STORE : 0) | (d < s->p - 1 ? GR_SEND : 0) | GR_FINAL;

    return gr_step_make(bits, GR_IN, GR_OUT, i, i + (uint32_t) d);
}

static struct gr_step chain_reduce(const struct gr_sched *s, uint32_t i)
{
    int d = gr_wrap(s->pos - s->root - 1, s->p); /* my distance from the chain's beginning */
    int bits = (d > 0 ? GR_RECV | GR_REDUCE : 0) | (d < s->p - 1 ? GR_SEND : GR_STORE | GR_FINAL);

    return gr_step_make(bits, GR_IN, GR_OUT, i, i + (uint32_t) d);
}

struct gr_step gr_chain_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_step t = GR_COLL_BCAST == s->coll ? chain_bcast(s, i) : chain_reduce(s, i);

    if (t.bits & GR_RECV) {
        gr_step_from(s, &t, gr_wrap(s->pos - 1, s->p));
    }
    if (t.bits & GR_SEND) {
        gr_step_to(s, &t, gr_wrap(s->pos + 1, s->p));
    }
    return t;
}

static struct gr_cost_pipe chain_pipe(const struct gr_cost_terms *t)
{
    double p = t->p;

    return (struct gr_cost_pipe) {p > 2 ? p - 2 : 0, 1, 1};
}

static struct gr_internode_cost chain_internode_cost(const struct gr_cost_terms *t)
{
    double n = t->p, nodes = t->internode->nodes;

    return (struct gr_internode_cost) {.hops = nodes - 1,
                                       .local_hops = n - nodes,
                                       .bytes = gr_cost_with_header(t),
                                       .pipelined = 1};
}

const struct gr_algorithm gr_algorithm_chain = {
    .name = "chain",
    .help = "a chain from the root, or to it, whose chunks follow each other",
    .colls = GR_ROOTED_COLLS,
    .pipes = GR_ROOTED_COLLS,
    .traits = GR_TRAIT_PIPELINED,
    .len = gr_chain_len,
    .step = gr_chain_step,
    .links = gr_links_one,
    .pipe = chain_pipe,
    .internode_cost = chain_internode_cost,
};
