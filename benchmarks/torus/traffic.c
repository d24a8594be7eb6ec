/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of an Alltoall, and how long they are. See traffic.h. */
#include "traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct random random_seeded(uint32_t seed)
{
    return (struct random) {{0x330e, (unsigned short) seed, (unsigned short) (seed >> 16)}};
}

double random_next(struct random *r)
{
    return erand48(r->state);
}

void sizes_weights(const struct sizes *sizes, int nranks, double *weights)
{
    struct random r = random_seeded(sizes->seed);
    long heavy = lround(sizes->skewed * nranks);
    int k;

    for (k = 0; k < nranks; k++) {
        weights[k] = 1 + sizes->uneven * (2 * random_next(&r) - 1);
        if (heavy > 0) { /* spread evenly, but not along a plane of the torus */
            int stride = (int) (nranks / heavy);

            weights[k] = k % stride == 7 % stride ? sizes->factor : weights[k];
        }
    }
}

double message_latency(const struct machine *m, const struct message *message)
{
    double sum = 0;
    int d;

    for (d = 0; d < m->torus.ndims; d++) {
        sum += abs(message->hops[d]) * m->hop[d];
    }
    return sum;
}

/*
 * Sizes of messages. All blocks of one sender are alike, and a rank sends in the first round of a
 * ring a part of what it holds that contains as much from each origin as any other part; in later
 * rounds it sends of what came in the round before. So a mean size for what lies at a rank, and one
 * for what came last, are exact.
 */
struct held {
    double mean;    /* of all blocks at the rank */
    double came[2]; /* of those that came in the round before, by lane */
};

/* One tick: from[] is what is held before it, to[] after it. */
static void alltoall_tick(struct traffic *t, const struct gr_sched *base, uint32_t tick,
                          double mean, const struct held *from, struct held *to)
{
    struct gr_sched a = *base;
    int lanes = gr_alltoall_lanes(base), lane, rank;

    for (rank = 0; rank < t->nranks; rank++) {
        t->first[(size_t) tick * (size_t) t->nranks + (size_t) rank] = (uint32_t) t->nmessages;
        to[rank] = from[rank];
        for (lane = 0; lane < lanes; lane++) {
            struct gr_exchange e;
            double blocks, sent, received;

            a.pos = rank;
            e = gr_alltoall_step(&a, lane, tick);
            if (e.to < 0) {
                continue;
            }
            blocks = gr_slots_count(&a, &e.slots);
            sent = 0 == e.round ? from[rank].mean : from[rank].came[lane];
            received = 0 == e.round ? from[e.from].mean : from[e.from].came[lane];
            t->messages[t->nmessages] = (struct message) {
                .from = rank, .to = e.to, .tick = tick, .bytes = blocks * sent * mean};
            t->messages[t->nmessages++].hops[e.dim] = (int16_t) e.hops;
            to[rank].came[lane] = received;
            to[rank].mean += blocks * (received - sent) / t->nranks;
        }
    }
}

int traffic_alltoall(struct traffic *t, enum gr_algo algo, const struct gr_torus *torus,
                     const struct sizes *sizes)
{
    struct gr_sched a = {.algo = algo, .p = gr_torus_size(torus), .torus = *torus};
    size_t p = (size_t) a.p, k;
    struct held *held = calloc(2 * p, sizeof(*held)), *before = held, *after = held + p, *swap;
    double *weights = malloc(p * sizeof(*weights));
    uint32_t tick;

    memset(t, 0, sizeof(*t));
    t->nranks = (int) p;
    t->nticks = gr_alltoall_ticks(&a);
    t->messages =
        malloc((p * t->nticks * (size_t) gr_alltoall_lanes(&a) + 1) * sizeof(*t->messages));
    t->first = malloc((p * t->nticks + 1) * sizeof(*t->first));
    if (NULL == held || NULL == weights || NULL == t->messages || NULL == t->first) {
        free(held);
        free(weights);
        return -1;
    }
    sizes_weights(sizes, t->nranks, weights);
    for (k = 0; k < p; k++) {
        before[k].mean = weights[k];
    }
    for (tick = 0; tick < t->nticks; tick++) {
        alltoall_tick(t, &a, tick, sizes->bytes, before, after);
        swap = before;
        before = after;
        after = swap;
    }
    t->first[p * t->nticks] = (uint32_t) t->nmessages;
    free(held);
    free(weights);
    return 0;
}

void traffic_free(struct traffic *t)
{
    free(t->messages);
    free(t->first);
    memset(t, 0, sizeof(*t));
}
