/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step timer (timing/timer.h, timeline.h) with real step machines on a virtual clock: when
 * steps begin in each mode, and that nothing ever waits for ever. Seed: GPURING_SEED.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

#include "sanitizer/sanitizer.h"
#include "timing_helpers.h"
#include "timing/timer.h"

/* All ranks enter up to 3 us apart. */
static int dawdle(struct tc_rank *r)
{
    return r->running ? 0 : rng_below(&world.tw.random, 150);
}

static void test_start(void **state)
{
    int64_t first, last;
    uint32_t k;

    tc_open(&world, "3x2", 3000, 0, GR_SYNC_START, rng_next(&seed));
    world.nap = dawdle;
    run(&ring, 5);
    for (k = 0; k < 5; k++) {
        assert_int_equal(spread_of(k, 0, 0, &first, &last), 6);
        assert_true(last - first <= 3000 + grain()); /* who naps after the instant comes late */
    }
    assert_int_equal(report(3)->syncs, 5);
    assert_int_equal(report(3)->measures, 1);
    assert_int_equal(report(3)->steps, 0);
    tc_close(&world);
    tc_open(&world, "3x2", 3000, 0, GR_SYNC_START, rng_next(&seed));
    run(&ring, 5);
    for (k = 0; k < 5; k++) {
        spread_of(k, 0, 0, &first, &last);
        assert_true(last - first <= grain());
    }
    tc_close(&world);
}

/* Every tick begins everywhere at one time, and when the time line says. */
static void test_timed(void **state)
{
    static const char *const shapes[] = {"4", "2x2", "3x2", "2x2x2"};
    int64_t first, last, start;
    uint32_t k, tick;
    size_t i;

    for (i = 0; i < 4; i++) {
        const struct gr_timeline *line;

        tc_open(&world, shapes[i], 3000, 0, GR_SYNC_TIMED, rng_next(&seed));
        line = &world.ranks[0].timer.timeline;
        run(&ring, 4);
        for (k = 0; k < 4; k++) {
            assert_true(worst_spread(k, 0) <= grain() + world.tw.quantum);
            spread_of(k, 0, 0, &start, &last);
            for (tick = 0; tick < line->nticks; tick++) {
                spread_of(k, 0, tick, &first, &last);
                assert_true(llabs(first - start - line->at[tick]) <= grain());
            }
        }
        assert_int_equal(report(1)->misses, 0);
        assert_int_equal(report(1)->syncs, 4);
        assert_int_equal(report(1)->steps, 4 * line->nticks);
        assert_true(report(1)->waits > 4 * (line->nticks - 1) - 4 && report(1)->wait_ns > 0);
        assert_true(report(1)->error_max <= grain());
        assert_int_equal(report(1)->skews, 3);
        assert_true(report(1)->skew_max <= grain());
        tc_close(&world);
    }
}

/* No step of a group begins before the last one of the group before it has begun. */
static void check_groups(void)
{
    int64_t first[512], last[512];
    uint32_t call = UINT32_MAX;
    size_t k, g,
        groups = world.ranks[0].timer.timeline.nslices * world.ranks[0].timer.timeline.ngroups;

    assert_true(groups <= 512 && world.nevents < TC_MAX_EVENTS);
    for (call = 0; call < 2; call++) {
        for (g = 0; g < groups; g++) {
            first[g] = INT64_MAX;
            last[g] = INT64_MIN;
        }
        for (k = 0; k < world.nevents; k++) {
            const struct tc_event *e = &world.events[k];

            if (e->call == call) {
                first[e->group] = e->at < first[e->group] ? e->at : first[e->group];
                last[e->group] = e->at > last[e->group] ? e->at : last[e->group];
            }
        }
        for (g = 1; g < groups; g++) {
            assert_true(INT64_MAX == first[g] || INT64_MIN == last[g - 1] ||
                        first[g] > last[g - 1]);
        }
    }
}

static void test_barrier(void **state)
{
    tc_open(&world, "3x2", 3000, 0, GR_SYNC_BARRIER, rng_next(&seed));
    world.nap = dawdle;
    run(&ring, 2);
    assert_int_equal(world.ranks[0].timer.timeline.ngroups, 11); /* 2p - 1 ticks, none joined */
    assert_int_equal(report(0)->syncs, 2 * 11 * world.ranks[0].timer.timeline.nslices);
    check_groups();
    tc_close(&world);
}

/* ---- any schedule, few slots, naps ---- */

static int nap_seldom(struct tc_rank *r)
{
    (void) r;
    return 0 == rng_below(&world.tw.random, 400) ? rng_below(&world.tw.random, 2000) : 0;
}

static struct tc_job random_job(int p)
{
    struct tc_job job;

    do {
        job.coll = (enum gr_coll) rng_below(&seed, GR_NCOLLS);
        job.algo = (enum gr_algo) rng_below(&seed, GR_NALGOS);
    } while (!gr_algo_has(job.algo, job.coll) || !gr_algo_fits(job.algo, p, NULL) ||
             GR_COLL_ALLTOALL == job.coll ||
             /* several chunks may not have that room */
             gr_algo_message_chunks(job.algo, job.coll, p, NULL) > 1);
    job.root = GR_COLL_BCAST == job.coll || GR_COLL_REDUCE == job.coll ? rng_below(&seed, p) : 0;
    job.slot_elems = 1 + rng_below(&seed, 20);
    job.total = 1 + rng_below(&seed, 12 * job.slot_elems);
    job.nchannels = 1 + (uint32_t) rng_below(&seed, 2);
    job.nslots = 2 + (uint32_t) rng_below(&seed, 3);
    /*
     * ranks that send before they receive need room for it: twice a message's slots are enough for
     * all schedules
     */
    job.pieces = 1 + (uint32_t) rng_below(&seed, GR_ALGO_CHAIN == job.algo ? 2 * job.nslots
                                                                           : job.nslots / 2);
    return job;
}

static void test_anything(void **state)
{
    enum { WORLDS = GR_SANITIZER(70, 21, 21) };
    static const char *const shapes[] = {"2", "3", "5", "2x2", "4x2", "3x3", "2x2x2"};
    enum gr_step_sync mode;
    size_t k;

    for (mode = GR_SYNC_START; mode < GR_NSYNCS; mode++) {
        for (k = 0; k < WORLDS; k++) {
            struct tc_job job;
            int j;

            tc_open(&world, shapes[k % 7], 600, (int) (k / 7 % 2), mode, rng_next(&seed));
            world.nap = 0 == k % 3 ? NULL : nap_seldom;
            for (j = 0; j < 3; j++) {
                job = random_job(world.tw.p);
                run(&job, 3);
            }
            for (j = 1; j < world.tw.p; j++) {
                assert_int_equal(report(j)->syncs, report(0)->syncs);
                assert_int_equal(report(j)->resyncs, report(0)->resyncs);
                assert_int_equal(report(j)->pauses, report(0)->pauses);
            }
            if (GR_SYNC_BARRIER == mode && job.coll != GR_COLL_BCAST) {
                check_groups();
            }
            tc_close(&world);
        }
    }
}

static void test_none(void **state)
{
    tc_open(&world, "4", 1000, 0, GR_SYNC_NONE, rng_next(&seed));
    run(&ring, 3);
    assert_int_equal(world.tw.sent[GR_NOTE_SYNC] + world.tw.sent[GR_NOTE_PING], 0);
    assert_string_equal(gr_sync_name(GR_SYNC_NONE), "none");
    assert_string_equal(gr_sync_name(GR_SYNC_TIMED), "timed");
    assert_null(gr_sync_name(GR_NSYNCS));
    assert_null(gr_sync_name(-1));
    tc_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start),   cmocka_unit_test(test_timed),
        cmocka_unit_test(test_barrier), cmocka_unit_test(test_anything),
        cmocka_unit_test(test_none),
    };

    seed = rng_seed();
    return cmocka_run_group_tests_name("timer", tests, NULL, NULL);
}
