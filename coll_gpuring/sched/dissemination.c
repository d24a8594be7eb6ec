/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dissemination: a barrier. What is sent is a token, the set of the ranks that are known to have
 * entered. A rank may leave when its token holds all ranks. Tokens are combined by union, which may
 * add a rank twice, so this is for no other collective.
 *
 * Between Q nodes, in round k = 0, 1, ... a node sends its token 2^k nodes up and takes one from
 * 2^k nodes down, counted around. After round k it knows of 2^(k+1) nodes, itself included:
 *
 *      node       0     1     2     3     4
 *      round 0    0 4   1 0   2 1   3 2   4 3       -> 1 up
 *      round 1    all but 1     ...                 -> 2 up: 0 has {0 4} and takes {3 2}
 *      round 2    all                               -> 4 up
 *
 * Inside a node a leader, its first rank, takes the tokens of the others before round 0 and gives
 * them the result behind the last round. Where the ranks are on one node, or the nodes are not
 * those of the torus, each rank is a node.
 *
 * Cost: log2 Q rounds, rounded up, for any Q, and one hop inside nodes each way. Source: Hensgen,
 * Finkel, Manber: Two algorithms for barrier synchronization, International Journal of Parallel
 * Programming 17, 1988; leaders: two_level.h.
 */
#include "sched/two_level.h"

#include "sched/torus.h"

#include <limits.h>

/* Where a rank is. */
struct place {
    int ranks;  /* ranks of a node */
    int nodes;  /* number of nodes */
    int local;  /* my number inside my node; 0: its leader */
    int node;   /* the number of my node */
    int fans;   /* steps in which a leader serves the others of its node */
    int rounds; /* between leaders */
    int apart;  /* the torus counts nodes first: ranks of a node are `nodes` numbers apart */
};

/* The dimension inside nodes is 0 or the last one, as the launcher numbers ranks. */
static struct place find_place(const struct gr_sched *s)
{
    const struct gr_torus *t = &s->torus;
    int nested = 2 == t->ndims && t->nested > 0 && gr_torus_fits(s->p, t);
    struct place at = {.ranks = nested ? t->dims[t->nested - 1] : 1};

    at.nodes = s->p / at.ranks;
    at.apart = nested && 2 == t->nested;
    at.local = at.apart ? s->pos / at.nodes : s->pos % at.ranks;
    at.node = at.apart ? s->pos % at.nodes : s->pos / at.ranks;
    at.fans = gr_fans(at.ranks - 1);
    at.rounds = gr_doubling_rounds(at.nodes);
    return at;
}

/* The position of a rank of a node. */
static int position(const struct place *at, int node, int local)
{
    return at->apart ? local * at->nodes + node : node * at->ranks + local;
}

/* Steps of a leader for each chunk: gather, a send and a receipt per round, release. */
static uint32_t leader_len(const struct place *at)
{
    return (uint32_t) (2 * at->fans + 2 * at->rounds);
}

/* Ticks for each chunk: one for each fan and round, and the one in which the result is taken. */
static uint32_t ticks(const struct place *at)
{
    return (uint32_t) (2 * at->fans + at->rounds + 1);
}

/* Ranks besides the leader that fan f serves: their numbers in the node begin at *first. */
static int fan_ranks(const struct place *at, int f, int *first)
{
    int left = at->ranks - 1 - f * GR_FAN;

    *first = 1 + f * GR_FAN;
    return left < GR_FAN ? left : GR_FAN;
}

/* Union of the token, in the operand, and what comes in. last: after it the token is complete. */
static void take(struct gr_step *t, int last)
{
    t->bits = (uint8_t) (GR_RECV | GR_REDUCE | GR_STORE | (last ? GR_FINAL : 0));
}

/* Fan f of the leader takes the tokens of its node. */
static void gather(const struct gr_sched *s, const struct place *at, int f, struct gr_step *t)
{
    int n, first, k;

    take(t, f == at->fans - 1 && 0 == at->rounds);
    t->operand = 0 == f ? GR_IN : GR_OUT;
    t->tick += (uint32_t) f + 1;
    for (n = fan_ranks(at, f, &first), k = 0; k < n; k++) {
        gr_step_from(s, t, position(at, at->node, first + k));
    }
}

/* Half 0 of a round sends the token up, half 1 takes the one from below. */
static void disseminate(const struct gr_sched *s, const struct place *at, int round, int half,
                        struct gr_step *t)
{
    int hop = 1 << round;

    t->operand = 0 == round && 0 == at->fans ? GR_IN : GR_OUT; /* the token so far */
    t->tick += (uint32_t) (at->fans + round + half);
    if (0 == half) {
        t->bits = GR_SEND;
        gr_step_to(s, t, position(at, gr_wrap(at->node + hop, at->nodes), 0));
        return;
    }
    take(t, round == at->rounds - 1);
    gr_step_from(s, t, position(at, gr_wrap(at->node - hop, at->nodes), 0));
}

/* The tick in which fan f gives the result. */
static uint32_t release_tick(const struct place *at, int f)
{
    return (uint32_t) (at->fans + at->rounds + f);
}

/* Fan f of the leader gives the complete token to its node. */
static void release(const struct gr_sched *s, const struct place *at, int f, struct gr_step *t)
{
    int n, first, k;

    t->bits = GR_SEND | GR_FINAL;
    t->operand = GR_OUT;
    t->tick += release_tick(at, f);
    for (n = fan_ranks(at, f, &first), k = 0; k < n; k++) {
        gr_step_to(s, t, position(at, at->node, first + k));
    }
}

static void leader_step(const struct gr_sched *s, const struct place *at, int i, struct gr_step *t)
{
    int rounds = i - at->fans, releases = rounds - 2 * at->rounds;

    if (rounds < 0) {
        gather(s, at, i, t);
    } else if (releases < 0) {
        disseminate(s, at, rounds / 2, rounds % 2, t);
    } else {
        release(s, at, releases, t);
    }
}

/* The others of a node: say that I have entered, and wait for the result. */
static void other_step(const struct gr_sched *s, const struct place *at, int i, struct gr_step *t)
{
    int f = (at->local - 1) / GR_FAN;

    if (0 == i) {
        t->bits = GR_SEND;
        t->tick += (uint32_t) f;
        gr_step_to(s, t, position(at, at->node, 0));
        return;
    }
    t->bits = GR_RECV | GR_STORE | GR_FINAL;
    t->tick += release_tick(at, f) + 1;
    gr_step_from(s, t, position(at, at->node, 0));
}

static uint32_t chunk_len(const struct place *at)
{
    return 0 == at->local ? leader_len(at) : 2;
}

static uint32_t dissemination_len(const struct gr_sched *s)
{
    struct place at = find_place(s);

    return s->nchunks * chunk_len(&at);
}

static struct gr_step dissemination_step(const struct gr_sched *s, uint32_t i)
{
    struct place at = find_place(s);
    uint32_t len = chunk_len(&at), chunk = i / len;
    struct gr_step t = gr_step_make(0, GR_IN, GR_OUT, chunk, chunk * ticks(&at));

    if (0 == at.local) {
        leader_step(s, &at, (int) (i % len), &t);
    } else {
        other_step(s, &at, (int) (i % len), &t);
    }
    return t;
}

static double dissemination_cost(const struct gr_cost_terms *t)
{
    return gr_doubling_rounds(t->p) * (t->step + t->bytes * t->byte);
}

/*
 * Where the torus has no nodes, all ranks of a node send to others in each round. Leaders serve the
 * others of their nodes at once.
 */
static struct gr_internode_cost dissemination_internode_cost(const struct gr_cost_terms *t)
{
    double ranks = t->internode->ranks, s = gr_cost_with_header(t);
    int nested = 2 == t->torus->ndims && t->torus->nested > 0;
    double local = nested && ranks > 1 ? 2 : 0;
    double rounds = gr_doubling_rounds(nested ? t->internode->nodes : t->p);

    return (struct gr_internode_cost) {
        .hops = rounds, .local_hops = local, .bytes = (nested ? 1 : ranks) * rounds * s};
}

static int dissemination_auto_ranks(const struct gr_cost_terms *t)
{
    (void) t;
    return INT_MAX;
}

static struct gr_links_count dissemination_links(int p, const struct gr_torus *torus)
{
    struct gr_sched s = {.p = p, .torus = *torus};
    struct place at = find_place(&s);

    return gr_links_leaders(at.ranks, at.rounds);
}

const struct gr_algorithm gr_algorithm_dissemination = {
    .name = "dissemination",
    .help = "for a barrier: leaders of nodes tell 1, 2, 4, ... nodes further who has entered",
    .colls = GR_BIT(GR_COLL_BARRIER),
    .pipes = GR_BIT(GR_COLL_BARRIER),
    .traits = GR_TRAIT_BY_RANK | GR_TRAIT_OVERWRITES_SENT,
    .len = dissemination_len,
    .step = dissemination_step,
    .links = dissemination_links,
    .cost = dissemination_cost,
    .internode_cost = dissemination_internode_cost,
    .auto_ranks = dissemination_auto_ranks,
};
