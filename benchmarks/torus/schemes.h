/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a schedule on a simulated torus under one of three schemes:
 *
 *      1  a sync before every tick              no two ticks overlap
 *      2  a sync at the start only              a rank begins its next tick when what it sends and receives in
 *                                               this one is done: ticks overlap, and share links
 *      3  a sync at the start, then waiting     every rank predicts from sizes and latencies when the slowest
 *                                               message of a tick ends, and begins the next one then
 *
 * The sync unifies the start dimension by dimension: in each of its rings all send a packet to all
 * others; rank i that entered at s_i announces F_i, the latency to its farthest, and is through at
 *
 *      C_i = max( s_i + F_i, max over j of (arrival of j's packet + F_j - L_ji) )
 *
 * which is the same instant at all, where latencies L are known exactly. See docs/timing.md.
 */
#ifndef TORUS_SCHEMES_H
#define TORUS_SCHEMES_H

#include "network.h"

enum scheme { SCHEME_SYNC_EACH = 1, SCHEME_SYNC_START, SCHEME_PREDICTED };

/* How real the machine is. Zero: perfect. */
struct noise {
    double jitter; /* ns, mean of an exponential delay of each rank in each tick */
    /* each rank's estimates of a dimension's latency are wrong by up to this share */
    double latency_error;
    double skew;  /* ns, scheme 3: clocks differ by up to +- this after the start */
    double enter; /* ns, ranks enter the collective within this time */
    double guard; /* ns, scheme 3: added to each prediction */
    int shortest; /* sync packets go both ways around a ring, not one */
    uint32_t seed;
};

/* Says how far a run is: share of the messages that have arrived. */
typedef void progress_fn(void *ctx, enum scheme scheme, double share);

struct outcome {
    double ns;      /* from the first entry to the last arrival */
    double sync_ns; /* of that: until the first rank may send */
    uint64_t conflicts, events;
    double seconds; /* that the simulation took */
};

/* 0, or -1 when memory ran out. progress may be NULL. */
int scheme_run(const struct machine *machine, const struct traffic *traffic,
               const struct model *model, double packet, enum scheme scheme,
               const struct noise *noise, progress_fn *progress, void *progress_ctx,
               struct outcome *outcome);

/*
 * times[rank]: in, when each rank enters a sync; out, when it is through. estimates[rank * ndims +
 * d]: what a rank takes for the latency of a hop, by the true one; NULL: all 1.
 */
void sync_run(const struct machine *machine, const double *estimates, int shortest, double *times);

/*
 * What ranks send in ticks of a schedule, as seen by a prediction: the largest message of each kind
 * of way. Time that the slowest message of a tick takes; estimates[d] as above for one rank, or
 * NULL.
 */
struct predictor;
struct predictor *predictor_make(const struct traffic *traffic);
double predictor_tick(const struct predictor *p, const struct machine *machine, uint32_t tick,
                      const double *estimates);
void predictor_free(struct predictor *p);

#endif
