/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the algorithms cost, by counting: traffic, ticks, links, and who talks to other nodes. S is
 * the vector in elements (allgather: the whole output; reduce_scatter: the whole input), N the
 * number of ranks; see docs/measuring.md: a ring moves (N-1)S/N per rank and half, a tree or a
 * chain (N-1)S in all, and each half of an allreduce as much. Clusters are numbered node by node,
 * or one rank of each node in turn.
 */
#include "depth.h"
#include "rng.h"
#include "symbolic.h"

#include <stdio.h>

#include "cmocka_test.h"

static struct sym world;

static void run(const struct sym_case *c)
{
    char text[320];

    if (SYM_OK != sym_run(&world, c)) {
        fail_msg("torus %dx%d nested %d, %s: %s", c->torus.dims[0], c->torus.dims[1],
                 c->torus.nested, sym_describe(c, text, sizeof(text)), world.why);
    }
}

/* A case with that many chunks (pipelines) or slices (blocks) of one element. */
static struct sym_case counted(enum gr_algo algo, enum gr_coll coll, int p, uint32_t chunks)
{
    struct sym_case c = sym_smallest(algo, coll, p);

    sym_size(&c, chunks, 0);
    sym_set_slots(&c);
    return c;
}

/* nested 1: node by node; 2: one rank of each node in turn. */
static struct sym_case cluster(enum gr_algo algo, enum gr_coll coll, int nodes, int ranks,
                               int nested, uint32_t chunks)
{
    struct sym_case c = counted(algo, coll, nodes * ranks, chunks);

    c.torus = (struct gr_torus) {.ndims = 2, .dims = {ranks, nodes}, .nested = nested};
    if (2 == nested) {
        c.torus.dims[0] = nodes;
        c.torus.dims[1] = ranks;
    }
    return c;
}

static int node_of(const struct sym_case *c, int rank)
{
    return 1 == c->torus.nested ? rank / c->torus.dims[0] : rank % c->torus.dims[0];
}

static int local_of(const struct sym_case *c, int rank)
{
    return 1 == c->torus.nested ? rank % c->torus.dims[0] : rank / c->torus.dims[0];
}

/* S */
static size_t vector(const struct sym_case *c)
{
    return GR_COLL_ALLGATHER == c->coll || GR_COLL_REDUCE_SCATTER == c->coll ||
                   GR_COLL_ALLTOALL == c->coll
               ? c->block * (size_t) c->p
               : c->total;
}

static size_t halves(enum gr_coll coll)
{
    return GR_COLL_ALLREDUCE == coll ? 2 : 1;
}

/* ceil(log2(n)) */
static uint32_t rounds_of(int n)
{
    uint32_t rounds = 0;

    while (1 << rounds < n) {
        rounds++;
    }
    return rounds;
}

/* ---- traffic ---- */

/* Each rank sends and receives (N-1)S/N per half, over one link. */
static void ring_traffic(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_ALLGATHER,
                                         GR_COLL_REDUCE_SCATTER};
    int p, k, r;

    for (p = 1; p <= 64; p++) {
        for (k = 0; k < 3; k++) {
            struct sym_case c = counted(GR_ALGO_RING, colls[k], p, 1 + (uint32_t) p % 3);
            size_t share = halves(c.coll) * ((size_t) p - 1) * vector(&c) / (size_t) p;

            c.order = SYM_SHUFFLED;
            run(&c);
            for (r = 0; r < p; r++) {
                assert_int_equal(world.ranks[r].sent, share);
                assert_int_equal(world.ranks[r].received, share);
            }
            assert_int_equal(world.nlinks, p > 1 ? p : 0);
        }
    }
}

/*
 * What all ranks together send when they double. An allreduce: each the vector in each round, those
 * without a place there and back. A reduce_scatter: the latter give their own block away, too, and
 * get it back.
 */
static size_t doubled(const struct sym_case *c)
{
    size_t p = (size_t) c->p, places = 1, rounds = 0;

    for (; 2 * places <= p; places *= 2) {
        rounds++;
    }
    if (GR_COLL_ALLREDUCE == c->coll) {
        return (rounds * places + 2 * (p - places)) * vector(c);
    }
    return (p - 1) * vector(c) +
           (GR_COLL_REDUCE_SCATTER == c->coll ? (p - places) * vector(c) / p : 0);
}

/*
 * All ranks together: (N-1)S per half, whatever the algorithm; but in one shot everything goes to
 * everybody, what doubles goes whole, and each rank sends its token in each round of a
 * dissemination.
 */
static void total_traffic(void **state)
{
    int p, pair, r;
    size_t factor, sum;

    for (p = 1; p <= 64; p++) {
        for (pair = 0; pair < GR_NALGOS * GR_NCOLLS; pair++) {
            enum gr_algo algo = (enum gr_algo)(pair / GR_NCOLLS);
            enum gr_coll coll = (enum gr_coll)(pair % GR_NCOLLS);
            struct sym_case c;

            if (!gr_algo_has(algo, coll) || !gr_algo_fits(algo, p, NULL)) {
                continue;
            }
            c = counted(algo, coll, p, 1 + (uint32_t) p % 7);
            c.root = GR_PIPE == gr_algo_layout(algo, coll) ? p / 3 : 0;
            run(&c);
            factor = GR_ALGO_DISSEMINATION == algo
                         ? rounds_of(p) * (size_t) p
                         : (GR_ALGO_ONESHOT == algo ? (size_t) p : halves(coll)) * ((size_t) p - 1);
            for (r = 0, sum = 0; r < p; r++) {
                sum += world.ranks[r].sent;
            }
            assert_int_equal(sum, GR_ALGO_DOUBLING == algo ? doubled(&c) : factor * vector(&c));
        }
    }
}

/*
 * No rank of the double tree sends more than 2S, or receives more; the odd chunk is one tree's
 * alone.
 */
static void tree_share(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_BCAST, GR_COLL_REDUCE};
    size_t most;
    int p, k, r;

    for (p = 1; p <= 64; p++) {
        for (k = 0; k < 3; k++) {
            struct sym_case c = counted(GR_ALGO_TREE, colls[k], p, 8 + (uint32_t) p % 2);

            c.root = p / 2;
            run(&c);
            most = halves(c.coll) * vector(&c) + vector(&c) % 2;
            for (r = 0; r < p; r++) {
                assert_in_range(world.ranks[r].sent, 0, most);
                assert_in_range(world.ranks[r].received, 0, most);
            }
        }
    }
}

/* ---- ticks ---- */

/*
 * One message per tick and link is checked in every run. Here: each message is taken in the tick
 * after its own, and the last tick in which something is sent is that of the stated cost, for C
 * chunks: ring 2p - 3 or p - 2 (numbered from 0), chain C - 1 + p - 2, tree C/2 - 1 + height - 1
 * (allreduce: 2 height - 1).
 */
static void ticks(void **state)
{
    uint32_t last, nchunks = 9;
    int p, pair;

    for (p = 2; p <= 64; p++) {
        for (pair = 0; pair < GR_ALGO_FLAT * GR_NCOLLS; pair++) {
            enum gr_algo algo = (enum gr_algo)(pair / GR_NCOLLS);
            enum gr_coll coll = (enum gr_coll)(pair % GR_NCOLLS);
            uint32_t half = (uint32_t) halves(coll);
            struct sym_case c;

            if (gr_algo_has(algo, coll)) {
                c = counted(algo, coll, p, GR_ALGO_RING == algo ? 1 : nchunks);
                run(&c);
                last = GR_ALGO_RING == algo    ? half * (uint32_t) (p - 1) - 1
                       : GR_ALGO_CHAIN == algo ? nchunks + (uint32_t) p - 3
                                               : (nchunks + 1) / 2 - 1 + half * rounds_of(p) - 1;
                assert_int_equal(world.last_tick, last);
                assert_int_equal(world.longest_wait, 1);
            }
        }
    }
}

/* ---- links ---- */

static void check_both_ways(struct sym_case *c)
{
    c->root = c->p / 3;
    world.trace = 1;
    run(c);
    world.trace = 0;
    if (sym_check_both_ways(&world) < 0) {
        fail_msg("p=%d: %s", c->p, world.why);
    }
}

/* Every link of a tree carries data both ways in every tick of the steady state. */
static void trees_are_busy_both_ways(void **state)
{
    struct sym_case c;
    int p, nodes, ranks;

    for (p = 2; p <= 64; p++) {
        c = counted(GR_ALGO_TREE, GR_COLL_ALLREDUCE, p, 64);
        check_both_ways(&c);
    }
    for (nodes = 1; nodes <= 20; nodes++) {
        for (ranks = 1 + (1 == nodes); ranks <= 3; ranks++) {
            c = cluster(GR_ALGO_NODE_TREE, GR_COLL_ALLREDUCE, nodes, ranks, 1, 64);
            check_both_ways(&c);
        }
    }
}

/* Inside at most one tree each, a leaf in both at most one; read off the messages that went up. */
static void tree_shape(void **state)
{
    int p, r, trees, twice;
    size_t k;

    for (p = 2; p <= SYM_MAX_RANKS; p += p < 65 ? 1 : 13) {
        struct sym_case c = counted(GR_ALGO_TREE, GR_COLL_REDUCE, p, 2);
        int inside[2][SYM_MAX_RANKS] = {{0}};

        c.root = p / 2;
        run(&c);
        for (k = 0; k < world.nlinks; k++) {
            inside[0][world.links[k].to] += world.links[k].sent[0][0] > 0;
            inside[1][world.links[k].to] += world.links[k].sent[1][0] > 0;
        }
        for (r = twice = 0; r < p; r++) {
            trees = (inside[0][r] > 0) + (inside[1][r] > 0);
            assert_in_range(inside[0][r], 0, r == c.root ? 1 : 2);
            assert_in_range(inside[1][r], 0, r == c.root ? 1 : 2);
            assert_in_range(trees, 0, r == c.root ? 2 : 1);
            twice += r != c.root && 0 == trees;
        }
        assert_in_range(twice, 0, 1);
    }
}

/* Links in use are listed, as each run checks; and none is listed that the run has not used. */
static void check_peers(const struct sym_case *c)
{
    size_t pairs = (size_t) c->p * (size_t) c->p, pair, marked;

    run(c);
    for (pair = marked = 0; pair < pairs; pair++) {
        assert_true(0 == world.peers[pair] || (SYM_IN | SYM_OUT) == world.peers[pair]);
        marked += 0 != world.peers[pair];
    }
    assert_int_equal(marked, world.nlinks);
}

static void all_peers_are_used(void **state)
{
    struct sym_case c;
    int p, nodes, ranks;

    for (p = 1; p <= 64; p++) {
        c = counted(GR_ALGO_RING, GR_COLL_ALLREDUCE, p, 2);
        c.order = SYM_REVERSED;
        check_peers(&c);
        c = counted(GR_ALGO_TREE, GR_COLL_ALLREDUCE, p, 2);
        c.order = SYM_REVERSED;
        c.root = p / 3;
        check_peers(&c);
    }
    for (nodes = 1; nodes <= 9; nodes++) {
        for (ranks = 1; ranks <= 4; ranks++) {
            c = cluster(GR_ALGO_NODE_TREE, GR_COLL_ALLREDUCE, nodes, ranks, 1, 2);
            c.root = c.p / 2;
            check_peers(&c);
        }
    }
}

/* The lists of all ranks: others only, each once, and both ends agree. */
static void check_lists(struct gr_sched s)
{
    static int in[SYM_MAX_RANKS], out[SYM_MAX_RANKS];
    char links[33][33] = {{0}};
    int nin, nout, k;

    for (s.pos = 0; s.pos < s.p; s.pos++) {
        gr_sched_peers(&s, in, &nin, out, &nout);
        assert_in_range(nin, 0, s.p - 1);
        assert_in_range(nout, 0, s.p - 1);
        for (k = 0; k < nin; k++) {
            assert_int_equal(links[in[k]][s.pos] & SYM_IN, 0);
            links[in[k]][s.pos] |= SYM_IN;
        }
        for (k = 0; k < nout; k++) {
            assert_int_equal(links[s.pos][out[k]] & SYM_OUT, 0);
            links[s.pos][out[k]] |= SYM_OUT;
        }
        assert_int_equal(links[s.pos][s.pos], 0);
    }
    for (k = 0; k < s.p * s.p; k++) {
        char both = links[k / s.p][k % s.p];

        assert_true(0 == both || (SYM_IN | SYM_OUT) == both);
    }
}

/* Channels of a torus beyond those with links of their own have the peers of the first. */
static void peers_agree(void **state)
{
    struct gr_sched s = {.nchunks = 1};
    int algo;

    for (algo = 0; algo < GR_NALGOS; algo++) {
        s.algo = (enum gr_algo) algo;
        s.torus = (struct gr_torus) {.ndims = 0};
        s.channel = 0;
        for (s.p = 1; s.p <= 33 && !gr_algo_is_by_rank(s.algo); s.p++) {
            s.root = s.p / 2;
            check_lists(s);
        }
        if (gr_algo_is_by_rank(s.algo)) {
            s.torus = (struct gr_torus) {.ndims = 3, .dims = {4, 2, 4}};
            s.p = 32;
            s.root = 5;
            for (s.channel = 0; s.channel < 7; s.channel++) {
                check_lists(s);
            }
        }
    }
}

/* ---- between nodes ---- */

/*
 * Each message is taken in the tick after its own. C/2 chunks of a tree follow each other, the
 * first over all hops. No node's link carries more than S each way per half, nor more than its
 * share: S/2 in each tree that it is a leaf of.
 */
static void check_node_tree(const struct sym_case *c)
{
    size_t in[64] = {0}, out[64] = {0}, all = 0, half = halves(c->coll), most = half * c->total, k;
    int ranks = c->torus.dims[0], nodes = c->torus.dims[1], n;
    uint32_t hops = (uint32_t) half * (rounds_of(nodes) + (uint32_t) ranks - 1);

    if (hops > 0) {
        assert_int_equal(world.longest_wait, 1);
        assert_int_equal(world.last_tick,
                         (world.ranks[0].plan.split.nchunks + 1) / 2 - 1 + hops - 1);
    }
    for (k = 0; k < world.nlinks; k++) {
        const struct sym_link *l = &world.links[k];

        if (node_of(c, l->from) != node_of(c, l->to)) {
            out[node_of(c, l->from)] += l->elems;
            in[node_of(c, l->to)] += l->elems;
            all += l->elems;
        }
    }
    assert_int_equal(all, half * (size_t) (nodes - 1) * c->total);
    for (n = 0; n < nodes; n++) {
        assert_in_range(in[n], 0, most);
        assert_in_range(out[n], 0, most);
        assert_true(1 == nodes || in[n] + out[n] >= most);
    }
}

/*
 * Two ranks of a node: the one of the root's number and the one before it, each in one tree; of the
 * root's node the root.
 */
static void check_leaders(const struct sym_case *c)
{
    int ranks = c->torus.dims[0], tree, end;
    size_t k;

    for (k = 0; k < world.nlinks; k++) {
        const struct sym_link *l = &world.links[k];

        for (tree = 0; tree < 2 && node_of(c, l->from) != node_of(c, l->to); tree++) {
            int used = l->sent[tree][0] + l->sent[tree][1] > 0;

            for (end = 0; end < 2 && used; end++) {
                int rank = end ? l->from : l->to, own = node_of(c, rank) == node_of(c, c->root);

                assert_int_equal(rank % ranks, (c->root + ranks - (tree && !own)) % ranks);
            }
        }
    }
}

static void node_trees_cost_what_is_stated(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_BCAST, GR_COLL_REDUCE};
    int nodes, ranks, k;

    for (nodes = 1; nodes <= 20; nodes++) {
        for (ranks = 1; ranks <= 5; ranks++) {
            for (k = 0; k < 3; k++) {
                struct sym_case c = cluster(GR_ALGO_NODE_TREE, colls[k], nodes, ranks, 1, 8);

                c.root = c.p * k / 3;
                run(&c);
                check_node_tree(&c);
                check_leaders(&c);
            }
        }
    }
}

/*
 * Each rank's result has the contributions of all: it knows that all have entered. A leader sends
 * one message per round to other nodes, nobody else does; and 2 inside per rank.
 */
static void disseminations_cost_what_is_stated(void **state)
{
    static const int sizes[] = {1, 2, 3, 5, 9, 10, 18}; /* up to 8 others are one fan */
    int row, r;
    size_t k;

    for (row = 0; row < 2 * 17 * 7; row++) {
        int nodes = 1 + row / 14, ranks = sizes[row / 2 % 7], remote[64] = {0}, local = 0;
        struct sym_case c =
            cluster(GR_ALGO_DISSEMINATION, GR_COLL_BARRIER, nodes, ranks, 1 + row % 2, 1);

        if (c.p > 60) {
            continue;
        }
        run(&c);
        for (k = 0; k < world.nlinks; k++) {
            const struct sym_link *l = &world.links[k];

            if (node_of(&c, l->from) == node_of(&c, l->to)) {
                local += (int) l->elems;
            } else {
                assert_int_equal(local_of(&c, l->to), 0);
                remote[l->from] += (int) l->elems;
            }
        }
        for (r = 0; r < c.p; r++) {
            assert_int_equal(remote[r], 0 == local_of(&c, r) ? rounds_of(nodes) : 0);
        }
        assert_int_equal(local, 2 * nodes * (ranks - 1));
        if (c.p > 1) {
            assert_int_equal(world.last_tick, 2 * ((uint32_t) (ranks - 1 + GR_FAN - 1) / GR_FAN) +
                                                  rounds_of(nodes) - 1);
        }
    }
}

/* No torus, one that is not nested, or one of more dimensions: each rank is a node. */
static void ranks_without_nodes_are_nodes(void **state)
{
    static const struct gr_torus tori[] = {
        {.ndims = 0}, {.ndims = 2, .dims = {3, 4}}, {.ndims = 3, .dims = {3, 2, 2}, .nested = 1}};
    size_t k;
    int r;

    for (k = 0; k < sizeof(tori) / sizeof(tori[0]); k++) {
        struct sym_case c = counted(GR_ALGO_DISSEMINATION, GR_COLL_BARRIER, 12, 1);

        c.torus = tori[k];
        run(&c);
        for (r = 0; r < c.p; r++) {
            assert_int_equal(world.ranks[r].sent, rounds_of(c.p));
        }
    }
}

/*
 * Any number of chunks, in one slice or several, few slots, in any order of scheduling. (Tori of
 * all shapes: torus_sched_test, where slices have one chunk.)
 */
static void clusters_are_right_in_any_order_of_ranks(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_BCAST, GR_COLL_REDUCE,
                                         GR_COLL_BARRIER};
    uint64_t seed = rng_seed();
    int turns = depth(1500, 4500), turn, mixed = 0;

    for (turn = 0; turn < turns; turn++) {
        enum gr_coll coll = colls[turn % 9 < 8 ? turn % 3 : 3];
        int barrier = GR_COLL_BARRIER == coll, nodes = 1 + rng_below(&seed, turn % 10 ? 9 : 17);
        struct sym_case c =
            cluster(barrier ? GR_ALGO_DISSEMINATION : GR_ALGO_NODE_TREE, coll, nodes,
                    1 + rng_below(&seed, 5), barrier ? 1 + rng_below(&seed, 2) : 1, 1);

        c.slots = 2u << rng_below(&seed, 2);
        c.in_place = GR_COLL_BCAST != coll && 0 != rng_below(&seed, 2);
        c.zero_copy = rng_below(&seed, 2);
        c.policy = (enum sym_policy) rng_below(&seed, SYM_NPOLICIES);
        c.seed = rng_next(&seed);
        if (barrier) {
            sym_size(&c, 1 + (uint32_t) rng_below(&seed, 5), 0);
        } else {
            c.root = rng_below(&seed, c.p);
            c.nchannels = 1 + (uint32_t) rng_below(&seed, 3);
            c.chunk_elems = 1 + rng_below(&seed, 8);
            c.slot_elems = c.chunk_elems + rng_below(&seed, 3);
            c.align = 1 + rng_below(&seed, 4);
            c.slice_chunks = (uint32_t) rng_below(&seed, 4) ? 1u << rng_below(&seed, 5) : 0;
            sym_size(&c, 1 + (uint32_t) rng_below(&seed, 40), rng_below(&seed, 9));
        }
        run(&c);
        mixed += world.ranks[0].plan.split.nslices > 1 && world.ranks[0].plan.split.nchunks > 1;
    }
    assert_in_range(mixed, turns * 2 / 9, turns);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_traffic),
        cmocka_unit_test(total_traffic),
        cmocka_unit_test(tree_share),
        cmocka_unit_test(ticks),
        cmocka_unit_test(trees_are_busy_both_ways),
        cmocka_unit_test(tree_shape),
        cmocka_unit_test(all_peers_are_used),
        cmocka_unit_test(peers_agree),
        cmocka_unit_test(node_trees_cost_what_is_stated),
        cmocka_unit_test(disseminations_cost_what_is_stated),
        cmocka_unit_test(ranks_without_nodes_are_nodes),
        cmocka_unit_test(clusters_are_right_in_any_order_of_ranks),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    sym_free(&world);
    return failed;
}
