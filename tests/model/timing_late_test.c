/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step timer (timing/timer.h) where ranks are late or latencies wrong, on a virtual clock: lags
 * that travel with the data, re-synchronisation, timing that switches itself off and measures
 * again. Seed: GPURING_SEED.
 */

#include "cmocka_test.h"

#include "timing_helpers.h"

static int64_t nap_at;
static int napped;
static uint32_t nap_call; /* the last call in which a rank napped */

static int nap_once(struct tc_rank *r)
{
    if (1 == r->rank && 1 == r->call && world.tw.now > nap_at && !napped && r->running &&
        GR_TIMER_RUNNING == r->timer.state && r->stepper.at[0].walk.slice > 0) {
        napped = 1;
        return 2000; /* 40 us */
    }
    return 0;
}

/* One rank stops for a while: its lag travels with its data, and all are together again. */
static void test_late(void **state)
{
    /* 12 slices */
    const struct tc_job job = {GR_COLL_ALLREDUCE, GR_ALGO_RING, 0, 4 * 50 * 12, 50, 1, 4, 1};
    int64_t first, last;
    uint32_t slice;
    int r;

    tc_open(&world, "4", 2000, 0, GR_SYNC_TIMED, rng_next(&seed));
    napped = 0;
    world.nap = nap_once;
    run(&job, 3);
    assert_int_equal(napped, 1);
    assert_int_equal(world.ranks[0].timer.timeline.nslices, 12);
    assert_true(report(1)->misses > 0 && report(1)->error_max > 30000);
    for (r = 0; r < 4; r++) {
        assert_int_equal(report(r)->resyncs, 1);
        assert_int_equal(report(r)->pauses, 0);
    }
    for (slice = 6; slice < 12; slice++) {
        assert_true(worst_spread(1, slice) <= grain() + world.tw.quantum);
    }
    for (slice = 0; slice < 12; slice++) {
        assert_true(worst_spread(2, slice) <= grain() + world.tw.quantum);
        spread_of(2, slice, 0, &first, &last);
    }
    tc_close(&world);
}

/*
 * Where there is no re-synchronisation (a Bcast), lags alone keep those together that depend on
 * each other.
 */
static int nap_in_bcast(struct tc_rank *r)
{
    if (0 == r->rank && 1 == r->call && r->running && GR_TIMER_RUNNING == r->timer.state &&
        !napped && r->stepper.at[0].walk.index > 8) {
        napped = 1;
        return 3000; /* 60 us */
    }
    return 0;
}

static void test_lag(void **state)
{
    /* 40 chunks */
    const struct tc_job job = {GR_COLL_BCAST, GR_ALGO_CHAIN, 0, 40 * 50, 50, 1, 4, 1};
    size_t k, checked = 0;

    tc_open(&world, "4", 2000, 0, GR_SYNC_TIMED, rng_next(&seed));
    napped = 0;
    world.nap = nap_in_bcast;
    run(&job, 3);
    assert_int_equal(napped, 1);
    for (k = 0; k < world.nevents; k++) {
        const struct tc_event *e = &world.events[k];
        int64_t first, last;

        /* long after: all ranks that have a step in a tick begin it together again */
        if (1 == e->call && e->tick > 20 && e->tick < 38) {
            spread_of(1, 0, e->tick, &first, &last);
            assert_true(last - first <= grain() + world.tw.quantum);
            checked++;
        }
    }
    assert_true(checked > 20);
    /*
     * the root missed its time, and the others by what they had not heard of yet; then nobody did
     */
    assert_true(report(0)->misses >= 1 && report(0)->misses <= 2);
    assert_true(report(3)->misses <= 4);
    assert_int_equal(report(3)->resyncs, 0);
    tc_close(&world);
}

/*
 * Latencies that have become wrong: timing switches itself off everywhere, measures again, and is
 * right again.
 */
static void test_wrong_latencies(void **state)
{
    uint64_t misses;
    int k, r;

    tc_open(&world, "2x2", 3000, 0, GR_SYNC_TIMED, rng_next(&seed));
    run(&ring, 3);
    assert_int_equal(report(0)->misses, 0);
    for (k = 0; k < 4; k++) {
        world.tw.way[0][k] *= 4;
        world.tw.way[1][k] *= 4;
    }
    run(&ring, GR_LATE_CALLS + 20);
    for (r = 0; r < 4; r++) {
        assert_int_equal(report(r)->pauses, 1);
        assert_int_equal(report(r)->measures, 1);
        assert_int_equal(world.ranks[r].timer.state, GR_TIMER_OFF);
    }
    misses = report(0)->misses;
    assert_true(misses > 0);
    run(&ring, GR_PAUSE_CALLS + 20);
    for (r = 0; r < 4; r++) {
        assert_int_equal(report(r)->measures, 2);
        assert_int_equal(report(r)->pauses, 1);
        assert_int_equal(world.ranks[r].timer.state, GR_TIMER_RUNNING);
    }
    assert_int_equal(report(0)->misses, misses);
    assert_true(worst_spread(GR_PAUSE_CALLS + 19, 0) <= grain() + world.tw.quantum);
    tc_close(&world);
}

/*
 * Every other call is late: each rank misses its time once in it, and only late calls in a row switch
 * timing off.
 */
static int nap_in_even_calls(struct tc_rank *r)
{
    if (2 == r->rank && 0 == r->call % 2 && r->call != nap_call && r->running &&
        GR_TIMER_RUNNING == r->timer.state && r->stepper.at[0].walk.index > 0) {
        nap_call = r->call;
        return 2500; /* 50 us */
    }
    return 0;
}

static void test_late_now_and_then(void **state)
{
    int r;

    tc_open(&world, "2x2", 3000, 0, GR_SYNC_TIMED, rng_next(&seed));
    nap_call = UINT32_MAX;
    world.nap = nap_in_even_calls;
    run(&ring, 4 * GR_LATE_CALLS);
    for (r = 0; r < 4; r++) {
        assert_int_equal(report(r)->misses, 2 * GR_LATE_CALLS);
        assert_int_equal(report(r)->pauses, 0);
        assert_int_equal(world.ranks[r].timer.state, GR_TIMER_RUNNING);
    }
    tc_close(&world);
}

/* Where it never gets better, it stays off in the end. */
static int nap_always(struct tc_rank *r)
{
    return 2 == r->rank && r->running && GR_TIMER_RUNNING == r->timer.state &&
                   0 == rng_below(&world.tw.random, 40)
               ? 2500
               : 0;
}

static void test_off_for_good(void **state)
{
    const struct tc_job small = {GR_COLL_ALLREDUCE, GR_ALGO_RING, 0, 16, 100, 1, 4, 1};
    int r;

    tc_open(&world, "3", 1000, 0, GR_SYNC_TIMED, rng_next(&seed));
    world.nap = nap_always;
    run(&small, (GR_MAX_PAUSES + 1) * (GR_PAUSE_CALLS + 60));
    for (r = 0; r < 3; r++) {
        assert_int_equal(report(r)->pauses, GR_MAX_PAUSES);
        assert_int_equal(report(r)->measures, GR_MAX_PAUSES);
        assert_int_equal(world.ranks[r].timer.state, GR_TIMER_OFF);
    }
    tc_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_lag),
        cmocka_unit_test(test_wrong_latencies),
        cmocka_unit_test(test_late_now_and_then),
        cmocka_unit_test(test_off_for_good),
    };

    seed = rng_seed();
    return cmocka_run_group_tests_name("late", tests, NULL, NULL);
}
