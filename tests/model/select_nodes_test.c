/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of a way between nodes (tune/far.c), and what the way of a cluster sends over its nodes' links. */
#include "exec/rings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nodes_questions.h"

static void choices_are_in_bounds(void **state)
{
    static const int shapes[][2] = {{2, 1}, {2, 2}, {4, 1}, {4, 2}, {3, 5}, {16, 4}, {1000, 8}};
    struct gr_choice c;
    size_t n, k, bytes;

    (void) state;
    for (n = 0; n < sizeof(shapes) / sizeof(shapes[0]); n++) {
        for (k = 0; k < NCOLLS; k++) {
            for (bytes = 1; bytes < (size_t) 1 << 32; bytes = 2 * bytes + 1) {
                struct gr_question q = question(colls[k], shapes[n][0], shapes[n][1], bytes);

                c = gr_select(&gr_costs_host, &q);
                assert_true(c.way < GR_NALGOS && gr_algo_has((enum gr_algo) c.way, q.coll));
                assert_true(gr_algo_fits((enum gr_algo) c.way, q.p, &q.torus));
                assert_true(c.us >= q.far.step && isfinite(c.us) && !c.direct);
                assert_true(c.chunk_bytes >= 64 && c.chunk_bytes <= SLOT_BYTES);
                assert_true(c.nchannels >= 1 && c.nchannels <= CHANNELS);
            }
        }
    }
}

static void large_messages_of_a_cluster_go_along_it(void **state)
{
    struct gr_question q;
    size_t bytes;
    int k, way;

    (void) state;
    for (k = 0; k < 3; k++) {
        for (bytes = (size_t) 1 << 20; bytes <= (size_t) 1 << 30; bytes *= 2) {
            assert_int_equal(way_of(question(colls[k], 2, 2, bytes)), GR_ALGO_BUCKET);
            assert_int_equal(way_of(question(colls[k], 4, 2, bytes)), GR_ALGO_BUCKET);
            assert_int_equal(way_of(question(colls[k], 8, 8, bytes)), GR_ALGO_BUCKET);
            /* nodes that differ */
            q = question(colls[k], 4, 4, bytes);
            q.torus.ndims = 0;
            assert_int_equal(way_of(q), GR_ALGO_RING);
            way = way_of(question(colls[k], 16, 1, bytes)); /* where the bytes are the same, so is the time */
            assert_true(GR_ALGO_RING == way || GR_ALGO_BUCKET == way || (0 != k && GR_ALGO_TWO_LEVEL == way));
            /* a torus that somebody has stated is no cluster */
            q = question(colls[k], 4, 4, bytes);
            q.torus.nested = 0;
            assert_int_equal(way_of(q), GR_ALGO_RING);
        }
    }
}

/* What has one source leaves and enters each node once. */
static void large_vectors_go_by_chains(void **state)
{
    size_t bytes;

    (void) state;
    for (bytes = (size_t) 4 << 20; bytes <= (size_t) 1 << 30; bytes *= 2) {
        assert_int_equal(way_of(question(GR_COLL_BCAST, 2, 2, bytes)), GR_ALGO_CHAIN);
        assert_int_equal(way_of(question(GR_COLL_REDUCE, 4, 2, bytes)), GR_ALGO_CHAIN);
        assert_int_equal(way_of(question(GR_COLL_BCAST, 4, 1, bytes)), GR_ALGO_CHAIN);
    }
}

/* One crossing where all can be reached at once; a number that grows with the logarithm where not. Of a node whose ranks
 * are several only one sends, where nodes are alike. */
static void small_messages_cross_few_times(void **state)
{
    static const struct gr_torus unknown;
    struct gr_question q;
    int k, way;

    (void) state;
    for (k = 0; k < 5; k++) {
        q = question(colls[k], 4, 2, 64);
        assert_in_range((int) gr_select(&gr_costs_host, &q).us, 20, 60);
    }
    for (k = 0; k < 5; k++) {
        assert_int_equal(way_of(question(colls[k], 64, 8, 8)), GR_ALGO_TWO_LEVEL);
        if (GR_PIPE == gr_algo_layout(GR_ALGO_TWO_LEVEL, colls[k])) {
            way = GR_COLL_ALLREDUCE == colls[k] ? GR_ALGO_DOUBLING : GR_ALGO_TWO_LEVEL;
            assert_int_equal(way_of(question(colls[k], 2, 2, 8)), way);
        }
    }
    for (k = 0; k < 3; k++) { /* two ranks of a node do not get into each other's way, more do */
        q = question(colls[k], 4, 2, 256);
        assert_int_equal(way_of(q), GR_ALGO_DOUBLING);
        q.far.byte = 0.04; /* nor do their first bytes */
        assert_int_equal(way_of(q), GR_ALGO_DOUBLING);
        assert_int_equal(way_of(question(colls[k], 4, 2, 4096)), GR_ALGO_TWO_LEVEL);
        assert_int_equal(way_of(question(colls[k], 4, 8, 8)), GR_ALGO_TWO_LEVEL);
        assert_int_not_equal(way_of(question(colls[k], 5, 2, 8)), GR_ALGO_DOUBLING); /* 10 ranks fold across nodes */
    }
    q = question(GR_COLL_ALLREDUCE, 4, 2, 512); /* what is beyond their first bytes, they do */
    q.far.byte = 0.04;
    assert_int_equal(way_of(q), GR_ALGO_TWO_LEVEL);
    for (k = 3; k <= 4; k++) { /* of few nodes a root serves one after the other, while all fits into a hop's time */
        assert_true(GR_COLL_BCAST == colls[k] || GR_COLL_REDUCE == colls[k]);
        assert_int_equal(way_of(question(colls[k], 8, 1, 8)), GR_ALGO_FLAT);
        assert_int_equal(way_of(question(colls[k], 16, 1, 8)), GR_ALGO_MST);
        q = question(colls[k], 4, 1, 256);
        q.far.byte = 0.04;
        assert_int_equal(way_of(q), GR_ALGO_FLAT);
        q.bytes = 512;
        assert_int_equal(way_of(q), GR_ALGO_CHAIN);
        q.bytes = 1024; /* through the root's link go three of them, or one, and each is a packet */
        assert_int_equal(way_of(q), GR_ALGO_CHAIN);
        q.far.byte = 0.004;
        assert_int_equal(way_of(q), GR_ALGO_FLAT);
    }
    q = question(GR_COLL_ALLREDUCE, 2, 2, 8);
    q.torus = unknown; /* nodes that differ */
    assert_int_equal(way_of(q), GR_ALGO_ONESHOT);
    q = question(GR_COLL_ALLREDUCE, 64, 8, 8);
    q.torus = unknown;
    assert_int_equal(way_of(q), GR_ALGO_TREE);
    for (k = 0; k < 3; k++) {
        q = question(colls[k], 5, 2, 8);
        q.torus = unknown;
        assert_int_equal(way_of(q), GR_ALGO_DOUBLING);
    }
}

/* Where one rank of each node has to send all, many nodes are too many for what goes over each of them in turn, and for what
 * goes over their number's logarithm as often; but where a node has one rank the tree is the same. */
static void medium_messages_go_by_trees_of_nodes(void **state)
{
    struct gr_question thin = question(GR_COLL_BCAST, 4, 2, 1024);
    size_t bytes;
    int k, nodes;

    (void) state;
    thin.far.byte = 0.04;
    assert_int_equal(way_of(thin), GR_ALGO_TWO_LEVEL); /* one chunk has one tree, which sends it twice from a node */
    thin.bytes = 32 << 10;
    assert_int_equal(way_of(thin), GR_ALGO_NODE_TREE);
    for (bytes = (size_t) 128 << 10; bytes <= (size_t) 512 << 10; bytes *= 2) {
        assert_int_equal(way_of(question(GR_COLL_ALLREDUCE, 16, 4, bytes)), GR_ALGO_NODE_TREE);
        assert_int_equal(way_of(question(GR_COLL_ALLREDUCE, 64, 8, bytes)), GR_ALGO_NODE_TREE);
        for (k = 3; k < 5; k++) {
            assert_int_equal(way_of(question(colls[k], 4, 2, bytes)), GR_ALGO_NODE_TREE);
            assert_int_equal(way_of(question(colls[k], 16, 4, bytes)), GR_ALGO_NODE_TREE);
        }
    }
    assert_int_equal(way_of(question(GR_COLL_ALLREDUCE, 16, 4, 16 << 10)), GR_ALGO_TWO_LEVEL);
    assert_int_equal(way_of(question(GR_COLL_BCAST, 16, 4, 4 << 10)), GR_ALGO_TWO_LEVEL);
    assert_int_equal(way_of(question(GR_COLL_ALLREDUCE, 16, 4, 4 << 20)), GR_ALGO_BUCKET);
    assert_int_equal(way_of(question(GR_COLL_BCAST, 16, 4, 16 << 20)), GR_ALGO_CHAIN);
    for (bytes = 1; bytes < (size_t) 1 << 32; bytes = 2 * bytes + 1) {
        for (nodes = 2; nodes <= 4; nodes++) {
            assert_int_not_equal(way_of(question(GR_COLL_ALLREDUCE, nodes, 2, bytes)), GR_ALGO_NODE_TREE);
        }
        for (k = 0; k < 5; k++) {
            assert_int_not_equal(way_of(question(colls[k], 16, 1, bytes)), GR_ALGO_NODE_TREE);
        }
    }
}

/* A pipeline whose slices have a number of chunks that is a power of two is cut so, and no longer than slots are. */
static void chunks_of_node_trees_are_a_power_of_two(void **state)
{
    size_t bytes, chunk, pieces;

    (void) state;
    for (bytes = (size_t) 32 << 10; bytes <= (size_t) 1 << 30; bytes *= 2) {
        struct gr_question q = question(GR_COLL_ALLREDUCE, 16, 4, bytes);

        (void) gr_cost(&gr_costs_host, &q, GR_ALGO_NODE_TREE, GR_BY_SLOTS, &chunk);
        pieces = (bytes + chunk - 1) / chunk;
        assert_true(pieces > 1 && 0 == (pieces & (pieces - 1)));
    }
}

/* A network that is slow to answer wants few messages, one with little bandwidth few bytes. */
static void latency_and_rate_decide(void **state)
{
    struct gr_question slow = question(GR_COLL_ALLREDUCE, 16, 4, 65536), thin = slow;

    (void) state;
    slow.far.step = 1000;
    thin.far.byte = 0.1;
    assert_int_equal(way_of(slow), GR_ALGO_TWO_LEVEL);
    assert_int_equal(way_of(thin), GR_ALGO_BUCKET);
}

/* A rank's node: ranks lie behind each other there, or in turns. */
static int node_of(const struct gr_torus *t, int rank)
{
    return gr_torus_coord(t, rank, 2 - t->nested);
}

/* Blocks that leave a node in a call of a channel. */
static int blocks_out(const struct gr_torus *t, enum gr_coll coll, int node, uint32_t channel)
{
    int rank, n = 0, k;
    uint32_t i;

    for (rank = 0; rank < gr_torus_size(t); rank++) {
        struct gr_sched s = {.coll = coll, .algo = GR_ALGO_BUCKET, .p = gr_torus_size(t), .pos = rank,
                             .nchunks = 1, .torus = *t, .channel = gr_rings_lane(t, channel)};

        for (i = 0; node == node_of(t, rank) && i < gr_sched_len(&s); i++) {
            struct gr_step step = gr_sched_step(&s, i);

            for (k = 0; k < step.nto; k++) {
                n += node_of(t, step.to[k]) != node ? (int) step.count : 0;
            }
        }
    }
    return n;
}

static void every_channel_cuts_inside_nodes_first(void **state)
{
    struct gr_torus t = {.ndims = 2};
    int *ranks, *nodes, once;
    uint32_t c;

    (void) state;
    for (t.nested = 1; t.nested <= 2; t.nested++) {
        ranks = &t.dims[t.nested - 1];
        nodes = &t.dims[2 - t.nested];
        for (*ranks = 2; *ranks <= 4; ++*ranks) {
            for (*nodes = 2; *nodes <= 5; ++*nodes) {
                for (c = 0; c < 5; c++) {
                    once = (*nodes - 1) * *ranks; /* S (Q - 1) / Q, of S in Q P blocks */
                    assert_int_equal(blocks_out(&t, GR_COLL_ALLREDUCE, 1, c), 2 * once);
                    assert_int_equal(blocks_out(&t, GR_COLL_ALLGATHER, 1, c), once);
                    assert_int_equal(blocks_out(&t, GR_COLL_REDUCE_SCATTER, 1, c), once);
                }
            }
        }
    }
}

/* Ranks that were placed in turns have all but what takes dimension 0 for nodes. */
static void ranks_in_turns_go_along_their_nodes(void **state)
{
    struct gr_question q;
    size_t bytes;
    int k, way;

    (void) state;
    for (k = 0; k < NCOLLS; k++) {
        for (bytes = 1; bytes < (size_t) 1 << 30; bytes = 2 * bytes + 1) {
            q = question(colls[k], 4, 2, bytes);
            q.torus = (struct gr_torus) {.ndims = 2, .dims = {4, 2}, .nested = 2};
            way = way_of(q);
            assert_true(GR_ALGO_TWO_LEVEL != way && GR_ALGO_NODE_TREE != way);
            assert_true(bytes < (size_t) 1 << 20 || k >= 3 || GR_ALGO_BUCKET == way);
        }
    }
}

/* Each rail has as many channels, but where a message takes no time; more rails are never slower. */
static void large_messages_use_all_rails(void **state)
{
    struct gr_question q;
    struct gr_choice one, many;
    size_t k, bytes;
    int rails, most;

    (void) state;
    for (k = 0; k < NCOLLS; k++) {
        for (bytes = 1; bytes < (size_t) 1 << 32; bytes = 2 * bytes + 1) {
            q = question(colls[k], 2, 2, bytes);
            one = gr_select(&gr_costs_host, &q);
            for (rails = 2; rails <= 8; rails++) {
                most = (CHANNELS + rails - 1) / rails * rails;
                q.far.rails = rails;
                q.nchannels = (uint32_t) most;
                many = gr_select(&gr_costs_host, &q);
                if (bytes < 1000) {
                    assert_int_equal(many.nchannels, 1);
                } else if (bytes > 10000) { /* 8 us against the 5 of a message */
                    assert_int_equal(many.nchannels % (uint32_t) rails, 0);
                    assert_in_range(many.nchannels, one.nchannels, most);
                    assert_true(many.us <= one.us * 1.0001);
                }
            }
        }
    }
    /* one channel has one rail's part of the node's rate */
    q = question(GR_COLL_ALLREDUCE, 4, 1, 1 << 20);
    bytes = 0;
    assert_true(gr_cost_far(&gr_costs_host, &q, GR_ALGO_RING, 2, &bytes) < 1600);
    q.far.rails = 2;
    assert_true(gr_cost_far(&gr_costs_host, &q, GR_ALGO_RING, 2, &bytes) < 1600);
    assert_true(gr_cost_far(&gr_costs_host, &q, GR_ALGO_RING, 1, &bytes) > 2500);
}

/* Between devices: never lines, whatever is asked for; large vectors along the cluster, small ones by few hops. */
static void devices_take_slots_between_nodes(void **state)
{
    struct gr_choice c;
    size_t k, bytes;
    int protocol;

    (void) state;
    for (k = 0; k < NCOLLS; k++) {
        for (bytes = 1; bytes < (size_t) 1 << 32; bytes = 2 * bytes + 1) {
            for (protocol = -1; protocol < GR_NPROTOCOLS; protocol++) {
                struct gr_question q = question(colls[k], 2, 2, bytes);

                q.threads = 512;
                q.protocol = protocol;
                c = gr_select(&gr_costs_device[GR_PATH_NET], &q);
                assert_int_equal(c.protocol, GR_PROTOCOL_SIMPLE);
                assert_int_equal(c.threads, 512);
                assert_in_range(c.nchannels, 1, CHANNELS);
                assert_true(c.us >= q.far.step && c.chunk_bytes >= 64 && c.chunk_bytes <= SLOT_BYTES);
                assert_true(bytes < (size_t) 1 << 20 || GR_COLL_ALLREDUCE != q.coll || GR_ALGO_BUCKET == c.way);
                assert_true(bytes > 64 || GR_COLL_ALLREDUCE != q.coll || GR_ALGO_DOUBLING == c.way);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_are_in_bounds),
        cmocka_unit_test(devices_take_slots_between_nodes),
        cmocka_unit_test(large_messages_of_a_cluster_go_along_it),
        cmocka_unit_test(large_vectors_go_by_chains),
        cmocka_unit_test(small_messages_cross_few_times),
        cmocka_unit_test(medium_messages_go_by_trees_of_nodes),
        cmocka_unit_test(chunks_of_node_trees_are_a_power_of_two),
        cmocka_unit_test(latency_and_rate_decide),
        cmocka_unit_test(large_messages_use_all_rails),
        cmocka_unit_test(every_channel_cuts_inside_nodes_first),
        cmocka_unit_test(ranks_in_turns_go_along_their_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
