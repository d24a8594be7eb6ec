/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Node trees, by counting, for clusters of 1 to 20 nodes of 1 to 5 ranks (torus_sched_test: their
 * results, on tori of all shapes): ticks and bytes as sched/node_tree.c states them, which ranks
 * talk to other nodes, peers, both directions of links; and their results in slices of several
 * chunks, by which tables go.
 */
#include "rng.h"
#include "symbolic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct sym world;
static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_BCAST, GR_COLL_REDUCE};

static struct sym_case cluster(enum gr_coll coll, int nodes, int ranks, int root, uint32_t chunks)
{
    struct sym_case c = {.algo = GR_ALGO_NODE_TREE,
                         .coll = coll,
                         .p = nodes * ranks,
                         .root = root,
                         .nchannels = 1,
                         .slots = 2,
                         .slot_elems = 1,
                         .chunk_elems = 1,
                         .align = 1,
                         .seed = 1,
                         .torus = {.ndims = 2, .dims = {ranks, nodes}, .nested = 1}};

    sym_size(&c, chunks, 0);
    return c;
}

static void run(const struct sym_case *c)
{
    char text[320];

    if (SYM_OK != sym_run(&world, c)) {
        fail_msg("%d nodes of %d, %s: %s", c->torus.dims[1], c->torus.dims[0],
                 sym_describe(c, text, sizeof(text)), world.why);
    }
}

static int halves(const struct sym_case *c)
{
    return GR_COLL_ALLREDUCE == c->coll ? 2 : 1;
}

/* ceil(log2(nodes)) crossings. */
static int crossings(int nodes)
{
    int n = 0;

    while (1 << n < nodes) {
        n++;
    }
    return n;
}

/*
 * Each message is taken in the tick after its own. C/2 chunks of a tree follow each other, the
 * first over all hops.
 */
static void check_ticks(const struct sym_case *c)
{
    int hops = halves(c) * (crossings(c->torus.dims[1]) + c->torus.dims[0] - 1);

    if (hops > 0) {
        assert_int_equal(world.longest_wait, 1);
        assert_int_equal(world.last_tick,
                         (world.ranks[0].plan.split.nchunks + 1) / 2 - 1 + (uint32_t) hops - 1);
    }
}

/*
 * No node's link carries more than S each way per half, nor more than its share: S/2 in each tree
 * that it is a leaf of.
 */
static void check_bytes(const struct sym_case *c)
{
    size_t in[64] = {0}, out[64] = {0}, all = 0, most = (size_t) halves(c) * c->total;
    int ranks = c->torus.dims[0], nodes = c->torus.dims[1], n;
    size_t k;

    for (k = 0; k < world.nlinks; k++) {
        const struct sym_link *l = &world.links[k];

        if (l->from / ranks != l->to / ranks) {
            out[l->from / ranks] += l->elems;
            in[l->to / ranks] += l->elems;
            all += l->elems;
        }
    }
    assert_int_equal(all, (size_t) halves(c) * (size_t) (nodes - 1) * c->total);
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

        for (tree = 0; tree < 2 && l->from / ranks != l->to / ranks; tree++) {
            int used = l->sent[tree][0] + l->sent[tree][1] > 0;

            for (end = 0; end < 2 && used; end++) {
                int rank = end ? l->from : l->to, own = rank / ranks == c->root / ranks;

                assert_int_equal(rank % ranks, (c->root + ranks - (tree && !own)) % ranks);
            }
        }
    }
}

static void costs_are_as_stated(void **state)
{
    int nodes, ranks, k;

    (void) state;
    for (nodes = 1; nodes <= 20; nodes++) {
        for (ranks = 1; ranks <= 5; ranks++) {
            for (k = 0; k < 3; k++) {
                struct sym_case c = cluster(colls[k], nodes, ranks, nodes * ranks * k / 3, 8);

                run(&c);
                check_ticks(&c);
                check_bytes(&c);
                check_leaders(&c);
            }
        }
    }
}

/*
 * Links are listed at both ends, which each run checks of those in use, and none that no collective
 * uses.
 */
static void all_peers_are_used(void **state)
{
    size_t pairs, pair, marked;
    int nodes, ranks;

    (void) state;
    for (nodes = 1; nodes <= 9; nodes++) {
        for (ranks = 1; ranks <= 4; ranks++) {
            struct sym_case c = cluster(GR_COLL_ALLREDUCE, nodes, ranks, nodes * ranks / 2, 2);

            run(&c);
            pairs = (size_t) c.p * (size_t) c.p;
            for (pair = marked = 0; pair < pairs; pair++) {
                marked += (SYM_IN | SYM_OUT) == world.peers[pair];
                assert_true(0 == world.peers[pair] || (SYM_IN | SYM_OUT) == world.peers[pair]);
            }
            assert_int_equal(marked, world.nlinks);
        }
    }
}

static void links_are_busy_both_ways(void **state)
{
    int nodes, ranks;

    (void) state;
    for (nodes = 1; nodes <= 20; nodes++) {
        for (ranks = 1 + (1 == nodes); ranks <= 3; ranks++) {
            struct sym_case c = cluster(GR_COLL_ALLREDUCE, nodes, ranks, nodes * ranks / 3, 64);

            world.trace = 1;
            run(&c);
            world.trace = 0;
            if (sym_check_both_ways(&world) < 0) {
                fail_msg("%d nodes of %d: %s", nodes, ranks, world.why);
            }
        }
    }
}

/* Any number of chunks, in one slice or several, few slots, any order of scheduling. */
static void slices_have_several_chunks(void **state)
{
    uint64_t seed = rng_seed();
    int turn, mixed = 0;

    (void) state;
    for (turn = 0; turn < 4000; turn++) {
        int nodes = 1 + rng_below(&seed, turn % 10 ? 9 : 17), ranks = 1 + rng_below(&seed, 5);
        struct sym_case c =
            cluster(colls[turn % 3], nodes, ranks, rng_below(&seed, (nodes * ranks)), 1);

        c.nchannels = 1 + (uint32_t) rng_below(&seed, 3);
        c.slots = 2u << rng_below(&seed, 2);
        c.chunk_elems = 1 + rng_below(&seed, 8);
        c.slot_elems = c.chunk_elems + rng_below(&seed, 3);
        c.align = 1 + rng_below(&seed, 4);
        c.slice_chunks = (uint32_t) rng_below(&seed, 4) ? 1u << rng_below(&seed, 5) : 0;
        c.in_place = GR_COLL_BCAST != c.coll && 0 != rng_below(&seed, 2);
        c.zero_copy = rng_below(&seed, 2);
        c.policy = (enum sym_policy) rng_below(&seed, SYM_NPOLICIES);
        c.seed = rng_next(&seed);
        sym_size(&c, 1 + (uint32_t) rng_below(&seed, 40), rng_below(&seed, 9));
        run(&c);
        mixed += world.ranks[0].plan.split.nslices > 1 && world.ranks[0].plan.split.nchunks > 1;
    }
    assert_in_range(mixed, 1000, 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_as_stated),
        cmocka_unit_test(all_peers_are_used),
        cmocka_unit_test(links_are_busy_both_ways),
        cmocka_unit_test(slices_have_several_chunks),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    sym_free(&world);
    return failed;
}
