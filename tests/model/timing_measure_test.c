/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring latencies (timing/measure.h, latency.h) on a virtual clock, where the true ones are
 * known; clocks (clock.h). Seed: GPURING_SEED.
 */
#include "timing_world.h"

#include "rng.h"

#include "timing/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

static struct tw_world world;
static struct gr_latency tables[TW_MAX_RANKS];
static struct gr_measure measures[TW_MAX_RANKS];
static int asleep[TW_MAX_RANKS]; /* polls that are left out */
static uint64_t seed;

static void open_all(const char *torus, int common)
{
    int r;

    tw_open(&world, torus, 2000, 20, common, rng_next(&seed));
    world.byte_fs = 500000; /* 0.5 ns */
    for (r = 0; r < world.p; r++) {
        assert_int_equal(gr_latency_init(&tables[r], &world.torus, world.p, r), 0);
        assert_int_equal(gr_measure_init(&measures[r], &world.ranks[r].port, &tables[r]), 0);
        asleep[r] = 0;
    }
}

static void close_all(void)
{
    int r;

    for (r = 0; r < world.p; r++) {
        gr_measure_free(&measures[r]);
        gr_latency_free(&tables[r]);
    }
    tw_close(&world);
}

/* All ranks measure, some begin later. */
static void measure(int naps)
{
    int r, left = world.p, done[TW_MAX_RANKS] = {0}, begun[TW_MAX_RANKS] = {0};
    int64_t end = world.now + 2000000000;
    struct gr_note note;
    int64_t at;

    while (left > 0) {
        for (r = 0; r < world.p; r++) {
            asleep[r] =
                naps && 0 == asleep[r] && 0 == rng_below(&world.random, 200) ? 30 : asleep[r];
            if (asleep[r] > 0 && asleep[r]-- > 1) {
                continue;
            }
            if (!begun[r] && (0 == r || 0 == rng_below(&world.random, 20))) {
                gr_measure_begin(&measures[r]);
                begun[r] = 1;
            }
            while (1 == world.ranks[r].port.poll(&world.ranks[r], &note, &at)) {
                assert_int_equal(gr_measure_receive(&measures[r], &note, at), 0);
            }
            if (begun[r] && !done[r] && 1 == gr_measure_poll(&measures[r])) {
                done[r] = 1;
                left--;
            }
        }
        world.now += world.quantum;
        assert_true(world.now < end);
    }
}

/* Both ways of a trip end at a poll. */
static void check(int common)
{
    int r, d, x, y, n;

    for (r = 0; r < world.p; r++) {
        for (d = 0; d < world.torus.ndims; d++) {
            n = world.torus.dims[d];
            for (x = 0; x < n; x++) {
                for (y = 0; y < n; y++) {
                    int64_t got = gr_latency_between(&tables[r], d, x, y),
                            want = world.way[d][x * n + y];

                    assert_in_range(got, want, want + 2 * world.quantum);
                    assert_in_range(tables[r].all[d][x * n + y], got, want + 2 * world.quantum);
                    assert_int_equal(tables[r].all[d][x * n + y], tables[0].all[d][x * n + y]);
                }
            }
            assert_int_equal(tables[r].byte_fs[d], tables[0].byte_fs[d]);
            if (n > 1) {
                assert_in_range(tables[r].byte_fs[d], world.byte_fs - 50000, world.byte_fs + 50000);
            }
        }
        assert_int_equal(tables[r].common_clock, common);
    }
}

static void test_tables(void **state)
{
    static const char *const shapes[] = {"1",   "2",     "5",     "9",       "2x2",
                                         "4x3", "2x2x2", "3x1x2", "2x3x2x3", "4x4"};
    size_t k;

    for (k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
        int common = (int) (k % 2) || 0 == k;

        open_all(shapes[k], common);
        measure(1);
        check(common);
        close_all();
    }
}

/* What is measured again replaces what was known. Ports may have no room. */
static void test_again(void **state)
{
    int d, k;

    open_all("3x2", 1);
    measure(0);
    check(1);
    for (d = 0; d < 2; d++) {
        for (k = 0; k < 9; k++) {
            world.way[d][k] /= 2;
        }
    }
    world.refuse = 4;
    world.ranks[3].clock = 77777; /* and one clock is set */
    measure(0);
    check(0);
    close_all();
}

/* Notes under way may be late: the shortest trips count. */
static void test_jitter(void **state)
{
    int64_t got, want;
    int r, x, y;

    open_all("5", 0);
    world.jitter = 4000;
    measure(0);
    for (r = 0; r < 5; r++) {
        for (x = 0; x < 5; x++) {
            for (y = 0; y < 5; y++) {
                got = gr_latency_between(&tables[r], 0, x, y);
                want = world.way[0][x * 5 + y];
                /* Half of a trip's two delays, which are up to 4000 each, in the best of 60 trips:
                   above 700 with one seed in 30, above 1400 with less than one in 10^10. */
                assert_in_range(got, want, want + (x == y ? 0 : 1400));
                assert_int_equal(got, gr_latency_between(&tables[0], 0, y, x));
            }
        }
    }
    close_all();
}

static void test_arithmetic(void **state)
{
    struct gr_latency l;
    struct gr_torus none = {.ndims = 0};

    tw_open(&world, "4x2", 1000, 20, 1, 5);
    world.byte_fs = 250000;
    tw_fill(&world, &l, 5); /* (1, 1) */
    assert_int_equal(gr_latency_rank(&l, 0, 3), 7);
    assert_int_equal(gr_latency_coord(&l, 1), 1);
    assert_int_equal(gr_latency_message(&l, 0, 1, 4000), world.way[0][1] + 1000);
    assert_int_equal(gr_latency_message(&l, 0, 6, 0), world.way[0][2] + world.way[1][1]);
    assert_int_equal(gr_latency_message(&l, 3, 3, 8000), 2000);
    assert_true(gr_latency_farthest(&l, 0, 0) >= world.way[0][1] &&
                gr_latency_farthest(&l, 0, 0) >= world.way[0][2]);
    gr_latency_free(&l);
    tw_close(&world);
    assert_int_equal(gr_latency_init(&l, &none, 7, 3), 0);
    assert_int_equal(l.torus.ndims, 1);
    assert_int_equal(gr_torus_size(&l.torus), 7);
    l.ring[0][2 * 7 + 5] = 90;
    l.ring[0][5 * 7 + 2] = 70;
    gr_latency_symmetrise(&l, 0);
    assert_int_equal(gr_latency_between(&l, 0, 2, 5), 70);
    assert_int_equal(gr_latency_between(&l, 0, 5, 2), 70);
    gr_latency_free(&l);
    assert_int_equal(gr_latency_byte_fs(1000, 3000, 1000), 2000000);
    assert_int_equal(gr_latency_byte_fs(3000, 1000, 1000), 0);
    assert_int_equal(gr_latency_byte_fs(1000, 3000, 0), 0);
}

/* Notes that are not for a measurement, or not for this one. */
static void test_bad_notes(void **state)
{
    struct gr_note note = {.seq = 1, .from = 1, .kind = GR_NOTE_ECHO};

    open_all("3x2", 1);
    assert_int_equal(gr_measure_receive(&measures[0], &note, 5), -1); /* nothing was asked */
    note.kind = GR_NOTE_SYNC;
    assert_int_equal(gr_measure_receive(&measures[0], &note, 5), -1);
    note.kind = GR_NOTE_ROW;
    note.seq = 3;
    assert_int_equal(gr_measure_receive(&measures[0], &note, 5), -1); /* a row has three */
    note.seq = 0;
    note.value[1] = INT64_MAX / 2;
    assert_int_equal(gr_measure_receive(&measures[0], &note, 5), -1);    /* sums of it overflow */
    note = (struct gr_note) {.seq = 0, .from = 4, .kind = GR_NOTE_PING}; /* not in its ring */
    assert_int_equal(gr_measure_receive(&measures[0], &note, 5), -1);
    note = (struct gr_note) {.seq = 0, .from = 1, .kind = GR_NOTE_PING, .dim = 2};
    assert_int_equal(gr_measure_receive(&measures[0], &note, 5), -1);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),    cmocka_unit_test(test_again),
        cmocka_unit_test(test_jitter),    cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_bad_notes),
    };

    seed = rng_seed();
    return cmocka_run_group_tests_name("measure", tests, NULL, NULL);
}
