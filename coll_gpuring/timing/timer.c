/* SPDX-License-Identifier: BSD-3-Clause */
/* The step timer (timer.h): countdowns and due times. */
#include "timing/timer.h"

#include "base/errors.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Smallest tolerance of late steps, ns. It is a quarter of a countdown's duration otherwise. */
#define MIN_TOLERANCE 2000

int gr_timer_init(struct gr_timer *t, enum gr_step_sync mode, const struct gr_port *port,
                  const struct gr_torus *torus, int p, int rank)
{
    memset(t, 0, sizeof(*t));
    t->mode = mode;
    t->port = port;
    gr_countdown_init(&t->countdown, port, &t->latency);
    if (0 != gr_latency_init(&t->latency, torus, p, rank) ||
        0 != gr_measure_init(&t->measure, port, &t->latency)) {
        gr_latency_free(&t->latency);
        return GR_ERR_NOMEM;
    }
    return 0;
}

void gr_timer_free(struct gr_timer *t)
{
    gr_timeline_free(&t->timeline);
    gr_measure_free(&t->measure);
    gr_latency_free(&t->latency);
}

/* The mode of this call. */
static enum gr_step_sync mode_of(const struct gr_timer *t)
{
    return t->job.whole && GR_SYNC_NONE != t->mode ? GR_SYNC_START : t->mode;
}

/* ---- countdowns ---- */

/* Receive all notes that have arrived. Returns 0 or negative. */
static int receive_notes(struct gr_timer *t)
{
    struct gr_note note;
    int64_t at;
    int rc;

    while (1 == (rc = t->port->poll(t->port->ctx, &note, &at))) {
        rc = GR_NOTE_SYNC == note.kind ? gr_countdown_receive(&t->countdown, &note, at)
                                       : gr_measure_receive(&t->measure, &note, at);
        if (rc < 0) {
            return rc;
        }
    }
    return rc;
}

static void begin_countdown(struct gr_timer *t)
{
    const int64_t value[GR_SYNC_VALUES] = {t->missed, t->last_skew};

    gr_countdown_begin(&t->countdown, value);
    t->entered = gr_port_now(t->port);
}

/* Advance the countdown. Returns 1 when its instant has passed. */
static int poll_countdown(struct gr_timer *t)
{
    int rc = gr_countdown_poll(&t->countdown);

    if (1 == rc) {
        t->report.syncs++;
        t->report.sync_ns += t->countdown.instant - t->entered;
        t->start = t->countdown.instant;
    }
    return rc;
}

/* ---- the start of a call ---- */

void gr_timer_begin(struct gr_timer *t, const struct gr_timing_job *job,
                    const struct gr_timer_links *links, int again, int may_resync)
{
    assert(job->split->nchannels <= GR_TIMER_CHANNELS);
    t->job = *job;
    t->job.latency = &t->latency;
    t->timeline_valid = t->timeline_valid && again;
    t->links = *links;
    t->may_resync = may_resync && 1 == job->split->nchannels && NULL != links->in;
    t->lag = 0;
    t->synced = 0;
    t->syncing = 0;
    memset(t->group, 0, sizeof(t->group));
    memset(t->pending, 0, sizeof(t->pending));
    memset(t->waiting_since, 0, sizeof(t->waiting_since));
    t->state = GR_SYNC_NONE == t->mode ? GR_TIMER_OFF : GR_TIMER_IDLE;
    if (GR_TIMER_IDLE == t->state && t->pause > 0) {
        t->state = GR_TIMER_OFF;
        t->pause -= t->npauses < GR_MAX_PAUSES;
        t->measured = t->pause > 0; /* measure latencies again after the pause */
    }
}

/*
 * The first countdown is over. All ranks have the same maxima: whether any step of the last call
 * was late, and its start skew.
 */
static void after_start(struct gr_timer *t)
{
    int64_t skew = t->countdown.value[1];

    t->report.calls++;
    if (t->report.calls > 1) {
        t->report.skews++;
        t->report.skew_ns += skew;
        t->report.skew_max = skew > t->report.skew_max ? skew : t->report.skew_max;
    }
    t->last_skew = gr_port_now(t->port) - t->countdown.instant;
    t->late_calls = 0 != t->countdown.value[0] ? t->late_calls + 1 : 0;
    t->missed = 0;
    t->state = GR_TIMER_RUNNING;
    if (t->late_calls >= GR_LATE_CALLS) {
        t->state = GR_TIMER_OFF;
        t->late_calls = 0;
        t->pause = GR_PAUSE_CALLS;
        t->npauses++;
        t->report.pauses++;
    }
}

/* Latencies are known: make the time line and begin the countdown. Returns 0 or GR_ERR_NOMEM. */
static int after_measuring(struct gr_timer *t)
{
    int64_t quarter = gr_latency_sync(&t->latency) / 4;
    int rc = t->timeline_valid || t->job.whole ? 0 : gr_timeline_make(&t->timeline, &t->job);

    t->timeline_valid = 0 == rc && !t->job.whole;
    t->tolerance = quarter > MIN_TOLERANCE ? quarter : MIN_TOLERANCE;
    t->state = GR_TIMER_STARTING;
    begin_countdown(t);
    return rc;
}

/* Advance the start: measure latencies if needed, then count down. Returns 1: steps may run. */
static int poll_start(struct gr_timer *t)
{
    int rc = 0;

    if (GR_TIMER_IDLE == t->state && t->measured) {
        rc = after_measuring(t);
    } else if (GR_TIMER_IDLE == t->state) {
        gr_measure_begin(&t->measure);
        t->state = GR_TIMER_MEASURING;
    }
    if (GR_TIMER_MEASURING == t->state) {
        rc = gr_measure_poll(&t->measure);
        if (1 != rc) {
            return rc;
        }
        t->measured = 1;
        t->report.measures++;
        t->timeline_valid = 0;
        rc = after_measuring(t);
    }
    if (0 == rc && GR_TIMER_STARTING == t->state) {
        rc = poll_countdown(t);
        if (1 == rc) {
            after_start(t);
        }
    }
    return rc;
}

/* ---- barrier: a countdown before each group ---- */

/* The lowest current group of all channels. */
static uint64_t slowest(const struct gr_timer *t)
{
    uint64_t least = UINT64_MAX;
    uint32_t c;

    for (c = 0; c < t->job.split->nchannels; c++) {
        least = t->group[c] < least ? t->group[c] : least;
    }
    return least;
}

/* Number of the last group, equal on all ranks. A barrier stands between two groups. */
static uint64_t last_group(const struct gr_timer *t)
{
    return (uint64_t) t->timeline.nslices * t->timeline.ngroups - 1;
}

/* Advance the barriers that this rank has reached. Returns 0 or negative. */
static int poll_barriers(struct gr_timer *t)
{
    int rc;

    while (t->syncing || (t->synced < last_group(t) && slowest(t) > t->synced)) {
        if (!t->syncing) {
            begin_countdown(t);
            t->syncing = 1;
        }
        rc = poll_countdown(t);
        if (1 != rc) {
            return rc;
        }
        t->syncing = 0;
        t->synced++;
    }
    return 0;
}

/* ---- timed: due times, and countdowns that ranks ask for before slices ---- */

static int64_t due_at(const struct gr_timer *t, uint32_t slice, uint32_t tick)
{
    return t->start + t->lag + gr_timeline_at(&t->timeline, slice, tick);
}

/* Advance the countdown before a slice. Returns 1 when it is over. */
static int poll_resync(struct gr_timer *t, uint32_t slice)
{
    int rc;

    if (!t->syncing) {
        begin_countdown(t);
        t->syncing = 1;
    }
    rc = poll_countdown(t);
    if (1 == rc) {
        t->syncing = 0;
        t->pending[slice & 1] = 0;
        t->report.resyncs++;
        t->start -= gr_timeline_at(&t->timeline, slice, 0); /* the slice is due now */
        t->lag = 0;
    }
    return rc;
}

/* Whether the step is due. */
static int poll_due(struct gr_timer *t, uint32_t channel, uint32_t slice, uint32_t tick)
{
    int64_t now = gr_port_now(t->port), due = due_at(t, slice, tick);

    if (now < due) {
        t->waiting_since[channel] =
            0 == t->waiting_since[channel] ? now : t->waiting_since[channel];
        return 0;
    }
    if (0 != t->waiting_since[channel]) {
        t->report.waits++;
        t->report.wait_ns += now - t->waiting_since[channel];
        t->waiting_since[channel] = 0;
    }
    return 1;
}

/* Publish this rank's lag and the countdowns that it asks for to the reader of a link. */
static void publish(const struct gr_timer *t, struct gr_link *l)
{
    _Atomic uint64_t *words = l->shared->sideband;

    atomic_store_explicit(&words[GR_SIDEBAND_LAG], (uint64_t) t->lag, memory_order_relaxed);
    atomic_store_explicit(&words[GR_SIDEBAND_RESYNC],
                          t->pending[0] | (uint64_t) t->pending[1] << 32, memory_order_relaxed);
}

/* Adopt a larger lag, and countdowns, that the writer of a link has published. */
static void adopt(struct gr_timer *t, const struct gr_link *l)
{
    int64_t lag =
        (int64_t) atomic_load_explicit(&l->shared->sideband[GR_SIDEBAND_LAG], memory_order_relaxed);
    uint64_t slices =
        atomic_load_explicit(&l->shared->sideband[GR_SIDEBAND_RESYNC], memory_order_relaxed);
    uint32_t slice;
    int k;

    t->lag = lag > t->lag ? lag : t->lag;
    for (k = 0; k < 2 && t->may_resync; k++) {
        slice = (uint32_t) (slices >> 32 * k);
        t->pending[k] = slice > t->pending[k] ? slice : t->pending[k];
    }
}

/*
 * Ask for a countdown before the next slice but one if the lag has become large. Ranks are at most
 * one slice apart, so they ask for at most one before an even slice and one before an odd slice.
 */
static void ask_resync(struct gr_timer *t, uint32_t slice)
{
    if (t->may_resync && slice + 2 < t->timeline.full && t->lag > gr_latency_sync(&t->latency) &&
        0 == t->pending[0] && 0 == t->pending[1]) {
        t->pending[slice & 1] = slice + 2;
    }
}

/* Whether a countdown was asked for before the slice. Slice 0 has the call's own. */
static int is_pending(const struct gr_timer *t, uint32_t slice)
{
    return slice > 0 && t->pending[slice & 1] == slice;
}

/* ---- the stepper's gate ---- */

/*
 * Advance the start of the call, then the barriers. Returns 1: steps may run, when they are due; 0:
 * not yet; negative: an error.
 */
static int poll_call(struct gr_timer *t)
{
    int rc = receive_notes(t);

    if (rc < 0) {
        return rc;
    }
    if (GR_TIMER_RUNNING != t->state) {
        rc = poll_start(t);
        if (1 != rc || GR_TIMER_OFF == t->state) {
            return rc;
        }
    }
    if (GR_SYNC_BARRIER == mode_of(t)) {
        rc = poll_barriers(t);
        return rc < 0 ? rc : 1;
    }
    return 1;
}

int gr_timer_may_begin(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step)
{
    struct gr_timer *t = ctx;
    int rc;

    if (GR_TIMER_OFF == t->state) {
        return 1;
    }
    if (GR_TIMER_RUNNING == t->state && GR_SYNC_START != mode_of(t)) {
        t->group[channel] = gr_timeline_group(&t->timeline, slice, step->tick);
    }
    rc = poll_call(t);
    if (1 != rc || GR_TIMER_OFF == t->state || GR_SYNC_START == mode_of(t)) {
        return rc;
    }
    if (GR_SYNC_BARRIER == mode_of(t)) {
        t->group[channel] = gr_timeline_group(&t->timeline, slice, step->tick);
        return t->group[channel] <= t->synced;
    }
    if (is_pending(t, slice)) {
        rc = poll_resync(t, slice);
        if (1 != rc) {
            return rc;
        }
    }
    return poll_due(t, channel, slice, step->tick);
}

void gr_timer_begins(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step)
{
    struct gr_timer *t = ctx;
    size_t first = (size_t) channel * (size_t) t->links.p;
    int64_t late;
    int k;

    if (GR_TIMER_RUNNING != t->state || GR_SYNC_TIMED != mode_of(t)) {
        return;
    }
    /* computed anew: another channel may have increased the lag since the step was admitted */
    late = gr_port_now(t->port) - due_at(t, slice, step->tick);
    late = late > 0 ? late : 0;
    t->report.steps++;
    t->report.error_ns += late;
    t->report.error_max = late > t->report.error_max ? late : t->report.error_max;
    if (late > t->tolerance) {
        t->report.misses++;
        t->missed = 1;
        t->lag += late;
    }
    for (k = 0; NULL != t->links.in && k < step->nfrom; k++) {
        adopt(t, &t->links.in[first + (size_t) step->from[k]]);
    }
    ask_resync(t, slice);
    for (k = 0; NULL != t->links.out && k < step->nto; k++) {
        publish(t, &t->links.out[first + (size_t) step->to[k]]);
    }
}

void gr_timer_ended(void *ctx, uint32_t channel)
{
    struct gr_timer *t = ctx;

    t->group[channel] = UINT64_MAX;
}

int gr_timer_finished(void *ctx)
{
    struct gr_timer *t = ctx;
    int rc;

    if (GR_TIMER_OFF == t->state) {
        return 1;
    }
    rc = poll_call(t); /* other ranks may need this rank for their start or barriers */
    if (1 != rc || GR_TIMER_OFF == t->state || GR_SYNC_BARRIER != mode_of(t)) {
        return rc;
    }
    return !t->syncing && t->synced == last_group(t);
}

/* ---- texts and sums ---- */

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
