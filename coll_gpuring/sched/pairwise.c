/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairwise Alltoall over direct links: in round k every rank sends to the one k places after it,
 * and receives from the one k places before it. So no rank receives from two ranks at a time, and
 * each block moves once, from its sender's input to its receiver's output.
 *
 *      round 1   0>1 1>2 2>3 3>0        round 2   0>2 1>3 2>0 3>1        round 3   0>3 1>0 2>1 3>2
 *
 * A rank's messages do not depend on received data. So it first posts all its messages: a late rank
 * delays no other. Then it copies its own block, and receives, round by round.
 *
 * Cost: (p-1) (a + m b), m bytes per pair.
 */
#include "sched/algorithm.h"

uint32_t gr_pairwise_len(const struct gr_sched *s)
{
    return 2 * (uint32_t) s->p - 1;
}

struct gr_step gr_pairwise_step(const struct gr_sched *s, uint32_t i)
{
    int rounds = s->p - 1, k = (int) i, peer;
    struct gr_step t;

    if (k < rounds) {
        peer = gr_wrap(s->pos + 1 + k, s->p);
        t = gr_step_make(GR_SEND | GR_FINAL, GR_IN, GR_OUT, (uint32_t) gr_rank_at(s, peer), i);
        t.shift = gr_rank_at(s, s->pos) - gr_rank_at(s, peer); /* there, it is the block from me */
        gr_step_to(s, &t, peer);
        return t;
    }
    if (k == rounds) {
        return gr_step_make(GR_STORE | GR_FINAL, GR_IN, GR_OUT, (uint32_t) gr_rank_at(s, s->pos),
                            0);
    }
    k -= rounds + 1;
    peer = gr_wrap(s->pos - 1 - k, s->p);
    t = gr_step_make(GR_RECV | GR_STORE | GR_FINAL, GR_IN, GR_OUT, (uint32_t) gr_rank_at(s, peer),
                     (uint32_t) k + 1);
    gr_step_from(s, &t, peer);
    return t;
}

static double pairwise_cost(const struct gr_cost_terms *t)
{
    double p = t->p, s = t->bytes, slots = ceil(s / p / t->most);

    return slots * (t->step + 2 * (p - 1) * t->next) + (p - 1) * s / p * t->byte;
}

const struct gr_algorithm gr_algorithm_pairwise = {
    .name = "pairwise",
    .help = "each rank exchanges with all others in turn",
    .colls = GR_BIT(GR_COLL_ALLTOALL),
    .traits = GR_TRAIT_FLAT,
    .len = gr_pairwise_len,
    .step = gr_pairwise_step,
    .links = gr_links_all,
    .cost = pairwise_cost,
    .internode_cost = gr_cost_all_pairs,
};
