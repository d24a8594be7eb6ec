/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host executor with timed steps: every schedule with data, on rings and tori, in every mode of
 * step_sync, in seeded orders of scheduling and in threads. Notes go through links in shared
 * memory, times are real. Seed: GPURING_SEED.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

#include "exec_helpers.h"
#include "depth.h"

/* One in so many calls is run. */
enum { THINNING = GR_SANITIZER(1, 1, 2) };

static void add_some(struct ex_batch *b, const struct ex_world *w, int way, enum gr_coll coll)
{
    int k;

    for (k = 0; k < 3; k++) {
        struct ex_case *c = ex_add(b, w, way, coll);
        size_t fits = w->params.slot_bytes / ex_kinds[c->kind].elem_bytes;

        c->in_place = k % 2;
        /* a barrier for each byte takes minutes */
        c->chunk_bytes = c->chunk_bytes < GR_CACHE_LINE ? 0 : c->chunk_bytes;
        c->count = 1 + rng_below(&seed, 12 * fits);
        if (ex_has_counts(coll) && 2 == k) {
            ex_make_counts(b, c, w->params.p, fits, 1);
        }
    }
}

static uint64_t timed_steps, waits, resyncs, pauses;

/* All ranks have done the same. */
static void check_reports(const struct ex_world *w, size_t timed_calls)
{
    const struct gr_timing_report *first = &w->ranks[0].timer.report;
    int r;

    for (r = 0; r < w->params.p && w->params.p > 1; r++) {
        const struct gr_timing_report *report = &w->ranks[r].timer.report;

        assert_int_equal(report->syncs, first->syncs);
        assert_int_equal(report->calls, first->calls);
        assert_int_equal(report->resyncs, first->resyncs);
        assert_int_equal(report->pauses, first->pauses);
        assert_true(report->measures >= 1 && report->calls >= 1 && report->calls <= timed_calls);
        assert_true(0 == report->steps || GR_SYNC_TIMED == w->sync);
        assert_int_equal(w->ranks[r].timer.latency.common_clock, 1);
        timed_steps += report->steps;
        waits += report->waits;
    }
    resyncs += first->resyncs;
    pauses += first->pauses;
    if (GR_SYNC_TIMED != w->sync) {
        assert_int_equal(first->calls, timed_calls);
    }
    if (GR_SYNC_START == w->sync) {
        assert_int_equal(first->syncs, timed_calls);
    }
}

static void sweep(enum gr_step_sync sync, enum ex_mode mode)
{
    static const struct {
        const char *torus;
        int p;
        uint32_t nchannels, nslots;
        size_t slot_bytes;
    } worlds[] = {{"", 2, 1, 2, 256},    {"", 3, 2, 4, 256},    {"", 5, 1, 2, 128},
                  {"2x2", 4, 2, 2, 256}, {"4x2", 8, 1, 4, 512}, {"2x2x2", 8, 2, 2, 256},
                  {"3x3", 9, 1, 2, 256}};
    struct ex_world w;
    size_t k, n, calls;

    for (k = 0; k < sizeof(worlds) / sizeof(worlds[0]); k++) {
        struct ex_batch b = {.random = &seed};

        open_world(&w, worlds[k].p, worlds[k].nchannels, worlds[k].nslots, worlds[k].slot_bytes,
                   worlds[k].torus);
        ex_timers(&w, sync);
        ex_for_each_mode(&b, &w, add_some);
        make_half_direct(&b, &w);
        ex_shuffle(&b);
        b.n /= THINNING;
        b.n = EX_THREADS == mode && b.n > (size_t) depth(8, 30) ? (size_t) depth(8, 30) : b.n;
        for (n = 0, calls = 0; n < b.n; n++) {
            calls += GR_ALGO_MAILBOX != b.cases[n].algo;
        }
        run(&w, b.cases, b.n, mode);
        check_reports(&w, calls);
        ex_close(&w);
        free(b.cases);
    }
}

static void steps_start_together(void **state)
{
    sweep(GR_SYNC_START, EX_STEPPED);
    sweep(GR_SYNC_START, EX_THREADS);
}

static void steps_wait_for_barriers(void **state)
{
    sweep(GR_SYNC_BARRIER, EX_STEPPED);
    sweep(GR_SYNC_BARRIER, EX_THREADS);
}

static void steps_begin_at_their_times(void **state)
{
    sweep(GR_SYNC_TIMED, EX_STEPPED);
    sweep(GR_SYNC_TIMED, EX_THREADS);
    assert_true(timed_steps > 0 && waits > 0);
    printf("# %llu timed steps, %llu waits, %llu resyncs, %llu pauses\n",
           (unsigned long long) timed_steps, (unsigned long long) waits,
           (unsigned long long) resyncs, (unsigned long long) pauses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_start_together),
        cmocka_unit_test(steps_wait_for_barriers),
        cmocka_unit_test(steps_begin_at_their_times),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
