/* SPDX-License-Identifier: BSD-3-Clause */
/* The three schemes of schemes.h: when each rank begins each tick. */
#include "schemes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROGRESS_EVENTS = 1 << 18 }; /* between two calls of progress() */

struct run {
    const struct traffic *traffic;
    const struct machine *machine;
    const struct noise *noise;
    enum scheme scheme;
    struct network net;
    struct random random;
    struct predictor *predictor;
    uint8_t *left;     /* [nticks][nranks]: messages of the tick still to be sent or received */
    uint32_t *tick;    /* [nranks]: the rank's current tick */
    double *through;   /* [nranks]: the end of its last tick */
    double *start;     /* [nranks]: scheme 3: the earliest begin of its tick */
    double *estimates; /* [nranks][ndims] of latencies; NULL: exact */
    double *predicted; /* [nticks]: durations, where estimates are exact */
    size_t arrived;
    double end;
};

static size_t cell(const struct run *r, uint32_t tick, int rank)
{
    return (size_t) tick * (size_t) r->traffic->nranks + (size_t) rank;
}

/* Send all that the rank sends in its tick. */
static void begin_tick(struct run *r, int rank, double time)
{
    size_t at = cell(r, r->tick[rank], rank);
    uint32_t k;

    if (r->traffic->first[at] == r->traffic->first[at + 1]) {
        return;
    }
    if (r->noise->jitter > 0) {
        time -= r->noise->jitter * log(1 - random_next(&r->random));
    }
    for (k = r->traffic->first[at]; k < r->traffic->first[at + 1]; k++) {
        network_start(&r->net, k, time);
    }
}

/* How long the rank expects a tick to take. */
static double expect(const struct run *r, uint32_t tick, int rank)
{
    if (NULL == r->estimates) {
        return r->predicted[tick] + r->noise->guard;
    }
    return predictor_tick(r->predictor, r->machine, tick,
                          r->estimates + rank * r->machine->torus.ndims) +
           r->noise->guard;
}

/* Leave ticks in which the rank has nothing left to do. */
static void advance(struct run *r, int rank, double time)
{
    while (r->tick[rank] < r->traffic->nticks && 0 == r->left[cell(r, r->tick[rank], rank)]) {
        r->through[rank] = time;
        if (SCHEME_PREDICTED == r->scheme) {
            r->start[rank] += expect(r, r->tick[rank], rank);
            time = time > r->start[rank] ? time : r->start[rank];
        }
        r->tick[rank]++;
        if (SCHEME_SYNC_EACH == r->scheme) {
            return; /* scheme_run() begins the next one */
        }
        if (r->tick[rank] < r->traffic->nticks) {
            begin_tick(r, rank, time);
        }
    }
}

static void one_done(struct run *r, int rank, uint32_t tick, double time)
{
    r->left[cell(r, tick, rank)]--;
    if (tick == r->tick[rank]) {
        advance(r, rank, time);
    }
}

static void message_sent(void *ctx, uint32_t message, double time)
{
    struct run *r = ctx;
    const struct message *m = &r->traffic->messages[message];

    one_done(r, m->from, m->tick, time);
}

static void message_received(void *ctx, uint32_t message, double time)
{
    struct run *r = ctx;
    const struct message *m = &r->traffic->messages[message];

    r->arrived++;
    r->end = time > r->end ? time : r->end;
    one_done(r, m->to, m->tick, time);
}

/* Run until nothing moves. */
static void drain(struct run *r, progress_fn *progress, void *ctx)
{
    while (network_run(&r->net)) {
        if (NULL != progress && 0 == r->net.events.done % PROGRESS_EVENTS) {
            progress(ctx, r->scheme, (double) r->arrived / (double) r->traffic->nmessages);
        }
    }
}

/* Enter, and do the first sync: through[rank] is when each may begin. */
static void enter(struct run *r)
{
    int nranks = r->traffic->nranks, ndims = r->machine->torus.ndims, k;
    const struct noise *noise = r->noise;
    struct random random = random_seeded(noise->seed + 1);

    for (k = 0; k < nranks; k++) {
        r->through[k] = noise->enter * random_next(&random);
    }
    for (k = 0; NULL != r->estimates && k < nranks * ndims; k++) {
        r->estimates[k] = 1 + noise->latency_error * (2 * random_next(&random) - 1);
    }
    sync_run(r->machine, r->estimates, noise->shortest, r->through);
    for (k = 0; k < nranks; k++) {
        r->start[k] = r->through[k];
        if (SCHEME_PREDICTED == r->scheme && noise->skew > 0) {
            r->start[k] += noise->skew * (2 * random_next(&random) - 1);
        }
        r->end = r->start[k] > r->end ? r->start[k] : r->end;
    }
}

static void run_all(struct run *r, progress_fn *progress, void *ctx)
{
    uint32_t tick;
    int rank;

    for (rank = 0; rank < r->traffic->nranks && r->traffic->nticks > 0; rank++) {
        begin_tick(r, rank, r->start[rank]);
    }
    for (rank = 0; rank < r->traffic->nranks; rank++) {
        advance(r, rank, r->start[rank]); /* ranks with nothing to do in the first tick */
    }
    drain(r, progress, ctx);
    for (tick = 1; SCHEME_SYNC_EACH == r->scheme && tick < r->traffic->nticks; tick++) {
        sync_run(r->machine, r->estimates, r->noise->shortest, r->through);
        for (rank = 0; rank < r->traffic->nranks; rank++) {
            begin_tick(r, rank, r->through[rank]);
            advance(r, rank, r->through[rank]);
        }
        drain(r, progress, ctx);
    }
}

/* Allocate, and count what each rank has to do in each tick. */
static int prepare(struct run *r, const struct model *model, double packet)
{
    const struct traffic *t = r->traffic;
    size_t n = (size_t) t->nranks, k;

    r->net = (struct network) {.model = model,
                               .machine = r->machine,
                               .traffic = t,
                               .packet = packet,
                               .sent = message_sent,
                               .received = message_received,
                               .ctx = r};
    if (network_init(&r->net) < 0) {
        return -1;
    }
    r->left = calloc(n * t->nticks + 1, sizeof(*r->left));
    r->tick = calloc(n, sizeof(*r->tick));
    r->through = calloc(n, sizeof(*r->through));
    r->start = calloc(n, sizeof(*r->start));
    r->predicted = calloc(t->nticks + (size_t) 1, sizeof(*r->predicted));
    r->predictor = predictor_make(t);
    if (r->noise->latency_error > 0) {
        r->estimates = calloc(n * (size_t) r->machine->torus.ndims, sizeof(*r->estimates));
    }
    if (NULL == r->left || NULL == r->tick || NULL == r->through || NULL == r->start ||
        NULL == r->predicted || NULL == r->predictor ||
        (r->noise->latency_error > 0 && NULL == r->estimates)) {
        return -1;
    }
    for (k = 0; k < t->nticks; k++) {
        r->predicted[k] = predictor_tick(r->predictor, r->machine, (uint32_t) k, NULL);
    }
    for (k = 0; k < t->nmessages; k++) {
        r->left[cell(r, t->messages[k].tick, t->messages[k].from)]++;
        r->left[cell(r, t->messages[k].tick, t->messages[k].to)]++;
    }
    return 0;
}

int scheme_run(const struct machine *machine, const struct traffic *traffic,
               const struct model *model, double packet, enum scheme scheme,
               const struct noise *noise, progress_fn *progress, void *progress_ctx,
               struct outcome *outcome)
{
    struct run r = {.traffic = traffic,
                    .machine = machine,
                    .noise = noise,
                    .scheme = scheme,
                    .random = random_seeded(noise->seed)};
    struct timespec begin, end;
    int rc;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    memset(outcome, 0, sizeof(*outcome));
    rc = prepare(&r, model, packet);
    if (0 == rc) {
        enter(&r);
        outcome->sync_ns = r.start[0];
        run_all(&r, progress, progress_ctx);
        rc = r.net.out_of_memory ? -1 : 0;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    outcome->ns = r.end;
    outcome->conflicts = r.net.conflicts;
    outcome->seconds =
        (double) (end.tv_sec - begin.tv_sec) + 1e-9 * (double) (end.tv_nsec - begin.tv_nsec);
    network_free(&r.net);
    predictor_free(r.predictor);
    free(r.left);
    free(r.tick);
    free(r.through);
    free(r.start);
    free(r.estimates);
    free(r.predicted);
    return rc;
}
