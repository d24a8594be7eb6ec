/* SPDX-License-Identifier: BSD-3-Clause */
/* The time lines of timeline.h. */
#include "timing/timeline.h"

#include "sched/walk.h"

#include "base/errors.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One end of a message: the writer's or the reader's step. */
struct end {
    uint64_t link;  /* (channel, from, to) */
    uint32_t order; /* in which that end handles the link's messages */
    uint32_t tick;
    size_t slots;
};

struct ends {
    struct end *all;
    size_t n, room;
};

static int add_end(struct ends *e, uint64_t link, uint32_t tick, size_t slots)
{
    struct end *more;

    if (e->n == e->room) {
        e->room = 2 * e->room + 256;
        more = gr_realloc(e->all, e->room * sizeof(*more));
        if (NULL == more) {
            return GR_ERR_NOMEM;
        }
        e->all = more;
    }
    e->all[e->n] = (struct end) {link, (uint32_t) e->n, tick, slots};
    e->n++;
    return 0;
}

/* All of a link together, in the order of its messages. */
static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    if (x->link != y->link) {
        return x->link < y->link ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

struct work {
    struct ends writers, readers;
    int64_t *ticks; /* how long each lasts */
    uint32_t nticks, room;
};

static int see_tick(struct work *w, uint32_t tick, int64_t ns)
{
    int64_t *more;

    if (tick >= w->room) {
        uint32_t room = 2 * tick + 64;

        more = gr_realloc(w->ticks, room * sizeof(*more));
        if (NULL == more) {
            return GR_ERR_NOMEM;
        }
        memset(more + w->room, 0, (room - w->room) * sizeof(*more));
        w->ticks = more;
        w->room = room;
    }
    w->nticks = tick >= w->nticks ? tick + 1 : w->nticks;
    w->ticks[tick] = ns > w->ticks[tick] ? ns : w->ticks[tick];
    return 0;
}

static uint64_t link_number(const struct gr_timing_job *job, uint32_t channel, int from, int to)
{
    return ((uint64_t) channel * (uint64_t) job->p + (uint64_t) from) * (uint64_t) job->p +
           (uint64_t) to;
}

static int see_step(struct work *w, const struct gr_timing_job *job, int rank, uint32_t channel,
                    const struct gr_step *s)
{
    size_t elems = gr_step_elems(job->split, channel, 0, s), bytes = elems * job->elem_bytes;
    size_t slots = (elems + job->slot_elems - 1) / job->slot_elems;
    /* what a rank does by itself takes as long as the costliest dimension's bytes */
    int64_t t, ns = gr_latency_message(job->latency, rank, rank, bytes);
    int k, rc = 0;

    if (0 == elems || 0 == s->bits) {
        return 0;
    }
    for (k = 0; k < s->nto && 0 == rc; k++) {
        t = gr_latency_message(job->latency, rank, s->to[k], bytes);
        ns = t > ns ? t : ns;
        rc = add_end(&w->writers, link_number(job, channel, rank, s->to[k]), s->tick, slots);
    }
    for (k = 0; k < s->nfrom && 0 == rc; k++) {
        rc = add_end(&w->readers, link_number(job, channel, s->from[k], rank), s->tick, slots);
    }
    return 0 == rc ? see_tick(w, s->tick, ns) : rc;
}

/* A rank's step comes before one of an earlier tick: as if that one read what this one writes. */
static int see_order(struct work *w, const struct gr_timing_job *job, int rank, uint32_t channel,
                     uint32_t *last, const struct gr_step *s)
{
    uint64_t link = link_number(job, job->split->nchannels + channel, rank, rank);
    int rc = 0;

    if (s->tick < *last) {
        rc = add_end(&w->writers, link, *last, 0);
        return 0 == rc ? add_end(&w->readers, link, s->tick, 0) : rc;
    }
    *last = s->tick;
    return 0;
}

static int see_all(struct work *w, const struct gr_timing_job *job)
{
    const struct gr_step *step;
    struct gr_step_walk walk;
    uint32_t c, last;
    int r, rc = 0;

    for (c = 0; c < job->split->nchannels && 0 == rc; c++) {
        for (r = 0; r < job->p && 0 == rc; r++) {
            struct gr_sched s = job->sched(job->ctx, r, c);

            last = 0;
            gr_step_walk_begin(&walk, &s, 1);
            while (0 == rc && NULL != (step = gr_step_walk_get(&walk, &s))) {
                rc = see_step(w, job, r, c, step);
                rc = 0 == rc ? see_order(w, job, r, c, &last, step) : rc;
                gr_step_walk_next(&walk);
            }
        }
    }
    return rc;
}

/* No barrier before the ticks after `first` up to `last`. */
static void join_ticks(unsigned char *joined, uint32_t first, uint32_t last)
{
    uint32_t t;

    for (t = first + 1; t <= last; t++) {
        joined[t] = 1;
    }
}

/*
 * The n messages of one link. joined[t]: no barrier may stand before tick t. Going on from the
 * first message, `held` is how much of what came before is read in a later group than that in which
 * this one is written; when that and this one do not fit the slots, the oldest of them must be read
 * in the same group.
 */
static void join_link(unsigned char *joined, const struct end *w, const struct end *r, size_t n,
                      uint32_t nslots)
{
    size_t k, oldest = 0, held = 0;

    for (k = 0; k < n; k++) {
        if (r[k].tick < w[k].tick) {
            join_ticks(joined, r[k].tick, w[k].tick);
        }
        held += w[k].slots;
        while (oldest < k && r[oldest].tick <= w[k].tick) {
            held -= w[oldest++].slots;
        }
        while (held > nslots && oldest <= k) {
            join_ticks(joined, w[k].tick, r[oldest].tick);
            held -= w[oldest++].slots;
        }
    }
}

/* Which ticks must be in one group, of all links. The two ends' lists are equally long. */
static void join_all(unsigned char *joined, struct work *w, uint32_t nslots)
{
    struct end *writers = w->writers.all, *readers = w->readers.all;
    size_t first, last;

    if (0 == w->writers.n) {
        return;
    }
    assert(w->writers.n == w->readers.n);
    qsort(writers, w->writers.n, sizeof(*writers), compare_ends);
    qsort(readers, w->readers.n, sizeof(*readers), compare_ends);
    for (first = 0; first < w->writers.n; first = last) {
        for (last = first; last < w->writers.n && writers[last].link == writers[first].link;
             last++) {
            assert(readers[last].link == writers[last].link);
        }
        join_link(joined, writers + first, readers + first, last - first, nslots);
    }
}

static int fill(struct gr_timeline *t, struct work *w, const struct gr_timing_job *job)
{
    unsigned char *joined = gr_calloc((size_t) w->nticks + 1, 1);
    uint32_t k;

    t->nticks = w->nticks;
    t->nslices = job->split->nslices;
    while (t->full < t->nslices && gr_split_at(job->split, GR_OUT, 0, t->full, 0).count > 0) {
        t->full++;
    }
    t->at = gr_calloc((size_t) w->nticks + 1, sizeof(*t->at));
    t->group = gr_calloc((size_t) w->nticks + 1, sizeof(*t->group));
    if (NULL == joined || NULL == t->at || NULL == t->group) {
        free(joined);
        gr_timeline_free(t);
        return GR_ERR_NOMEM;
    }
    join_all(joined, w, job->nslots);
    for (k = 0; k < w->nticks; k++) {
        t->at[k + 1] = t->at[k] + w->ticks[k];
        t->group[k] = 0 == k ? 0 : t->group[k - 1] + (0 == joined[k]);
    }
    t->ngroups = w->nticks > 0 ? t->group[w->nticks - 1] + 1 : 1;
    free(joined);
    return 0;
}

int gr_timeline_make(struct gr_timeline *t, const struct gr_timing_job *job)
{
    struct work w = {{NULL, 0, 0}, {NULL, 0, 0}, NULL, 0, 0};
    int rc;

    gr_timeline_free(t);
    rc = see_all(&w, job);
    if (0 == rc) {
        rc = fill(t, &w, job);
    }
    free(w.writers.all);
    free(w.readers.all);
    free(w.ticks);
    return rc;
}

void gr_timeline_free(struct gr_timeline *t)
{
    free(t->at);
    free(t->group);
    memset(t, 0, sizeof(*t));
}
