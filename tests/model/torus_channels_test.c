/* SPDX-License-Identifier: BSD-3-Clause */
/* The channels of torus algorithms: their number, their links, and the peers of each rank. */
#include "sched/sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { IN = 1, OUT = 2 }; /* a pair is in the receiver's list, in the sender's */

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

    (void) state;
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
    (void) state;
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
    assert_int_equal(sends, gr_torus_links(&torus) * (int) (last + 1));
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

    (void) state;
    algo = GR_ALGO_SWING;
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        torus = rows[k].torus;
        assert_int_equal(swing_ticks(&most), rows[k].ticks);
        assert_int_equal(most, rows[k].most);
    }
}

/*
 * Peers are listed once, and by both ends; channels beyond those with links of their own have the
 * peers of the first.
 */
static void peers_agree(void **state)
{
    int in[64], out[64], nin, nout, rank, k, channel;

    (void) state;
    torus = (struct gr_torus) {.ndims = 3, .dims = {4, 2, 4}};
    for (algo = GR_ALGO_BUCKET; algo < GR_NALGOS; algo++) {
        for (channel = 0; channel < 7; channel++) {
            char links[32][32] = {{0}};

            for (rank = 0; rank < 32; rank++) {
                struct gr_sched s = sched_of(GR_COLL_BCAST, rank, 5, channel, 1);

                gr_sched_peers(&s, in, &nin, out, &nout);
                assert_in_range(nin, 1, 31);
                for (k = 0; k < nin; k++) {
                    assert_int_equal(links[in[k]][rank] & IN, 0);
                    links[in[k]][rank] |= IN;
                }
                for (k = 0; k < nout; k++) {
                    assert_int_equal(links[rank][out[k]] & OUT, 0);
                    links[rank][out[k]] |= OUT;
                }
            }
            for (k = 0; k < 32 * 32; k++) {
                assert_true(0 == links[k / 32][k % 32] || (IN | OUT) == links[k / 32][k % 32]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_as_stated),
        cmocka_unit_test(a_bucket_uses_all_links),
        cmocka_unit_test(swing_costs_what_it_says),
        cmocka_unit_test(peers_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
