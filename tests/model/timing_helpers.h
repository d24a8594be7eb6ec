/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of step timers: their virtual world, and queries. To be included after
 * cmocka_test.h.
 */
#ifndef GR_TESTS_TIMING_HELPERS_H
#define GR_TESTS_TIMING_HELPERS_H

#include "timing_calls.h"

#include "rng.h"
#include "timing/timer.h"

#include <stdio.h>
#include <stdlib.h>

static struct tc_world world;
static uint64_t seed;
static const struct tc_job ring = {GR_COLL_ALLREDUCE, GR_ALGO_RING, 0, 400, 100, 1, 4, 1};

static inline void run(const struct tc_job *job, uint32_t n)
{
    char text[160] = "";
    int r;

    if (0 == tc_run(&world, job, n)) {
        if (world.ahead) {
            fail_msg("%s: a rank waits for longer than it was late", tc_name(job));
        }
        return;
    }
    for (r = 0; r < world.tw.p && '\0' == text[0]; r++) {
        if (world.ranks[r].running) {
            gr_timer_explain(&world.ranks[r].timer, text, sizeof(text));
        }
    }
    fail_msg("%s: nothing goes on; rank %d: %s", tc_name(job), r - 1, text);
}

static inline const struct gr_timing_report *report(int r)
{
    return &world.ranks[r].timer.report;
}

/* The countdowns' grain, for each dimension one poll. */
static inline int64_t grain(void)
{
    return (world.tw.torus.ndims + 1) * world.tw.quantum;
}

/* First and last begin of a tick in a call, over all ranks; the number of steps. */
static inline int spread_of(uint32_t call, uint32_t slice, uint32_t tick, int64_t *first,
                            int64_t *last)
{
    size_t k;
    int n = 0;

    *first = INT64_MAX;
    *last = INT64_MIN;
    for (k = 0; k < world.nevents; k++) {
        const struct tc_event *e = &world.events[k];

        if (e->call == call && e->slice == slice && e->tick == tick) {
            *first = e->at < *first ? e->at : *first;
            *last = e->at > *last ? e->at : *last;
            n++;
        }
    }
    return n;
}

/* The largest spread of a tick; all ranks have a step in each. */
static inline int64_t worst_spread(uint32_t call, uint32_t slice)
{
    int64_t first, last, worst = 0;
    uint32_t tick;

    for (tick = 0; tick < world.ranks[0].timer.timeline.nticks; tick++) {
        assert_int_equal(spread_of(call, slice, tick, &first, &last), world.tw.p);
        worst = last - first > worst ? last - first : worst;
    }
    return worst;
}

#endif
