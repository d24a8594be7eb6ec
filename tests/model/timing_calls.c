/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives on a virtual clock (timing_calls.h). */
#include "timing_calls.h"

#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_BYTES = 64, PATIENCE = 400000 /* quanta in which nothing moves */ };

static struct gr_link *link_of(struct gr_link *links, const struct tc_rank *r, uint32_t channel,
                               int rank)
{
    return &links[channel * (uint32_t) r->world->tw.p + (uint32_t) rank];
}

/* ---- the backend: a slot says when it arrives ---- */

static int slot_is_there(const struct tc_rank *r, struct gr_link *l)
{
    int64_t at;

    if (!gr_link_readable(l)) {
        return 0;
    }
    memcpy(&at, gr_link_slot(l), sizeof(at));
    return at <= r->world->tw.now;
}

static int ready(void *ctx, uint32_t channel, const struct gr_step *s)
{
    struct tc_rank *r = ctx;
    int k;

    for (k = 0; k < s->nfrom; k++) {
        if (!slot_is_there(r, link_of(r->in, r, channel, s->from[k]))) {
            return 0;
        }
    }
    for (k = 0; k < s->nto; k++) {
        if (!gr_link_writable(link_of(r->out, r, channel, s->to[k]))) {
            return 0;
        }
    }
    return 1;
}

static int move(void *ctx, const struct gr_move *mv)
{
    struct tc_rank *r = ctx;
    const struct tw_world *tw = &r->world->tw;
    int64_t at;
    int k;

    for (k = 0; k < mv->step->nto; k++) {
        at = tw->now + tw_way(tw, r->rank, mv->step->to[k]) +
             (int64_t) mv->count * 8 * tw->byte_fs / 1000000;
        memcpy(gr_link_slot(link_of(r->out, r, mv->channel, mv->step->to[k])), &at, sizeof(at));
    }
    return 0;
}

static void commit(void *ctx, uint32_t channel, const struct gr_step *s)
{
    struct tc_rank *r = ctx;
    int k;

    for (k = 0; k < s->nto; k++) {
        gr_link_push(link_of(r->out, r, channel, s->to[k]));
    }
    for (k = 0; k < s->nfrom; k++) {
        gr_link_pop(link_of(r->in, r, channel, s->from[k]));
    }
}

static const struct gr_backend ops = {ready, move, commit, NULL, NULL};

/* ---- the gate: the timer, watched ---- */

static int may_begin(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *s)
{
    return gr_timer_may_begin(&((struct tc_rank *) ctx)->timer, channel, slice, s);
}

/*
 * A lag is time that has passed: with it, the step that begins was due by now; or, where another
 * rank said so, as much later as its message is ahead of this step.
 */
static void watch_lag(struct tc_rank *r, uint32_t slice, uint32_t tick)
{
    const struct gr_timer *t = &r->timer;

    if (GR_SYNC_TIMED == t->mode && GR_TIMER_RUNNING == t->state) {
        int64_t due = t->start + t->lag + gr_timeline_at(&t->timeline, slice, tick);

        r->world->ahead |= due > gr_port_now(t->port) + t->timeline.at[t->timeline.nticks] + 1000;
    }
}

static void begins(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *s)
{
    struct tc_rank *r = ctx;
    struct tc_world *w = r->world;

    if (w->nevents < TC_MAX_EVENTS) {
        w->events[w->nevents++] = (struct tc_event) {
            w->tw.now,
            r->rank,
            r->call,
            channel,
            slice,
            s->tick,
            r->timer.timeline_valid ? gr_timeline_group(&r->timer.timeline, slice, s->tick) : 0};
    }
    gr_timer_begins(&r->timer, channel, slice, s);
    watch_lag(r, slice, s->tick);
}

static void ended(void *ctx, uint32_t channel)
{
    gr_timer_ended(&((struct tc_rank *) ctx)->timer, channel);
}

static int finished(void *ctx)
{
    return gr_timer_finished(&((struct tc_rank *) ctx)->timer);
}

static const struct gr_gate gate = {may_begin, begins, ended, finished};

/* ---- calls ---- */

static struct gr_sched sched_of(const void *ctx, int rank, uint32_t channel)
{
    const struct tc_rank *r = ctx;
    const struct tc_job *job = &r->world->job;

    (void) channel;
    return (struct gr_sched) {.coll = job->coll,
                              .algo = job->algo,
                              .p = r->world->tw.p,
                              .pos = rank,
                              .root = job->root,
                              .nchunks = r->plan.split.nchunks};
}

static void call_begin(struct tc_rank *r)
{
    const struct tc_job *job = &r->world->job;
    struct gr_split split = {.coll = job->coll,
                             .layout = gr_algo_layout(job->algo, job->coll),
                             .p = r->world->tw.p,
                             .total = job->total,
                             .block = job->total,
                             .nchannels = job->nchannels,
                             .chunk_elems = job->slot_elems * (0 == job->pieces ? 1 : job->pieces),
                             .align = 1,
                             .slice_chunks = gr_algo_slice_chunks(job->algo)};
    struct gr_timing_job timing = {.p = r->world->tw.p,
                                   .split = &r->plan.split,
                                   .elem_bytes = 8,
                                   .slot_elems = job->slot_elems,
                                   .nslots = job->nslots,
                                   .sched = sched_of,
                                   .ctx = r};
    struct gr_timer_links links = {r->in, r->out, r->world->tw.p};
    uint32_t c;

    gr_split_init(&split);
    r->plan.split = split;
    r->plan.slot_elems = job->slot_elems;
    for (c = 0; c < job->nchannels; c++) {
        r->plan.sched[c] = sched_of(r, r->rank, c);
    }
    gr_timer_begin(&r->timer, &timing, &links, r->call > 0, GR_COLL_ALLREDUCE == job->coll);
    gr_stepper_start(&r->stepper, &r->plan, &ops, r);
    gr_stepper_gate(&r->stepper, &gate, r);
    r->running = 1;
}

/* Whether something moved; -1: an error. */
static int rank_poll(struct tc_rank *r, uint32_t n)
{
    uint64_t moved = 0;
    int rc;

    if (r->call == n || r->world->tw.now < r->sleeps_until) {
        return 0;
    }
    if (NULL != r->world->nap) {
        r->sleeps_until = r->world->tw.now + r->world->nap(r) * r->world->tw.quantum;
    }
    if (!r->running) {
        call_begin(r);
    }
    rc = gr_stepper_run(&r->stepper, &moved);
    if (rc < 0) {
        return -1;
    }
    if (GR_DONE == rc) {
        r->running = 0;
        r->call++;
        return 1;
    }
    return moved > 0;
}

int tc_run(struct tc_world *w, const struct tc_job *job, uint32_t n)
{
    int left, r, idle = 0, rc;
    size_t k;

    for (r = 0; r < w->tw.p; r++) {
        for (k = 0; k < TC_MAX_CHANNELS * (size_t) w->tw.p; k++) {
            w->ranks[r].in[k].nslots = w->ranks[r].out[k].nslots = job->nslots;
        }
    }
    w->job = *job;
    w->nevents = 0;
    for (r = 0; r < w->tw.p; r++) {
        w->ranks[r].call = 0;
    }
    do {
        for (r = 0, left = 0; r < w->tw.p; r++) {
            rc = rank_poll(&w->ranks[r], n);
            if (rc < 0) {
                return -1;
            }
            idle = rc > 0 ? 0 : idle;
            left += w->ranks[r].call < n;
        }
        w->tw.now += w->tw.quantum;
        if (++idle > PATIENCE) {
            return -1;
        }
    } while (left > 0);
    return 0;
}

static void open_links(struct tc_world *w)
{
    size_t p = (size_t) w->tw.p, c, from, to;

    w->shared = calloc(TC_MAX_CHANNELS * p * p, sizeof(w->shared[0]));
    for (c = 0; c < TC_MAX_CHANNELS && NULL != w->shared; c++) {
        for (from = 0; from < p; from++) {
            for (to = 0; to < p; to++) {
                struct gr_link_shared *shared =
                    aligned_alloc(64, gr_link_bytes(GR_MAX_SLOTS, SLOT_BYTES));

                memset(shared, 0, gr_link_bytes(GR_MAX_SLOTS, SLOT_BYTES));
                w->shared[(c * p + from) * p + to] = shared;
                gr_link_attach(&w->ranks[to].in[c * p + from], shared, 0, GR_MAX_SLOTS, SLOT_BYTES);
                gr_link_attach(&w->ranks[from].out[c * p + to], shared, 0, GR_MAX_SLOTS,
                               SLOT_BYTES);
            }
        }
    }
}

void tc_open(struct tc_world *w, const char *torus, int64_t hop, int common, enum gr_step_sync mode,
             uint64_t seed)
{
    int r;

    memset(w, 0, sizeof(*w));
    tw_open(&w->tw, torus, hop, 20, common, seed);
    w->tw.byte_fs = 1000000;
    w->ranks = calloc((size_t) w->tw.p, sizeof(*w->ranks));
    w->events = calloc(TC_MAX_EVENTS, sizeof(*w->events));
    for (r = 0; r < w->tw.p; r++) {
        w->ranks[r].world = w;
        w->ranks[r].rank = r;
        w->ranks[r].in = calloc(TC_MAX_CHANNELS * (size_t) w->tw.p, sizeof(struct gr_link));
        w->ranks[r].out = calloc(TC_MAX_CHANNELS * (size_t) w->tw.p, sizeof(struct gr_link));
        if (0 != gr_timer_init(&w->ranks[r].timer, mode, &w->tw.ranks[r].port, &w->tw.torus,
                               w->tw.p, r)) {
            abort();
        }
    }
    open_links(w);
}

void tc_close(struct tc_world *w)
{
    size_t k;
    int r;

    for (r = 0; r < w->tw.p; r++) {
        gr_timer_free(&w->ranks[r].timer);
        free(w->ranks[r].in);
        free(w->ranks[r].out);
    }
    for (k = 0; k < TC_MAX_CHANNELS * (size_t) w->tw.p * (size_t) w->tw.p; k++) {
        free(w->shared[k]);
    }
    free(w->shared);
    free(w->ranks);
    free(w->events);
    tw_close(&w->tw);
}

const char *tc_name(const struct tc_job *job)
{
    static char text[120];

    snprintf(text, sizeof(text),
             "%s %s, root %d, %zu elements, slots of %zu, %u of them, %u channels",
             gr_coll_name(job->coll), gr_algo_name(job->algo), job->root, job->total,
             job->slot_elems, (unsigned) job->nslots, (unsigned) job->nchannels);
    return text;
}
