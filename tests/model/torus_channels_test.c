/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The channels of torus algorithms: their number, their links; and what the exchanges of an
 * Alltoall cost, by counting.
 */
#include "sched/alltoall.h"
#include "sched/sched.h"

#include "torus_route.h"

#include <stdlib.h>

#include "cmocka_test.h"

static struct gr_torus torus; /* of the test */
static enum gr_algo algo;

static struct gr_sched sched_of(enum gr_coll coll, int rank, int root, int channel,
                                uint32_t nchunks)
{
    return (struct gr_sched) {.coll = coll,
                              .algo = algo,
                              .p = gr_torus_size(&torus),
                              .pos = rank,
                              .root = root,
                              .nchunks = nchunks,
                              .torus = torus,
                              .channel = channel};
}

/*
 * Channels: two for each dimension above extent 1, one where there is a line; allgather and
 * reduce_scatter, see torus.h.
 */
static void channels_are_as_stated(void **state)
{
    struct gr_torus t = {.ndims = 3, .dims = {4, 1, 4}}, cube = {.ndims = 3, .dims = {4, 4, 4}},
                    line = {.ndims = 3, .dims = {4, 3, 4}, .mesh = 2};

    assert_int_equal(gr_algo_schedules(GR_ALGO_BUCKET, GR_COLL_ALLREDUCE, &t), 4);
    assert_int_equal(gr_algo_schedules(GR_ALGO_BUCKET, GR_COLL_ALLREDUCE, &cube), 6);
    assert_int_equal(gr_algo_schedules(GR_ALGO_BUCKET, GR_COLL_ALLGATHER, &cube), 4);
    assert_int_equal(gr_algo_schedules(GR_ALGO_BUCKET, GR_COLL_ALLREDUCE, &line), 3);
    assert_int_equal(gr_algo_schedules(GR_ALGO_SWING, GR_COLL_ALLREDUCE, &cube), 6);
    assert_false(gr_algo_fits(GR_ALGO_SWING, 47, &line) || gr_algo_fits(GR_ALGO_MST, 63, &cube) ||
                 gr_algo_fits(GR_ALGO_MST, 64, NULL));
    assert_true(gr_algo_fits(GR_ALGO_SUH_SHIN, 64, &cube) &&
                !gr_algo_fits(GR_ALGO_SUH_SHIN, 48, &line));
}

/*
 * The bucket keeps every link of the torus busy in every tick of an allreduce, where all extents
 * are equal.
 */
static void a_bucket_uses_all_links(void **state)
{
    int rank, channel, sends = 0;
    uint32_t i, last = 0;

    torus = (struct gr_torus) {.ndims = 3, .dims = {4, 4, 4}};
    algo = GR_ALGO_BUCKET;
    for (rank = 0; rank < 64; rank++) {
        for (channel = 0; channel < 6; channel++) {
            struct gr_sched s = sched_of(GR_COLL_ALLREDUCE, rank, 0, channel, 1);

            for (i = 0; i < gr_sched_len(&s); i++) {
                struct gr_step t = gr_sched_step(&s, i);

                sends += t.nto;
                last = t.nto > 0 && t.tick > last ? t.tick : last;
            }
        }
    }
    assert_int_equal(last + 1, 2 * 3 * 3); /* 2 sum (a_d - 1) ticks */
    assert_int_equal(sends, torus_links(&torus) * (int) (last + 1));
}

/* How many ticks Swing takes; the blocks that the busiest rank sends in a channel. */
static uint32_t swing_ticks(uint32_t *most)
{
    int p = gr_torus_size(&torus), rank, channel;
    uint32_t last = 0, i;

    for (rank = 0, *most = 0; rank < p; rank++) {
        for (channel = 0;
             channel < (int) gr_algo_schedules(GR_ALGO_SWING, GR_COLL_ALLREDUCE, &torus);
             channel++) {
            struct gr_sched s = sched_of(GR_COLL_ALLREDUCE, rank, 0, channel, 1);
            uint32_t sent = 0;

            for (i = 0; i < gr_sched_len(&s); i++) {
                struct gr_step t = gr_sched_step(&s, i);

                sent += t.nto > 0 ? t.count : 0;
                last = t.nto > 0 && t.tick > last ? t.tick : last;
            }
            *most = sent > *most ? sent : *most;
        }
    }
    return last + 1;
}

/*
 * Swing takes 2 log2 p ticks, and in each step one half of what is left goes there and the other
 * half back. A dimension that is no power of two takes two ticks more, and all of what is left goes
 * there, or back. Halves of odd numbers are uneven.
 */
static void swing_costs_what_it_says(void **state)
{
    static const struct {
        struct gr_torus torus;
        uint32_t ticks, most; /* steps; then what is folded */
    } rows[] = {
        {{.ndims = 1, .dims = {16}}, 8, 16 + 8 + 4 + 2},
        {{.ndims = 3, .dims = {8, 4, 8}}, 16, 2 * 255},
        {{.ndims = 1, .dims = {6}}, 4 + 2, 6 + 3 + 6},
        {{.ndims = 1, .dims = {9}}, 6 + 2, 9 + 5 + 2 + 9},
        {{.ndims = 2, .dims = {3, 3}}, 4 + 4, 9 + 4 + 9 + 4},
        {{.ndims = 2, .dims = {8, 5}}, 10 + 2, 40 + 20 + 10 + 5 + 3 + 40},
        /* the channel that begins with Y */
        {{.ndims = 4, .dims = {2, 3, 2, 3}}, 8 + 4, 36 + 18 + 9 + 4 + 36 + 9},
    };
    uint32_t most;
    size_t k;

    algo = GR_ALGO_SWING;
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        torus = rows[k].torus;
        assert_int_equal(swing_ticks(&most), rows[k].ticks);
        assert_int_equal(most, rows[k].most);
    }
}

#define SUH_SHIN GR_ALGO_SUH_SHIN
#define ORDERED GR_ALGO_ORDERED

/* Of all exchanges of an Alltoall; blocks: that rank 0 sends. */
struct cost {
    uint32_t ticks;
    uint64_t messages, hops, blocks;
    int most_ports; /* messages that a rank sends in a tick */
};

static struct cost cost_of(enum gr_algo which, const struct gr_torus *t)
{
    struct gr_sched a = {.algo = which, .p = gr_torus_size(t), .torus = *t};
    struct cost cost = {.ticks = gr_alltoall_ticks(&a)};
    uint32_t tick;

    for (a.pos = 0; a.pos < a.p; a.pos++) {
        for (tick = 0; tick < cost.ticks; tick++) {
            int lane, ports = 0;

            for (lane = 0; lane < gr_alltoall_lanes(&a); lane++) {
                struct gr_exchange e = gr_alltoall_step(&a, lane, tick);

                if (e.to >= 0) {
                    ports++;
                    cost.messages++;
                    cost.hops += (uint64_t) abs(e.hops);
                    cost.blocks += 0 == a.pos ? (uint64_t) gr_slots_count(&a, &e.slots) : 0;
                }
            }
            cost.most_ports = ports > cost.most_ports ? ports : cost.most_ports;
        }
    }
    return cost;
}

/* Which tori Suh-Shin is for. */
static void suh_shin_suits(void **state)
{
    static const struct {
        struct gr_torus t;
        int suits;
    } rows[] = {
        {{.ndims = 3, .dims = {16, 16, 16}}, 1},
        {{.ndims = 3, .dims = {16, 8, 4}}, 1},
        {{.ndims = 2, .dims = {2, 4}}, 1},
        {{.ndims = 2, .dims = {6, 4}}, 0},
        {{.ndims = 1, .dims = {3}}, 0},
        {{.ndims = 2, .dims = {8, 4}, .mesh = 2}, 0},
        {{.ndims = 2, .dims = {8, 2}, .mesh = 2}, 1},
        {{.ndims = 1, .dims = {1}}, 1},
        {{.ndims = 0}, 0},
    };
    size_t k;

    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        assert_int_equal(gr_algo_fits(SUH_SHIN, gr_torus_size(&rows[k].t), &rows[k].t),
                         rows[k].suits);
        assert_int_equal(gr_algo_fits(ORDERED, gr_torus_size(&rows[k].t), &rows[k].t),
                         rows[k].t.ndims > 0);
    }
}

/* D(a/4 + 1) ticks; D(a + 4)p/8 blocks sent by each rank; one message per rank and tick. */
static void suh_shin_costs_what_is_published(void **state)
{
    static const int shapes[][2] = {{2, 4}, {2, 8},  {2, 16}, {3, 4},
                                    {3, 8}, {3, 12}, {3, 16}, {4, 4}};
    struct cost cost;
    size_t k;

    for (k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
        int ndims = shapes[k][0], a = shapes[k][1];
        struct gr_torus t = {.ndims = ndims, .dims = {a, a, a, a}};
        uint64_t p = (uint64_t) gr_torus_size(&t);

        cost = cost_of(SUH_SHIN, &t);
        assert_int_equal(cost.ticks, ndims * (a / 4 + 1));
        assert_int_equal(cost.blocks, (uint64_t) ndims * (uint64_t) (a + 4) * p / 8);
        assert_int_equal(cost.most_ports, 1);
        assert_int_equal(cost.messages, p * cost.ticks); /* with equal extents nobody is idle */
        assert_int_equal(cost.hops, p * (uint64_t) ndims * (uint64_t) (4 * (a / 4 - 1) + 2 + 1));
    }
    /* half of the ranks idle but for the last tick */
    cost = cost_of(SUH_SHIN, &(struct gr_torus) {.ndims = 1, .dims = {16}});
    assert_int_equal(cost.ticks, 16 / 2 + 1);
}

/*
 * Sum over dimensions of a/2 ticks (line: a - 1). Blocks sent by each rank: those that a block's
 * way has as hops.
 */
static void ordered_costs_what_is_stated(void **state)
{
    struct cost cost;

    cost = cost_of(ORDERED, &(struct gr_torus) {.ndims = 3, .dims = {5, 6, 7}});
    assert_int_equal(cost.ticks, 2 + 3 + 3);
    assert_int_equal(cost.most_ports, 2);
    /*
     * sum of the distances on a ring of 5: 6; of 6: 9; of 7: 12; times the pairs of the other
     * coordinates
     */
    assert_int_equal(cost.blocks, 6 * 42 + 9 * 35 + 12 * 30);
    cost = cost_of(ORDERED, &(struct gr_torus) {.ndims = 2, .dims = {5, 4}, .mesh = 3});
    assert_int_equal(cost.ticks, 4 + 3);
    assert_int_equal(cost.most_ports, 1);
    assert_int_equal(cost.blocks, (4 + 3 + 2 + 1) * 4 + (3 + 2 + 1) * 5);
    cost = cost_of(ORDERED, &(struct gr_torus) {.ndims = 1, .dims = {1}});
    assert_int_equal(cost.ticks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_as_stated),
        cmocka_unit_test(a_bucket_uses_all_links),
        cmocka_unit_test(swing_costs_what_it_says),
        cmocka_unit_test(suh_shin_suits),
        cmocka_unit_test(suh_shin_costs_what_is_published),
        cmocka_unit_test(ordered_costs_what_is_stated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
