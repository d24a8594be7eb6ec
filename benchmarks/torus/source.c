/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of source.h: the steps of all ranks and channels, by tick. */
#include "route.h"
#include "source.h"

#include "sched/sched.h"
#include "topo/torus.h"
#include "common/cli.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MESSAGES = 1 << 25 }; /* a gigabyte of them */

static const struct {
    enum gr_algo algo;
    enum gr_coll coll;
} schedules[SOURCE_ALGOS] = {
    [SOURCE_RING] = {GR_ALGO_RING, GR_COLL_ALLREDUCE},
    [SOURCE_TREE] = {GR_ALGO_TREE, GR_COLL_ALLREDUCE},
    [SOURCE_BUCKET] = {GR_ALGO_BUCKET, GR_COLL_ALLREDUCE},
    [SOURCE_SWING] = {GR_ALGO_SWING, GR_COLL_ALLREDUCE},
    [SOURCE_MST] = {GR_ALGO_MST, GR_COLL_BCAST},
    [SOURCE_DISSEMINATION] = {GR_ALGO_DISSEMINATION, GR_COLL_BARRIER},
};

const char *source_name(enum source_algo algo)
{
    return (unsigned) algo < SOURCE_ALGOS ? gr_algo_name(schedules[algo].algo) : NULL;
}

void *need(void *memory)
{
    if (NULL == memory) {
        errx(EXIT_USAGE, "out of memory");
    }
    return memory;
}

static int on_torus(const struct source *s)
{
    return gr_algo_is_by_rank(schedules[s->algo].algo);
}

static struct gr_sched schedule(const struct source *s, int rank, int channel)
{
    struct gr_sched sched = {.coll = schedules[s->algo].coll,
                             .algo = schedules[s->algo].algo,
                             .p = s->p,
                             .pos = rank,
                             .nchunks = s->nchunks,
                             .torus = s->m->torus,
                             .channel = channel};

    if (!on_torus(s)) {
        sched.pos = s->where[channel][rank];
        sched.order = s->order[channel];
    }
    return sched;
}

static uint32_t steps(const struct source *s, int rank, int channel)
{
    struct gr_sched sched = schedule(s, rank, channel);

    return gr_sched_len(&sched);
}

static struct gr_step step_at(const struct source *s, int rank, int channel, uint32_t i)
{
    struct gr_sched sched = schedule(s, rank, channel);

    return gr_sched_step(&sched, i);
}

/* The first step of that tick or a later one: ticks do not decrease from step to step. */
static uint32_t first_step(const struct source *s, int rank, int channel, uint32_t tick)
{
    uint32_t least = 0, most = steps(s, rank, channel), middle;

    /* steps per tick: ring 1, tree 4, Swing 2 (send, then receive) */
    if (SOURCE_RING == s->algo || SOURCE_TREE == s->algo || SOURCE_SWING == s->algo) {
        return tick * (SOURCE_RING == s->algo ? 1 : SOURCE_TREE == s->algo ? 4 : 2);
    }
    while (least < most) {
        middle = (least + most) / 2;
        if (step_at(s, rank, channel, middle).tick < tick) {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    return least;
}

/* Ticks of a bucket's phase. */
static uint32_t phase_ticks(const struct source *s)
{
    const struct gr_torus *t = &s->m->torus;
    int d, longest = 2;

    for (d = 0; d < t->ndims; d++) {
        longest = t->dims[d] > longest ? t->dims[d] : longest;
    }
    return (uint32_t) longest - 1;
}

uint32_t source_phase(const struct source *s, uint32_t tick)
{
    return SOURCE_BUCKET == s->algo ? tick / phase_ticks(s) : tick;
}

/* A ring: all ticks; a bucket on equal extents: those of a phase. */
uint32_t source_alike(const struct source *s)
{
    const struct gr_torus *t = &s->m->torus;
    int d, same = 1;

    if (SOURCE_RING == s->algo) {
        return 2 * (uint32_t) s->p - 2;
    }
    for (d = 0; d < t->ndims; d++) {
        same &= 1 == t->dims[d] || (int) phase_ticks(s) + 1 == t->dims[d];
    }
    return SOURCE_BUCKET == s->algo && same ? phase_ticks(s) : 1;
}

/* Whether the schedule says which way around its rings a message goes; else it is the shortest. */
static int has_routes(const struct source *s)
{
    return on_torus(s) && SOURCE_DISSEMINATION != s->algo;
}

static void find_path(const struct source *s, struct message *m)
{
    const struct gr_torus *t = &s->m->torus;
    int hops[GR_MAX_DIMS] = {0}, d;
    struct gr_sched sched = schedule(s, m->from, m->channel);

    if (has_routes(s)) {
        route_of(&sched, m->to, hops);
    } else {
        route_shortest(t, m->from, m->to, hops);
    }
    for (d = 0; d < t->ndims; d++) {
        m->hops[d] = (int16_t) hops[d];
    }
}

size_t source_room(const struct source *s)
{
    /* a tick has at most four steps of a channel */
    return (size_t) s->p * (size_t) s->channels * 4 * GR_FAN + 1;
}

size_t source_collect(const struct source *s, uint32_t tick, struct message *messages)
{
    size_t n = 0;
    int rank, channel, k;

    for (rank = 0; rank < s->p; rank++) {
        for (channel = 0; channel < s->channels; channel++) {
            uint32_t len = steps(s, rank, channel), i = first_step(s, rank, channel, tick);

            for (; i < len; i++) {
                struct gr_step step = step_at(s, rank, channel, i);

                if (step.tick > tick) {
                    break;
                }
                for (k = 0; k < step.nto && step.tick == tick; k++) {
                    messages[n] = (struct message) {.from = rank,
                                                    .to = step.to[k],
                                                    .tick = tick,
                                                    .channel = channel,
                                                    .bytes = step.count * s->share};
                    find_path(s, &messages[n++]);
                }
            }
        }
    }
    return n;
}

uint32_t source_ticks(const struct source *s)
{
    uint32_t most = 0, tick;
    int rank;

    for (rank = 0; rank < s->p; rank++) {
        uint32_t len = steps(s, rank, 0), i;

        /* a tree's last steps are of different trees and directions */
        for (i = len > 8 ? len - 8 : 0; i < len; i++) {
            tick = step_at(s, rank, 0, i).tick;
            most = tick > most ? tick : most;
        }
    }
    return most; /* the last tick only receives */
}

int source_make(struct source *s, enum source_algo algo, const struct machine *m, uint32_t chunks)
{
    const struct gr_torus *t = &m->torus;
    int k;

    *s = (struct source) {.algo = algo, .m = m, .p = gr_torus_size(t)};
    s->nchunks = SOURCE_DISSEMINATION == algo ? 1 : chunks; /* a barrier's token is one */
    s->channels = SOURCE_RING == algo ? 2 : 1;
    if (on_torus(s)) {
        if (!gr_algo_fits(schedules[algo].algo, s->p, t)) {
            return -1;
        }
        s->channels = (int) gr_algo_schedules(schedules[algo].algo, schedules[algo].coll, t);
    }
    for (k = 0; k < 2 && !on_torus(s); k++) { /* a ring each way */
        s->order[k] = need(malloc(2 * (size_t) s->p * sizeof(int)));
        s->where[k] = s->order[k] + s->p;
        gr_order_ring(t, s->p, k, s->order[k]);
        gr_order_invert(s->order[k], s->p, s->where[k]);
    }
    s->share =
        1.0 / s->channels /
        (GR_PIPE == gr_algo_layout(schedules[algo].algo, schedules[algo].coll) ? s->nchunks
                                                                               : (uint32_t) s->p);
    return 0;
}

void source_free(struct source *s)
{
    free(s->order[0]);
    free(s->order[1]);
}

int source_traffic(struct traffic *t, enum source_algo algo, const struct machine *m,
                   uint32_t chunks, double bytes)
{
    struct source s;
    struct message *sent;
    size_t room = 0, n, k;
    uint32_t tick;

    memset(t, 0, sizeof(*t));
    if (source_make(&s, algo, m, chunks) < 0) {
        return -1;
    }
    t->nranks = s.p;
    t->nticks = s.p > 1 ? source_ticks(&s) : 0;
    t->first = need(calloc((size_t) t->nticks * (size_t) s.p + 1, sizeof(*t->first)));
    sent = need(malloc(source_room(&s) * sizeof(*sent)));
    for (tick = 0; tick < t->nticks && t->nmessages <= MOST_MESSAGES; tick++) {
        n = source_collect(&s, tick, sent);
        if (t->nmessages + n > room) {
            room = 2 * (t->nmessages + n);
            t->messages = need(realloc(t->messages, room * sizeof(*t->messages)));
        }
        for (k = 0; k < n; k++) {
            sent[k].bytes *= bytes;
            t->messages[t->nmessages++] = sent[k];
            t->first[(size_t) tick * (size_t) s.p + (size_t) sent[k].from + 1]++;
        }
    }
    for (k = 0; k < (size_t) t->nticks * (size_t) s.p; k++) { /* counts become first indices */
        t->first[k + 1] += t->first[k];
    }
    free(sent);
    source_free(&s);
    return t->nmessages <= MOST_MESSAGES ? 0 : -2;
}
