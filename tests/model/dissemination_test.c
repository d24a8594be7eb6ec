/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dissemination, by counting, for clusters of 1 to 17 nodes of 1 to 18 ranks, numbered node by node
 * or in turns: no rank leaves before all have entered, messages and ticks are as
 * sched/dissemination.c states them, and only leaders send to other nodes.
 */
#include "rng.h"
#include "symbolic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct sym world;

/* nested 1: node by node; 2: one rank of each node in turn. */
static struct sym_case cluster(int nodes, int ranks, int nested)
{
    struct sym_case c = {.algo = GR_ALGO_DISSEMINATION,
                         .coll = GR_COLL_BARRIER,
                         .p = nodes * ranks,
                         .nchannels = 1,
                         .slots = 2,
                         .slot_elems = 1,
                         .chunk_elems = 1,
                         .align = 1,
                         .seed = 1,
                         .torus = {.ndims = 2, .dims = {ranks, nodes}, .nested = nested}};

    if (2 == nested) {
        c.torus.dims[0] = nodes;
        c.torus.dims[1] = ranks;
    }
    sym_size(&c, 1, 0);
    return c;
}

/* Each rank's result has the contributions of all: it knows that all have entered. */
static void run(const struct sym_case *c)
{
    char text[320];

    if (SYM_OK != sym_run(&world, c)) {
        fail_msg("%d x %d, nested %d, %s: %s", c->torus.dims[0], c->torus.dims[1], c->torus.nested,
                 sym_describe(c, text, sizeof(text)), world.why);
    }
}

static int node_of(const struct sym_case *c, int rank)
{
    return 1 == c->torus.nested ? rank / c->torus.dims[0] : rank % c->torus.dims[0];
}

static int local_of(const struct sym_case *c, int rank)
{
    return 1 == c->torus.nested ? rank % c->torus.dims[0] : rank / c->torus.dims[0];
}

/* ceil(log2(n)) */
static int rounds_of(int n)
{
    int rounds = 0;

    while (1 << rounds < n) {
        rounds++;
    }
    return rounds;
}

/* A leader sends one message per round to other nodes, nobody else does; and 2 inside per rank. */
static void check_messages(const struct sym_case *c, int nodes, int ranks)
{
    int remote[64] = {0}, local = 0, r;
    size_t k;

    for (k = 0; k < world.nlinks; k++) {
        const struct sym_link *l = &world.links[k];

        if (node_of(c, l->from) == node_of(c, l->to)) {
            local += (int) l->elems;
        } else {
            assert_int_equal(local_of(c, l->to), 0);
            remote[l->from] += (int) l->elems;
        }
    }
    for (r = 0; r < c->p; r++) {
        assert_int_equal(remote[r], 0 == local_of(c, r) ? rounds_of(nodes) : 0);
    }
    assert_int_equal(local, 2 * nodes * (ranks - 1));
}

static void costs_are_as_stated(void **state)
{
    static const int sizes[] = {1, 2, 3, 5, 9, 10, 18}; /* up to 8 others are one fan */
    int nodes, ranks, nested, fans;
    size_t k;

    (void) state;
    for (nodes = 1; nodes <= 17; nodes++) {
        for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]) && nodes * sizes[k] <= 60; k++) {
            ranks = sizes[k];
            for (nested = 1; nested <= 2; nested++) {
                struct sym_case c = cluster(nodes, ranks, nested);

                run(&c);
                check_messages(&c, nodes, ranks);
                fans = (ranks - 1 + GR_FAN - 1) / GR_FAN;
                if (c.p > 1) {
                    assert_int_equal(world.last_tick, 2 * fans + rounds_of(nodes) - 1);
                }
            }
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

    (void) state;
    for (k = 0; k < sizeof(tori) / sizeof(tori[0]); k++) {
        struct sym_case c = cluster(4, 3, 1);

        c.torus = tori[k];
        run(&c);
        for (r = 0; r < c.p; r++) {
            assert_int_equal(world.ranks[r].sent, rounds_of(c.p));
        }
    }
}

/* Any order of scheduling, few slots, one barrier behind the other, in place or not. */
static void any_order_of_ranks(void **state)
{
    uint64_t seed = rng_seed();
    int turn;

    (void) state;
    for (turn = 0; turn < 500; turn++) {
        struct sym_case c =
            cluster(1 + rng_below(&seed, 9), 1 + rng_below(&seed, 12), 1 + rng_below(&seed, 2));

        c.slots = 2u << rng_below(&seed, 2);
        c.in_place = rng_below(&seed, 2);
        c.zero_copy = rng_below(&seed, 2);
        c.policy = (enum sym_policy) rng_below(&seed, SYM_NPOLICIES);
        c.seed = rng_next(&seed);
        sym_size(&c, 1 + (uint32_t) rng_below(&seed, 5), 0);
        run(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_as_stated),
        cmocka_unit_test(ranks_without_nodes_are_nodes),
        cmocka_unit_test(any_order_of_ranks),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    sym_free(&world);
    return failed;
}
