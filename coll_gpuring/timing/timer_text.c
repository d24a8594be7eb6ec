/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts about the step timer, and sums of its statistics (timer_text.h). */
#include "timing/timer_text.h"

#include <stdio.h>

const char *gr_sync_name(int mode)
{
    static const char *const names[GR_NSYNCS] = {"none", "start", "barrier", "timed"};

    return mode >= 0 && mode < GR_NSYNCS ? names[mode] : NULL;
}

void gr_timer_explain(const struct gr_timer *t, char *text, size_t size)
{
    const struct gr_countdown *c = &t->countdown;

    text[0] = '\0';
    if (GR_TIMER_MEASURING == t->state) {
        snprintf(text, size, "step timing measures latencies, dimension %d", t->measure.dim);
    } else if (c->running) {
        snprintf(text, size, "step timing waits for %d ranks of dimension %d before %s %llu",
                 gr_countdown_missing(c), c->dim, GR_TIMER_RUNNING == t->state ? "group" : "call",
                 (unsigned long long) (GR_TIMER_RUNNING == t->state ? t->synced + 1
                                                                    : t->report.calls + 1));
    }
}

static void keep_largest(int64_t *a, int64_t b)
{
    *a = b > *a ? b : *a;
}

void gr_timing_report_add(struct gr_timing_report *sum, const struct gr_timing_report *other)
{
    sum->calls += other->calls;
    sum->measures += other->measures;
    sum->syncs += other->syncs;
    sum->sync_ns += other->sync_ns;
    sum->skews += other->skews;
    sum->skew_ns += other->skew_ns;
    keep_largest(&sum->skew_max, other->skew_max);
    sum->steps += other->steps;
    sum->error_ns += other->error_ns;
    keep_largest(&sum->error_max, other->error_max);
    sum->misses += other->misses;
    sum->waits += other->waits;
    sum->wait_ns += other->wait_ns;
    sum->resyncs += other->resyncs;
    sum->pauses += other->pauses;
}
