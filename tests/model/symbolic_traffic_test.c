/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the algorithms cost, by counting: steps, traffic, redundancy, ticks, links. S is the vector
 * in elements (allgather: the whole output; reduce_scatter: the whole input), N the number of
 * ranks; see docs/measuring.md: a ring moves (N-1)S/N per rank and half, a tree or a chain (N-1)S
 * in all, and each half of an allreduce as much.
 */
#include "symbolic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct sym world;

static void run(const struct sym_case *c)
{
    char text[320];

    if (SYM_OK != sym_run(&world, c)) {
        fail_msg("%s: %s", sym_describe(c, text, sizeof(text)), world.why);
    }
}

/* A case with that many chunks (pipelines) or slices (blocks) of one element. */
static struct sym_case counted(enum gr_algo algo, enum gr_coll coll, int p, uint32_t chunks)
{
    struct sym_case c = {.algo = algo,
                         .coll = coll,
                         .p = p,
                         .nchannels = 1,
                         .slots = 2,
                         .slot_elems = 1,
                         .chunk_elems = 1,
                         .align = 1};

    sym_size(&c, chunks, 0);
    sym_set_slots(&c);
    return c;
}

/* S */
static size_t vector(const struct sym_case *c)
{
    return GR_COLL_ALLGATHER == c->coll || GR_COLL_REDUCE_SCATTER == c->coll ||
                   GR_COLL_ALLTOALL == c->coll
               ? c->block * (size_t) c->p
               : c->total;
}

static size_t traffic(void)
{
    size_t sum = 0;
    int r;

    for (r = 0; r < world.c->p; r++) {
        sum += world.ranks[r].sent;
    }
    return sum;
}

static size_t halves(enum gr_coll coll)
{
    return GR_COLL_ALLREDUCE == coll ? 2 : 1;
}

static void test_ring_steps(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_ALLGATHER,
                                         GR_COLL_REDUCE_SCATTER};
    struct gr_sched s = {.algo = GR_ALGO_RING};
    int k;

    (void) state;
    for (k = 0; k < 3; k++) {
        s.coll = colls[k];
        for (s.p = 1; s.p <= SYM_MAX_RANKS; s.p++) {
            s.pos = s.p / 2;
            assert_int_equal(gr_sched_len(&s), GR_COLL_ALLREDUCE == s.coll ? 2 * s.p - 1 : s.p);
        }
    }
}

/* Each rank sends and receives (N-1)S/N per half, over one link. */
static void test_ring_traffic(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_ALLGATHER,
                                         GR_COLL_REDUCE_SCATTER};
    int p, k, r;

    (void) state;
    for (p = 1; p <= 64; p++) {
        for (k = 0; k < 3; k++) {
            struct sym_case c = counted(GR_ALGO_RING, colls[k], p, 1 + (uint32_t) p % 3);
            size_t n = (size_t) p, share;

            c.order = SYM_SHUFFLED;
            share = halves(c.coll) * (n - 1) * vector(&c) / n;
            run(&c);
            for (r = 0; r < p; r++) {
                assert_int_equal(world.ranks[r].sent, share);
                assert_int_equal(world.ranks[r].received, share);
            }
            assert_int_equal(traffic(), halves(c.coll) * (n - 1) * vector(&c));
            assert_int_equal(world.nlinks, p > 1 ? p : 0);
        }
    }
}

/*
 * The memory that a reduce_scatter frees on each rank, S less its block, and the copies that an
 * allgather makes redundant, what a rank stores of others' blocks: both (N-1)S/N, which is the
 * traffic too.
 */
static void test_ring_redundancy(void **state)
{
    int p, r;

    (void) state;
    for (p = 1; p <= 64; p++) {
        struct sym_case scatter = counted(GR_ALGO_RING, GR_COLL_REDUCE_SCATTER, p, 2);
        struct sym_case gather = counted(GR_ALGO_RING, GR_COLL_ALLGATHER, p, 2);
        size_t n = (size_t) p, share = (n - 1) * vector(&gather) / n;

        run(&scatter);
        for (r = 0; r < p; r++) {
            assert_int_equal(vector(&scatter) - world.ranks[r].stored, share);
            assert_int_equal(world.ranks[r].sent, share);
        }
        run(&gather);
        for (r = 0; r < p; r++) {
            assert_int_equal(world.ranks[r].stored - gather.block, share);
            assert_int_equal(world.ranks[r].received, share);
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

/* The same of a dissemination: each rank sends its token in each round. */
static size_t disseminated(const struct sym_case *c)
{
    size_t p = (size_t) c->p, rounds = 0;

    while ((size_t) 1 << rounds < p) {
        rounds++;
    }
    return rounds * p * vector(c);
}

/*
 * All ranks together: (N-1)S per half, whatever the algorithm; but in one shot everything goes to
 * everybody, and what doubles or is disseminated goes whole.
 */
static void test_total_traffic(void **state)
{
    int p, algo, coll;
    size_t factor;

    (void) state;
    for (p = 1; p <= 64; p++) {
        for (algo = 0; algo < GR_NALGOS; algo++) {
            for (coll = 0; coll < GR_NCOLLS; coll++) {
                struct sym_case c;

                if (!gr_algo_has((enum gr_algo) algo, (enum gr_coll) coll) ||
                    !gr_algo_fits((enum gr_algo) algo, p, NULL)) {
                    continue;
                }
                c = counted((enum gr_algo) algo, (enum gr_coll) coll, p, 1 + (uint32_t) p % 7);
                c.root = GR_PIPE == gr_algo_layout(c.algo, c.coll) ? p / 3 : 0;
                run(&c);
                factor = (GR_ALGO_ONESHOT == algo ? (size_t) p : halves(c.coll)) * ((size_t) p - 1);
                assert_int_equal(traffic(), GR_ALGO_DOUBLING == algo        ? doubled(&c)
                                            : GR_ALGO_DISSEMINATION == algo ? disseminated(&c)
                                                                            : factor * vector(&c));
            }
        }
    }
}

/*
 * No rank of the double tree sends more than 2S, or receives more; the odd chunk is one tree's
 * alone.
 */
static void test_tree_share(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_BCAST, GR_COLL_REDUCE};
    size_t chunk, most;
    int p, k, r;

    (void) state;
    for (p = 1; p <= 64; p++) {
        for (k = 0; k < 3; k++) {
            struct sym_case c = counted(GR_ALGO_TREE, colls[k], p, 8 + (uint32_t) p % 2);

            c.root = p / 2;
            run(&c);
            chunk = vector(&c) % 2;
            most = GR_COLL_ALLREDUCE == c.coll ? 2 * vector(&c) + chunk : vector(&c) + chunk;
            for (r = 0; r < p; r++) {
                assert_in_range(world.ranks[r].sent, 0, most);
                assert_in_range(world.ranks[r].received, 0, most);
            }
        }
    }
}

/*
 * One message per tick and link is checked in every run. Here: each message is taken in the tick
 * after its own, and the last tick in which something is sent is that of the stated cost, for C
 * chunks: ring 2p - 3 or p - 2 (numbered from 0), chain C - 1 + p - 2, tree C/2 - 1 + height - 1
 * (allreduce: 2 height - 1).
 */
static void test_ticks(void **state)
{
    uint32_t height, last, nchunks = 9;
    int p, algo, coll;

    (void) state;
    for (p = 2; p <= 64; p++) {
        for (height = 0; 1 << height < p; height++) {
        }
        for (algo = 0; algo < GR_ALGO_FLAT; algo++) {
            for (coll = 0; coll < GR_NCOLLS; coll++) {
                struct sym_case c;

                if (!gr_algo_has((enum gr_algo) algo, (enum gr_coll) coll)) {
                    continue;
                }
                c = counted((enum gr_algo) algo, (enum gr_coll) coll, p,
                            GR_ALGO_RING == algo ? 1 : nchunks);
                run(&c);
                last = GR_ALGO_RING == algo ? (uint32_t) halves(c.coll) * (uint32_t) (p - 1) - 1
                       : GR_ALGO_CHAIN == algo
                           ? nchunks + (uint32_t) p - 3
                           : (nchunks + 1) / 2 - 1 + (uint32_t) halves(c.coll) * height - 1;
                assert_int_equal(world.last_tick, last);
                assert_int_equal(world.longest_wait, 1);
            }
        }
    }
}

static void test_tree_both_ways(void **state)
{
    int p;

    (void) state;
    for (p = 2; p <= 64; p++) {
        struct sym_case c = counted(GR_ALGO_TREE, GR_COLL_ALLREDUCE, p, 64);

        c.root = p / 3;
        world.trace = 1;
        run(&c);
        world.trace = 0;
        if (sym_check_both_ways(&world) < 0) {
            fail_msg("p=%d: %s", p, world.why);
        }
    }
}

/* Inside at most one tree each, a leaf in both at most one; read off the messages that went up. */
static void test_tree_shape(void **state)
{
    int p, r, trees, twice;
    size_t k;

    (void) state;
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

/*
 * That every link in use is listed is checked in every run. Here: none is listed that an allreduce
 * does not use.
 */
static void test_peers_are_used(void **state)
{
    static const enum gr_algo algos[] = {GR_ALGO_RING, GR_ALGO_TREE};
    size_t pairs, pair, marked, k;
    int p;

    (void) state;
    for (p = 1; p <= 64; p++) {
        for (k = 0; k < 2; k++) {
            struct sym_case c = counted(algos[k], GR_COLL_ALLREDUCE, p, 2);

            c.order = SYM_REVERSED;
            c.root = GR_ALGO_TREE == c.algo ? p / 3 : 0;
            run(&c);
            pairs = (size_t) p * (size_t) p;
            for (pair = marked = 0; pair < pairs; pair++) {
                assert_true(0 == world.peers[pair] || (SYM_IN | SYM_OUT) == world.peers[pair]);
                marked += 0 != world.peers[pair];
            }
            assert_int_equal(marked, world.nlinks);
        }
    }
}

/* Each rank's lists name others only, each once, whatever the algorithm; and both ends agree. */
static void test_peers_agree(void **state)
{
    int in[SYM_MAX_RANKS], out[SYM_MAX_RANKS], nin, nout, algo, p, pos, k;

    (void) state;
    for (algo = 0; algo < GR_ALGO_BUCKET; algo++) { /* along a torus: torus_sched_test.c */
        for (p = 1; p <= 33; p++) {
            int links[33][33] = {{0}};

            for (pos = 0; pos < p; pos++) {
                struct gr_sched s = {
                    .algo = (enum gr_algo) algo, .p = p, .pos = pos, .root = p / 2};

                gr_sched_peers(&s, in, &nin, out, &nout);
                assert_in_range(nin, 0, p - 1);
                assert_in_range(nout, 0, p - 1);
                for (k = 0; k < nin; k++) {
                    assert_int_equal(links[in[k]][pos] & SYM_IN, 0);
                    links[in[k]][pos] |= SYM_IN;
                }
                for (k = 0; k < nout; k++) {
                    assert_int_equal(links[pos][out[k]] & SYM_OUT, 0);
                    links[pos][out[k]] |= SYM_OUT;
                }
                assert_int_equal(links[pos][pos], 0);
            }
            for (k = 0; k < p * p; k++) {
                assert_true(0 == links[k / p][k % p] || (SYM_IN | SYM_OUT) == links[k / p][k % p]);
            }
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        {"ring: 2p-1 steps for allreduce, p for allgather and reduce_scatter", test_ring_steps,
         NULL, NULL, NULL},
        {"ring: every rank sends and receives (N-1)S/N per half", test_ring_traffic, NULL, NULL,
         NULL},
        {"ring: freed memory and redundant copies are (N-1)S/N, as the traffic",
         test_ring_redundancy, NULL, NULL, NULL},
        {"all algorithms: total traffic (N-1)S per half", test_total_traffic, NULL, NULL, NULL},
        {"tree: no rank moves more than 2S (allreduce) or S", test_tree_share, NULL, NULL, NULL},
        {"ring chain tree: messages taken one tick after they are sent, ticks as the stated cost",
         test_ticks, NULL, NULL, NULL},
        {"tree allreduce: every link carries data both ways in every tick of the steady state",
         test_tree_both_ways, NULL, NULL, NULL},
        {"tree: inside at most one tree, at most one rank a leaf in both", test_tree_shape, NULL,
         NULL, NULL},
        {"ring tree: gr_sched_peers lists no link that allreduce leaves unused",
         test_peers_are_used, NULL, NULL, NULL},
        {"all algorithms: gr_sched_peers agrees at both ends, each link once", test_peers_agree,
         NULL, NULL, NULL},
    };
    int failed;

    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    sym_free(&world);
    return failed;
}
