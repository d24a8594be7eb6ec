/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PAT, parallel aggregated trees: a binomial tree for each block, all at once, for any number of
 * ranks p. Rank x is at distance d = (x - b) mod p from the owner of block b; in the tree of b the
 * parent of distance d is d without its lowest bit:
 *
 *      distance   0 --+--> 1           allgather: away from the owner, the farthest first
 *                     +--> 2 --> 3     reduce_scatter: towards the owner, the nearest first
 *                     '--> 4 --+--> 5
 *                              '--> 6 --> 7
 *
 * So in the round of bit k rank y and rank y + 2^k exchange the blocks y, y - 2 2^k, y - 4 2^k, ...
 * (mod p), as many as have a distance below p at rank y + 2^k. These are a run of chunks with
 * stride 2 2^k, which may go once beyond block 0 and begin again at the end: a second message. Most
 * bytes pass between neighbours, and few go far.
 *
 *      p = 6, allgather, rank 0:  bit 2   sends 0 to 4           takes 2 from 2
 *                                 bit 1   sends 0 to 2           takes 4 from 4
 *                                 bit 0   sends 0, and 2 4, to 1   takes 1 3 5 from 5
 *
 * An allreduce is a reduce_scatter and an allgather. Partial sums lie in scratch (reduce_scatter)
 * or in the output (allreduce).
 *
 * Cost per half: ceil(log2 p) rounds, (p-1)/p n b. Recursive doubling has the same where p is a
 * power of two, else more rounds and twice the bytes; a ring has p - 1 rounds. Order of reduction
 * at distance d: ((x_d + v_1) + v_2) + v_4 ..., v_j what distance d + j sends, j below the lowest
 * bit of d. Source: Jeaugey: PAT: a new algorithm for all-gather and reduce-scatter operations at
 * scale, 2025 (arXiv 2506.20252); NCCL since 2.23.
 */
#include "sched/algorithm.h"

/* Steps of a round: send, then take, the first message; the same for the second one. */
enum { ROUND = 4 };

/* Blocks that y and y + 2^k exchange. */
static int count_blocks(int p, int k)
{
    return (p - 1 - (1 << k)) / (2 << k) + 1;
}

/*
 * The blocks y - 2 j 2^k that are not below 0; or where `second` the others, which begin again at
 * the end. Returns whether there are any.
 */
static int set_run(const struct gr_sched *s, int y, int k, int second, struct gr_step *t)
{
    int stride = 2 << k, n = count_blocks(s->p, k), low = y / stride + 1;

    low = low < n ? low : n;
    t->stride = (uint32_t) stride;
    t->count = (uint32_t) (second ? n - low : low);
    t->first = (uint32_t) (second ? s->p + y - (n - 1) * stride : y - (low - 1) * stride);
    return t->count > 0;
}

/* Step i of the rounds of an allgather (gather) or reduce_scatter. */
static struct gr_step round_step(const struct gr_sched *s, int gather, uint32_t i)
{
    int all = gr_doubling_rounds(s->p), round = (int) i / ROUND, part = (int) i % ROUND;
    int k = gather ? all - 1 - round : round, takes = part % 2, second = part / 2;
    int sums = GR_COLL_ALLREDUCE == s->coll ? GR_OUT : GR_TMP, last = round == all - 1;
    struct gr_step t = gr_step_make(0, GR_OUT, GR_OUT, 0, (uint32_t) (2 * round + takes + second));
    /* whether I am y, who is nearer to the blocks' owners */
    int near = gather != takes, peer = gr_wrap(s->pos + (near ? 1 << k : -(1 << k)), s->p);

    if (!set_run(s, near ? s->pos : peer, k, second, &t)) {
        return t; /* nothing to do, but all ranks' steps have the same numbers */
    }
    if (!gather) {
        t.operand = (uint8_t) (0 == round ? GR_IN : sums);
        t.dest = (uint8_t) (last ? GR_OUT : sums);
    }
    if (takes) {
        t.bits = (uint8_t) (GR_RECV | GR_STORE | (gather ? 0 : GR_REDUCE));
        gr_step_from(s, &t, peer);
    } else {
        t.bits = GR_SEND;
        gr_step_to(s, &t, peer);
    }
    t.bits |= gather || (takes && last) ? GR_FINAL : 0;
    return t;
}

/*
 * A half begins with a copy inside the rank. Allgather: my own block. Reduce_scatter: the block at
 * distance p - 1, which no other rank adds to; where p is odd it is sent together with sums.
 */
static struct gr_step first_step(const struct gr_sched *s)
{
    int sums = GR_COLL_ALLREDUCE == s->coll ? GR_OUT : GR_TMP;

    if (GR_COLL_ALLGATHER == s->coll) {
        return gr_step_make(GR_STORE | GR_FINAL, GR_IN, GR_OUT, (uint32_t) s->pos, 0);
    }
    return gr_step_make(s->p % 2 ? GR_STORE : 0, GR_IN, sums, (uint32_t) ((s->pos + 1) % s->p), 0);
}

static uint32_t pat_len(const struct gr_sched *s)
{
    return 1 +
           (uint32_t) ((GR_COLL_ALLREDUCE == s->coll ? 2 : 1) * ROUND * gr_doubling_rounds(s->p));
}

static struct gr_step pat_step(const struct gr_sched *s, uint32_t i)
{
    uint32_t half = (uint32_t) (ROUND * gr_doubling_rounds(s->p));
    struct gr_step t;

    if (0 == i--) {
        return first_step(s);
    }
    if (GR_COLL_ALLREDUCE != s->coll || i < half) {
        return round_step(s, GR_COLL_ALLGATHER == s->coll, i);
    }
    t = round_step(s, 1, i - half);
    t.tick += half / 2;
    return t;
}

/* Both messages of the last round together, which they may be in one. */
static uint32_t pat_message_chunks(int p, const struct gr_torus *torus)
{
    (void) torus;
    return (uint32_t) count_blocks(p, 0);
}

static double pat_cost(const struct gr_cost_terms *t)
{
    double p = t->p, s = t->bytes, halves = GR_COLL_ALLREDUCE == t->coll ? 2 : 1;

    return halves * (gr_doubling_rounds(t->p) * gr_cost_messages(t, 2 * ceil(s / 4 / t->most)) +
                     (p - 1) / p * s * t->byte);
}

/*
 * Each round crosses nodes somewhere, with two messages. Where ranks are numbered node by node, 2^k
 * ranks of a node do in the round of bit k, or all.
 */
static struct gr_internode_cost pat_internode_cost(const struct gr_cost_terms *t)
{
    double halves = GR_COLL_ALLREDUCE == t->coll ? 2 : 1, rounds = gr_doubling_rounds(t->p),
           share = 0;
    int k;

    for (k = 0; 1 << k < t->p; k++) {
        double ranks = 1 << k < t->internode->ranks ? 1 << k : t->internode->ranks;

        share += ranks * count_blocks(t->p, k) / t->p;
    }
    return (struct gr_internode_cost) {.hops = halves * rounds,
                                       .messages = halves * rounds,
                                       .bytes = halves * share * gr_cost_with_header(t)};
}

/* Partners above and below, at each distance. */
static struct gr_links_count pat_links(int p, const struct gr_torus *torus)
{
    int n = 2 * gr_links_doubling(p, torus).most;

    return (struct gr_links_count) {n, n};
}

const struct gr_algorithm gr_algorithm_pat = {
    .name = "pat",
    .help =
        "a binomial tree for each block, all at once: the fewest rounds and bytes for any number "
        "of ranks",
    .colls = GR_BLOCK_COLLS,
    .scratch = GR_BIT(GR_COLL_REDUCE_SCATTER),
    .traits = GR_TRAIT_BY_RANK,
    .len = pat_len,
    .step = pat_step,
    .links = pat_links,
    .message_chunks = pat_message_chunks,
    .cost = pat_cost,
    .internode_cost = pat_internode_cost,
    .auto_ranks = NULL, /* only where it is forced: no measurement says yet where it wins */
};
