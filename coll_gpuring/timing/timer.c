/* SPDX-License-Identifier: BSD-3-Clause */
/* The step timer of timer.h: countdowns, and when a step is due. */
#include "timing/timer.h"

#include "base/errors.h"

#include <assert.h>
#include <string.h>

/*
 * A step that begins later than this has missed its time: a quarter of a countdown, at least 2 us.
 */
#define LEAST_TOLERANCE 2000

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
    gr_timeline_free(&t->line);
    gr_measure_free(&t->measure);
    gr_latency_free(&t->latency);
}

/* What holds for this call. */
static enum gr_step_sync mode_of(const struct gr_timer *t)
{
    return t->job.whole && GR_SYNC_NONE != t->mode ? GR_SYNC_START : t->mode;
}

/* ---- countdowns ---- */

/* Hand the notes that have come to whom they concern. 0, or negative. */
static int pump(struct gr_timer *t)
{
    struct gr_note note;
    int64_t at;
    int rc;

    while (1 == (rc = t->port->poll(t->port->ctx, &note, &at))) {
        rc = GR_NOTE_SYNC == note.kind ? gr_countdown_take(&t->countdown, &note, at)
                                       : gr_measure_take(&t->measure, &note, at);
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

/* 1 when the countdown under way is over. */
static int poll_countdown(struct gr_timer *t)
{
    int rc = gr_countdown_poll(&t->countdown);

    if (1 == rc) {
        t->report.syncs++;
        t->report.sync_ns += t->countdown.until - t->entered;
        t->start = t->countdown.until;
    }
    return rc;
}

/* ---- the begin of a call ---- */

void gr_timer_begin(struct gr_timer *t, const struct gr_timing_job *job,
                    const struct gr_timer_links *links, int again, int may_resync)
{
    assert(job->split->nchannels <= GR_TIMER_CHANNELS);
    t->job = *job;
    t->job.latency = &t->latency;
    t->lined = t->lined && again;
    t->links = *links;
    t->may_resync = may_resync && 1 == job->split->nchannels && NULL != links->in;
    t->shift = 0;
    t->synced = 0;
    t->syncing = 0;
    memset(t->at, 0, sizeof(t->at));
    memset(t->pending, 0, sizeof(t->pending));
    memset(t->asked, 0, sizeof(t->asked));
    t->state = GR_SYNC_NONE == t->mode ? GR_TIMER_OFF : GR_TIMER_IDLE;
    if (GR_TIMER_IDLE == t->state && t->pause > 0) {
        t->state = GR_TIMER_OFF;
        t->pause -= t->npauses < GR_MAX_PAUSES;
        t->measured = t->pause > 0; /* then latencies are measured again */
    }
}

/*
 * All ranks have heard the same: whether a step of the last call was late somewhere, and how late
 * the latest start.
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
    t->last_skew = gr_port_now(t->port) - t->countdown.until;
    t->late_calls = 0 != t->countdown.value[0] ? t->late_calls + 1 : 0;
    t->missed = 0;
    t->state = GR_TIMER_RUNS;
    if (t->late_calls >= GR_LATE_CALLS) {
        t->state = GR_TIMER_OFF;
        t->late_calls = 0;
        t->pause = GR_PAUSE_CALLS;
        t->npauses++;
        t->report.pauses++;
    }
}

/* Latencies are known: what depends on them, then the countdown. 0, or GR_ERR_NOMEM. */
static int after_measuring(struct gr_timer *t)
{
    int64_t quarter = gr_latency_sync(&t->latency) / 4;
    int rc = t->lined || t->job.whole ? 0 : gr_timeline_make(&t->line, &t->job);

    t->lined = 0 == rc && !t->job.whole;
    t->tolerance = quarter > LEAST_TOLERANCE ? quarter : LEAST_TOLERANCE;
    t->state = GR_TIMER_STARTS;
    begin_countdown(t);
    return rc;
}

/* Measure, if that has not been done; count down. 1 when the call may run. */
static int poll_start(struct gr_timer *t)
{
    int rc = 0;

    if (GR_TIMER_IDLE == t->state && t->measured) {
        rc = after_measuring(t);
    } else if (GR_TIMER_IDLE == t->state) {
        gr_measure_begin(&t->measure);
        t->state = GR_TIMER_MEASURES;
    }
    if (GR_TIMER_MEASURES == t->state) {
        rc = gr_measure_poll(&t->measure);
        if (1 != rc) {
            return rc;
        }
        t->measured = 1;
        t->report.measures++;
        t->lined = 0;
        rc = after_measuring(t);
    }
    if (0 == rc && GR_TIMER_STARTS == t->state) {
        rc = poll_countdown(t);
        if (1 == rc) {
            after_start(t);
        }
    }
    return rc;
}

/* ---- barrier: a countdown before each group ---- */

/* The group of the channel that is farthest behind. */
static uint64_t slowest(const struct gr_timer *t)
{
    uint64_t least = UINT64_MAX;
    uint32_t c;

    for (c = 0; c < t->job.split->nchannels; c++) {
        least = t->at[c] < least ? t->at[c] : least;
    }
    return least;
}

/* All groups of this call, whose number all ranks know; one barrier stands between two. */
static uint64_t last_group(const struct gr_timer *t)
{
    return (uint64_t) t->line.nslices * t->line.ngroups - 1;
}

/* Go on with the barriers at which this rank has arrived. 0, or negative. */
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

/* ---- timed: predicted times, and countdowns before the slices for which one was asked ---- */

static int64_t due_at(const struct gr_timer *t, uint32_t slice, uint32_t tick)
{
    return t->start + t->shift + gr_timeline_at(&t->line, slice, tick);
}

/* The countdown before a slice. 1 when it is over. */
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
        t->start -= gr_timeline_at(&t->line, slice, 0); /* the slice is due now */
        t->shift = 0;
    }
    return rc;
}

/* Whether the step's time has come. */
static int poll_due(struct gr_timer *t, uint32_t channel, uint32_t slice, uint32_t tick)
{
    int64_t now = gr_port_now(t->port), due = due_at(t, slice, tick);

    if (now < due) {
        t->asked[channel] = 0 == t->asked[channel] ? now : t->asked[channel];
        return 0;
    }
    if (0 != t->asked[channel]) {
        t->report.waits++;
        t->report.wait_ns += now - t->asked[channel];
        t->asked[channel] = 0;
    }
    return 1;
}

/*
 * What a rank says beside its messages: its lag, and slices before which there will be a countdown.
 */
static void say(const struct gr_timer *t, struct gr_link *l)
{
    _Atomic uint64_t *words = l->shared->words;

    atomic_store_explicit(&words[GR_WORD_LAG], (uint64_t) t->shift, memory_order_relaxed);
    atomic_store_explicit(&words[GR_WORD_RESYNC], t->pending[0] | (uint64_t) t->pending[1] << 32,
                          memory_order_relaxed);
}

static void hear(struct gr_timer *t, const struct gr_link *l)
{
    int64_t lag =
        (int64_t) atomic_load_explicit(&l->shared->words[GR_WORD_LAG], memory_order_relaxed);
    uint64_t said = atomic_load_explicit(&l->shared->words[GR_WORD_RESYNC], memory_order_relaxed);
    uint32_t slice;
    int k;

    t->shift = lag > t->shift ? lag : t->shift;
    for (k = 0; k < 2 && t->may_resync; k++) {
        slice = (uint32_t) (said >> 32 * k);
        t->pending[k] = slice > t->pending[k] ? slice : t->pending[k];
    }
}

/*
 * The lag has become large: a countdown before the next slice but one. Ranks are at most one slice
 * apart, so there is never more than one of them for even slices, and one for odd ones.
 */
static void ask_for_resync(struct gr_timer *t, uint32_t slice)
{
    if (t->may_resync && slice + 2 < t->line.full && t->shift > gr_latency_sync(&t->latency) &&
        0 == t->pending[0] && 0 == t->pending[1]) {
        t->pending[slice & 1] = slice + 2;
    }
}

/* Slice 0 has the start's. */
static int is_pending(const struct gr_timer *t, uint32_t slice)
{
    return slice > 0 && t->pending[slice & 1] == slice;
}

/* ---- the machine's questions ---- */

/* The start of the call, then what this mode has besides. 1: go on to the step's own time. */
static int poll_call(struct gr_timer *t)
{
    int rc = pump(t);

    if (rc < 0) {
        return rc;
    }
    if (GR_TIMER_RUNS != t->state) {
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
    if (GR_TIMER_RUNS == t->state && GR_SYNC_START != mode_of(t)) {
        t->at[channel] = gr_timeline_group(&t->line, slice, step->tick);
    }
    rc = poll_call(t);
    if (1 != rc || GR_TIMER_OFF == t->state || GR_SYNC_START == mode_of(t)) {
        return rc;
    }
    if (GR_SYNC_BARRIER == mode_of(t)) {
        t->at[channel] = gr_timeline_group(&t->line, slice, step->tick);
        return t->at[channel] <= t->synced;
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

    if (GR_TIMER_RUNS != t->state || GR_SYNC_TIMED != mode_of(t)) {
        return;
    }
    /* as of now: another channel may have found the rank to be late since this step was let in */
    late = gr_port_now(t->port) - due_at(t, slice, step->tick);
    late = late > 0 ? late : 0;
    t->report.steps++;
    t->report.error_ns += late;
    t->report.error_max = late > t->report.error_max ? late : t->report.error_max;
    if (late > t->tolerance) {
        t->report.misses++;
        t->missed = 1;
        t->shift += late;
    }
    for (k = 0; NULL != t->links.in && k < step->nfrom; k++) {
        hear(t, &t->links.in[first + (size_t) step->from[k]]);
    }
    ask_for_resync(t, slice);
    for (k = 0; NULL != t->links.out && k < step->nto; k++) {
        say(t, &t->links.out[first + (size_t) step->to[k]]);
    }
}

void gr_timer_ended(void *ctx, uint32_t channel)
{
    struct gr_timer *t = ctx;

    t->at[channel] = UINT64_MAX;
}

int gr_timer_finished(void *ctx)
{
    struct gr_timer *t = ctx;
    int rc;

    if (GR_TIMER_OFF == t->state) {
        return 1;
    }
    rc = poll_call(t); /* the others need this rank for their start and their barriers */
    if (1 != rc || GR_TIMER_OFF == t->state || GR_SYNC_BARRIER != mode_of(t)) {
        return rc;
    }
    return !t->syncing && t->synced == last_group(t);
}
