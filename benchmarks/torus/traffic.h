/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The input of the torus simulator: a machine, and the messages of a schedule, tick by tick.
 * Times are nanoseconds, sizes bytes, so that a bandwidth in GB/s is one in bytes per nanosecond.
 */
#ifndef TORUS_TRAFFIC_H
#define TORUS_TRAFFIC_H

#include "sched/alltoall.h"

#include <stddef.h>
#include <stdint.h>

struct machine {
    struct gr_torus torus;
    double hop[GR_MAX_DIMS]; /* ns from neighbour to neighbour, by dimension */
    double bandwidth;        /* GB/s of a link, each way */
};

/* A message takes its hops of dimension 0 first, then those of 1, ...; upwards where positive. */
struct message {
    int32_t from, to;
    uint32_t tick;
    int16_t hops[GR_MAX_DIMS];
    int32_t channel; /* of its schedule; an Alltoall has one */
    double bytes;
};

/* All messages, sorted by tick, then by sender. */
struct traffic {
    int nranks;
    uint32_t nticks;
    struct message *messages;
    /* [nticks * nranks + 1]: of (tick, sender); the next entry is behind the last */
    uint32_t *first;
    size_t nmessages;
};

/* Bytes that a rank sends to each other one: the mean times its weight. */
struct sizes {
    double bytes;  /* the mean, per pair */
    double uneven; /* weights are uniform in 1 +- this, below 1 */
    double skewed; /* share of the ranks whose weight is `factor` instead */
    double factor; /* the weight of skewed ranks */
    uint32_t seed;
};

/* Fill weights[nranks]. The same seed gives the same weights. */
void sizes_weights(const struct sizes *sizes, int nranks, double *weights);

/*
 * The messages of an Alltoall (sched/alltoall.h). Blocks of one sender are equally long,
 * weight[rank] times sizes->bytes. 0, or -1 when memory ran out. traffic_free() releases the
 * arrays, also after a failure.
 */
int traffic_alltoall(struct traffic *t, enum gr_algo algo, const struct gr_torus *torus,
                     const struct sizes *sizes);
void traffic_free(struct traffic *t);

/*
 * The latency of a message's path without contention, from its first bit's sending to its arrival.
 */
double message_latency(const struct machine *m, const struct message *message);

/* Uniform in [0, 1): the same sequence for the same seed on any machine. */
struct random {
    unsigned short state[3];
};
struct random random_seeded(uint32_t seed);
double random_next(struct random *r);

#endif
