/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predicted times (tune/select.h) are monotonic in sizes, links and nodes. With growing size, an
 * algorithm that is no longer chosen is not chosen again.
 */
#include <math.h>

#include "cmocka_test.h"

#include "select_questions.h"

/* One chunk more or less where lengths are rounded, in node trees to a power of two. */
#define ROUNDING 1.1

/* Algorithms that are about as fast may take turns. */
#define CLOSE 1.2

/* Better links. */
static struct gr_costs scaled(const struct gr_costs *costs, struct gr_select_args *q, double step,
                              double byte)
{
    struct gr_costs c = *costs;
    int method;

    c.own *= step;
    c.mailbox *= step;
    q->internode.step *= step;
    c.combine *= byte;
    c.mailbox_byte *= byte;
    q->internode.byte *= byte;
    for (method = 0; method < GR_NCOPY_METHODS; method++) {
        c.by[method].step *= step;
        c.by[method].byte *= byte;
    }
    return c;
}

/* Never faster with more bytes, never slower over better links. */
static void check_way(const struct gr_costs *costs, const struct gr_select_args *without, int algo,
                      int method)
{
    struct gr_select_args q = *without;
    double us, last = 0;
    size_t bytes;
    int k;

    for (bytes = 1; bytes < MOST_BYTES; bytes = next_bytes(bytes)) {
        set_bytes(&q, bytes);
        us = cost_of(costs, &q, algo, method);
        for (k = 0; k < 2; k++) {
            struct gr_select_args better = q;
            struct gr_costs c = scaled(costs, &better, k ? 1 : 0.5, k ? 0.5 : 1);

            if (cost_of(&c, &better, algo, method) > ROUNDING * us) {
                fail_msg("%s %s p=%d %zu bytes: slower with half the %s", gr_use_name(algo),
                         gr_coll_name(q.coll), q.p, bytes, k ? "time per byte" : "latency");
            }
        }
        if (last > ROUNDING * us) {
            fail_msg("%s %s p=%d: %zu bytes take %g us, fewer %g us", gr_use_name(algo),
                     gr_coll_name(q.coll), q.p, bytes, us, last);
        }
        last = us;
    }
}

/* With one channel: a further one comes at a size, and makes the call faster there. */
static void check_ways(const struct gr_costs *costs, const struct gr_select_args *without)
{
    struct gr_select_args q = *without;
    int algo, method;

    q.nchannels = 1;
    q.bytes = MOST_BYTES; /* so that messages may be fetched */
    for (algo = 0; algo < GR_NALGOS; algo++) {
        for (method = 0; method < GR_NCOPY_METHODS; method++) {
            if (can_so(costs, &q, algo, method) && may_choose(&q, (enum gr_algo) algo)) {
                check_way(costs, &q, algo, method);
            }
        }
    }
    if (has_mailbox(&q)) {
        check_way(costs, &q, GR_ALGO_MAILBOX, GR_BY_SLOTS);
    }
}

static void more_bytes_take_longer_and_better_links_do_not(void **state)
{
    for_each_question(check_ways);
}

/*
 * While an algorithm is left, how much slower it was at most than what was chosen. It comes back
 * only if it was hardly.
 */
static void check_left(const struct gr_costs *costs, const struct gr_select_args *without)
{
    struct gr_select_args q = *without;
    double slower[GR_NALGOS_ALL] = {0};
    int seen[GR_NALGOS_ALL] = {0}, k, m;
    size_t bytes;

    /* what has sizes of its own: channels, slots, lines, fetching */
    q.nchannels = 1;
    q.slot_bytes = MOST_BYTES;
    q.protocol = GR_PROTOCOL_SIMPLE;
    q.direct = 0;
    for (bytes = 1; bytes < MOST_BYTES; bytes = next_bytes(bytes)) {
        struct gr_choice c;

        set_bytes(&q, bytes);
        c = gr_select(costs, &q);
        if (seen[c.algo] && slower[c.algo] > CLOSE) {
            fail_msg(
                "%s p=%d nodes=%d: %s comes back at %zu bytes, after it was %.2f times as slow",
                gr_coll_name(q.coll), q.p, q.internode.nodes, gr_use_name(c.algo), bytes,
                slower[c.algo]);
        }
        seen[c.algo] = 1;
        slower[c.algo] = 0;
        for (k = 0; k < GR_NALGOS; k++) {
            double least = INFINITY;

            for (m = 0; m < GR_NCOPY_METHODS && k != c.algo && seen[k]; m++) {
                if (can_so(costs, &q, k, m)) {
                    least = fmin(least, cost_of(costs, &q, k, m));
                }
            }
            slower[k] = isfinite(least) ? fmax(slower[k], least / c.us) : slower[k];
        }
    }
}

static void what_is_left_stays_left(void **state)
{
    for_each_question(check_left);
}

/*
 * Each rail has as many channels, but where a message takes no time; more rails are never slower.
 */
static void large_messages_use_all_rails(void **state)
{
    struct gr_select_args q;
    struct gr_choice one, many;
    int coll, rails;
    size_t bytes, chunk;
    double us;

    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for (bytes = 1; bytes < MOST_BYTES; bytes = next_bytes(bytes)) {
            q = nodes_question((enum gr_coll) coll, 2, 2);
            set_bytes(&q, bytes);
            one = gr_select(&gr_costs_host, &q);
            for (rails = 2; rails <= 8; rails++) {
                q.internode.rails = rails;
                q.nchannels = (uint32_t) ((4 + rails - 1) / rails * rails);
                many = gr_select(&gr_costs_host, &q);
                /*
                 * one channel where the bytes take a tenth of a message's time, all rails where
                 * they take as long
                 */
                assert_true((double) bytes * q.internode.byte > 0.1 * q.internode.step ||
                            1 == many.nchannels);
                assert_true((double) bytes * q.internode.byte < q.internode.step ||
                            (0 == many.nchannels % (uint32_t) rails && many.us <= one.us * 1.0001));
            }
        }
    }
    /* one channel has one rail's part of the node's rate */
    q = nodes_question(GR_COLL_ALLREDUCE, 4, 1);
    q.bytes = 64 << 20;
    us = gr_cost_internode(&gr_costs_host, &q, GR_ALGO_RING, 2, &chunk);
    q.internode.rails = 2;
    assert_true(gr_cost_internode(&gr_costs_host, &q, GR_ALGO_RING, 2, &chunk) < 1.01 * us);
    assert_true(gr_cost_internode(&gr_costs_host, &q, GR_ALGO_RING, 1, &chunk) > 1.5 * us);
}

/*
 * Where ranks share cores each hop inside a node takes a while: more of a chain's or a bucket's
 * than of two levels.
 */
static void ranks_that_share_cores_take_few_hops(void **state)
{
    static const enum gr_algo algos[] = {GR_ALGO_TWO_LEVEL, GR_ALGO_CHAIN, GR_ALGO_TWO_LEVEL,
                                         GR_ALGO_BUCKET};
    double more[4];
    int nodes, ranks, k;
    size_t chunk;

    for (nodes = 2; nodes <= 8; nodes++) {
        for (ranks = 2; ranks <= 4; ranks++) {
            for (k = 0; k < 4; k++) {
                struct gr_select_args q =
                    nodes_question(k < 2 ? GR_COLL_BCAST : GR_COLL_ALLREDUCE, nodes, ranks);

                set_bytes(&q, 64);
                more[k] = -gr_cost_internode(&gr_costs_host, &q, algos[k], 1, &chunk);
                q.internode.oversubscribed = 1;
                more[k] += gr_cost_internode(&gr_costs_host, &q, algos[k], 1, &chunk);
            }
            assert_true(more[0] > 0 && more[1] > (nodes - 1) * more[0]);
            assert_true(more[2] > 0 && more[3] > more[2] - 1e-9);
        }
    }
}

/* A chain goes through all ranks of a node before it crosses the network to the next one. */
static void a_chain_crosses_the_network_once_for_each_node(void **state)
{
    const double more = 10; /* microseconds */
    double us;
    int nodes, ranks;
    size_t chunk;

    for (nodes = 2; nodes <= 8; nodes++) {
        for (ranks = 1; ranks <= 4; ranks++) {
            struct gr_select_args q = nodes_question(GR_COLL_BCAST, nodes, ranks);

            set_bytes(&q, 8);
            us = gr_cost_internode(&gr_costs_host, &q, GR_ALGO_CHAIN, 1, &chunk);
            q.internode.step += more;
            us = gr_cost_internode(&gr_costs_host, &q, GR_ALGO_CHAIN, 1, &chunk) - us;
            assert_true(us > (nodes - 1) * more - 0.01 && us < (nodes - 1) * more + 0.01);
        }
    }
}

/*
 * A slot is free again after a round trip. Where that is long, the chunks of a pipeline fit the
 * slots that there are, or keep the link busy for the round trip, but for what rounding to a power
 * of two does; with fewer slots it takes longer.
 */
static void far_pipelines_wait_for_slots(void **state)
{
    static const enum gr_algo algos[] = {GR_ALGO_CHAIN, GR_ALGO_TREE};
    struct gr_select_args q;
    double us, few;
    size_t bytes, chunk, k;

    for (k = 0; k < sizeof(algos) / sizeof(algos[0]); k++) {
        for (bytes = 16 << 10; bytes <= 1 << 20; bytes *= 2) {
            double links = GR_ALGO_CHAIN == algos[k] ? 1 : 2;

            q = nodes_question(GR_COLL_BCAST, 4, 1);
            q.internode.step = 5120;
            q.internode.byte = 0.04;
            set_bytes(&q, bytes);
            us = gr_cost_internode(&gr_costs_host, &q, algos[k], 1, &chunk);
            assert_true((double) bytes / (double) chunk <= 1.42 * q.nslots * links ||
                        (q.nslots * links - 1) * (double) chunk * 0.04 > 0.7 * 2 * 5120 ||
                        chunk == q.slot_bytes);
            q.nslots = 2;
            few = gr_cost_internode(&gr_costs_host, &q, algos[k], 1, &chunk);
            assert_true(few >= us);
            /* two slots of a chain: three round trips and more for eight slots' bytes */
            assert_true(GR_ALGO_CHAIN != algos[k] || bytes < 8 * q.slot_bytes ||
                        few - us > 2 * 5120);
            /* between near nodes the credit comes before the slots are full */
            q.internode.step = 20;
            q.nslots = 4;
            us = gr_cost_internode(&gr_costs_host, &q, algos[k], 1, &chunk);
            q.nslots = 16;
            few = gr_cost_internode(&gr_costs_host, &q, algos[k], 1, &chunk);
            assert_true(us < 1.001 * few && few < 1.001 * us);
        }
    }
}

/*
 * A rank of a bcast reads one board, and among many ranks one for each step of the way up and down;
 * in other collectives it reads those of all ranks, or of its groups.
 */
static void mailboxes_of_all_ranks_take_longer_to_read(void **state)
{
    double two, some, many;
    int coll;

    for (coll = 0; coll < GR_COLL_ALLTOALL; coll++) {
        struct gr_select_args q = host_question((enum gr_coll) coll, 2);

        set_bytes(&q, 64);
        two = gr_cost_mailbox(&gr_costs_host, &q);
        q.p = 9;
        some = gr_cost_mailbox(&gr_costs_host, &q);
        assert_true(GR_COLL_BCAST == coll ? some == two : some > 3 * two && some < 10 * two);
        q.p = 32;
        set_bytes(&q, GR_COLL_ALLGATHER == coll ? 64 * 16 : 64);
        many = gr_cost_mailbox(&gr_costs_host, &q);
        assert_true(GR_COLL_BCAST == coll ? many > 2 * two && many < 4 * two
                                          : many > 3 * two && many < 50 * two);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_bytes_take_longer_and_better_links_do_not),
        cmocka_unit_test(what_is_left_stays_left),
        cmocka_unit_test(large_messages_use_all_rails),
        cmocka_unit_test(ranks_that_share_cores_take_few_hops),
        cmocka_unit_test(a_chain_crosses_the_network_once_for_each_node),
        cmocka_unit_test(far_pipelines_wait_for_slots),
        cmocka_unit_test(mailboxes_of_all_ranks_take_longer_to_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
