/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dimension-ordered minimum spanning tree (binomial) bcast and reduce. In the first dimension the
 * root's ring gets the data, then every rank of it is the root of its ring in the next dimension,
 * and so on. In a ring, seen as a line:
 *
 *      root
 *      0 ------> 4               tick 0
 *      0 -> 2    4 -> 6          tick 1
 *      0->1 2->3 4->5 6->7       tick 2
 *
 * The root of a part sends to the nearest rank of the other half, then both halves continue
 * separately. Messages of one tick are in different parts, so no link carries two.
 *
 * Reduce is the way back, with the ticks backwards. A ring is cut before the root; where it goes up
 * and down in two channels, these use different links, and so do channels that begin with another
 * dimension, as all change dimension at the same time. Chunks follow each other, one whole tree
 * after the other: there is no pipelining.
 *
 * Cost: sum of ceil(log2 a_d) steps of a + n b. Partial sums of reduce lie in scratch where a rank
 * is not the root. Order of reduction: ((x + v_1) + v_2) + ..., v_k what the k-th child sends; last
 * in bcast is first in reduce. Source: Barnett, Payne, van de Geijn, Watts: Broadcasting on meshes
 * with wormhole routing, 1996.
 */
#include "sched/algorithm.h"

#include "sched/torus.h"

/* A message of the bcast's tree that concerns a rank: from its parent (peer's), or to a child. */
struct branch {
    int peer; /* -1: there is no such message */
    uint32_t tick;
};

/* Ticks of a dimension: of the longest one, for all alike. */
static uint32_t ticks_of_dimension(const struct gr_torus_lane *lane)
{
    return (uint32_t) gr_doubling_rounds(lane->longest);
}

/*
 * In dimension number i of the channel: what is seen of coordinate x, where the root is at 0 unless
 * it is a line.
 */
static int seen_at(const struct gr_sched *s, const struct gr_torus_lane *lane, int d, int x)
{
    int n = s->torus.dims[d], root = gr_torus_coord(&s->torus, s->root, d);

    return gr_torus_is_line(&s->torus, d) ? x : gr_wrap(lane->up ? x - root : root - x, n);
}

static int coord_seen_at(const struct gr_sched *s, const struct gr_torus_lane *lane, int d, int y)
{
    int n = s->torus.dims[d], root = gr_torus_coord(&s->torus, s->root, d);

    return gr_torus_is_line(&s->torus, d) ? y : gr_wrap(lane->up ? root + y : root - y, n);
}

/*
 * The messages of my ring in the dimension, halving the part that I am in: *parent is set if one
 * comes to me, and the one to child number *wanted, counted from where *wanted stands. Returns
 * whether that was found.
 */
static int halve(const struct gr_sched *s, const struct gr_torus_lane *lane, int i, int *wanted,
                 struct branch *parent, struct branch *child)
{
    int d = lane->dims[i], least = 0, most = s->torus.dims[d] - 1;
    int me = seen_at(s, lane, d, gr_torus_coord(&s->torus, s->pos, d));
    int root = seen_at(s, lane, d, gr_torus_coord(&s->torus, s->root, d));
    uint32_t tick = (uint32_t) i * ticks_of_dimension(lane);

    for (; least < most; tick++) {
        int middle = (least + most) / 2, left = root <= middle, other = left ? middle + 1 : middle,
            half = me <= middle;

        if (me == root && 0 == (*wanted)--) {
            child->peer = gr_torus_at(&s->torus, s->pos, d, coord_seen_at(s, lane, d, other));
            child->tick = tick;
            return 1;
        }
        if (me == other) {
            parent->peer = gr_torus_at(&s->torus, s->pos, d, coord_seen_at(s, lane, d, root));
            parent->tick = tick;
        }
        root = half == left ? root : other;
        least = half ? least : middle + 1;
        most = half ? middle : most;
    }
    return 0;
}

/*
 * My parent, and child number `wanted` (0, 1, ...; -1: none) in the order of the bcast's ticks, if
 * there are these.
 */
static void find_branches(const struct gr_sched *s, const struct gr_torus_lane *lane, int wanted,
                          struct branch *parent, struct branch *child)
{
    int first = 0, i, done = 0;

    parent->peer = child->peer = -1;
    parent->tick = child->tick = 0;
    /* in the last dimension in which I am not where the root is, I get it */
    for (i = 0; i < lane->n; i++) {
        int d = lane->dims[i];

        if (gr_torus_coord(&s->torus, s->pos, d) != gr_torus_coord(&s->torus, s->root, d)) {
            first = i;
        }
    }
    for (i = first; i < lane->n && !done; i++) {
        done = halve(s, lane, i, &wanted, parent, child);
    }
}

static int count_children(const struct gr_sched *s, const struct gr_torus_lane *lane)
{
    struct branch parent, child;
    int n = -1;

    do {
        find_branches(s, lane, ++n, &parent, &child);
    } while (child.peer >= 0);
    return n;
}

/* Steps for one chunk. */
static uint32_t chunk_len(const struct gr_sched *s, const struct gr_torus_lane *lane)
{
    return (uint32_t) (count_children(s, lane) + (s->pos != s->root));
}

static uint32_t mst_len(const struct gr_sched *s)
{
    struct gr_torus_lane lane = gr_torus_lane_of(s, GR_MAX_DIMS);

    return s->nchunks * chunk_len(s, &lane);
}

/* Take it from the parent, then give it to the children. */
static void bcast_step(const struct gr_sched *s, const struct gr_torus_lane *lane, int i,
                       struct gr_step *t)
{
    struct branch parent, child;

    find_branches(s, lane, s->pos == s->root ? i : i - 1, &parent, &child);
    if (0 == i && s->pos != s->root) {
        t->bits = GR_RECV | GR_STORE | GR_FINAL;
        gr_step_from(s, t, parent.peer);
        t->tick += parent.tick + 1;
        return;
    }
    t->bits = GR_SEND | GR_FINAL;
    t->operand = (uint8_t) (s->pos == s->root ? GR_IN : GR_OUT);
    gr_step_to(s, t, child.peer);
    t->tick += child.tick;
}

/* Take from the children, the last of the bcast first, then give the sum to the parent. */
static void reduce_step(const struct gr_sched *s, const struct gr_torus_lane *lane, int i, int n,
                        uint32_t ticks, struct gr_step *t)
{
    struct branch parent, child;
    int sums = s->pos == s->root ? GR_OUT : GR_TMP;

    find_branches(s, lane, n - 1 - i, &parent, &child);
    t->operand = (uint8_t) (0 == i ? GR_IN : sums);
    t->dest = (uint8_t) sums;
    if (i < n) {
        t->bits = GR_RECV | GR_REDUCE | GR_STORE | (i == n - 1 && s->pos == s->root ? GR_FINAL : 0);
        gr_step_from(s, t, child.peer);
        t->tick += ticks - child.tick; /* sent in tick ticks - 1 - child.tick */
        return;
    }
    t->bits = GR_SEND;
    gr_step_to(s, t, parent.peer);
    t->tick += ticks - 1 - parent.tick;
}

static struct gr_step mst_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_torus_lane lane = gr_torus_lane_of(s, GR_MAX_DIMS);
    uint32_t len = chunk_len(s, &lane), ticks = (uint32_t) lane.n * ticks_of_dimension(&lane);
    /* a chunk has a step. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
    uint32_t chunk = i / len;
    struct gr_step t = gr_step_make(0, GR_IN, GR_OUT, chunk, chunk * ticks);

    if (GR_COLL_BCAST == s->coll) {
        bcast_step(s, &lane, (int) (i % len), &t);
    } else {
        reduce_step(s, &lane, (int) (i % len), count_children(s, &lane), ticks, &t);
    }
    return t;
}

static double mst_cost(const struct gr_cost_terms *t)
{
    return gr_cost_torus_rounds(t->torus) *
           (ceil(t->bytes / t->most) * t->step + t->bytes * t->byte);
}

/* Inside nodes first: then all ranks of a node send what they have. */
static struct gr_internode_cost mst_internode_cost(const struct gr_cost_terms *t)
{
    double rounds = gr_doubling_rounds(t->internode->nodes), ranks = t->internode->ranks;

    return (struct gr_internode_cost) {.hops = rounds,
                                       .local_hops = gr_doubling_rounds(t->internode->ranks),
                                       .bytes = ranks * rounds * gr_cost_with_header(t)};
}

/* Its parent in the tree, and for a reduce its children. */
static struct gr_links_count mst_links(int p, const struct gr_torus *torus)
{
    return (struct gr_links_count) {gr_links_torus_doubling(p, torus).most, 2};
}

const struct gr_algorithm gr_algorithm_mst = {
    .name = "mst",
    .help = "a binomial tree along one dimension of a torus after the other",
    .colls = GR_ROOTED_COLLS,
    .pipes = GR_ROOTED_COLLS,
    .scratch = GR_BIT(GR_COLL_REDUCE),
    .traits = GR_TRAIT_BY_RANK | GR_TRAIT_ROOTED,
    .fits = gr_torus_fits,
    .len = mst_len,
    .step = mst_step,
    .links = mst_links,
    .channels = gr_torus_all_channels,
    .cost = mst_cost,
    .internode_cost = mst_internode_cost,
    .auto_ranks = gr_cost_ranks_with_nodes,
};
