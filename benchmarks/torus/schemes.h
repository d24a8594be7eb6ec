/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a schedule on a simulated torus under one of three schemes:
 *
 *      1  a sync before every tick            no two ticks overlap
 *      2  a sync at the start only            a rank begins its next tick when it has sent and
 *                                             received all of this one: ticks overlap, share links
 *      3  a sync at the start, then waiting   each rank predicts from sizes and latencies when the
 *                                             slowest message of a tick ends, and begins the next
 *                                             tick then
 *
 * The sync unifies the start dimension by dimension: in each of its rings every rank sends a packet
 * to every other. Rank i, which entered at s_i, announces F_i, the latency to its farthest peer,
 * and ends at
 *
 *      C_i = max( s_i + F_i, max over j of (arrival of j's packet + F_j - L_ji) )
 *
 * which is the same instant at all, where latencies L are known exactly. See docs/timing.md.
 */
#ifndef TORUS_SCHEMES_H
#define TORUS_SCHEMES_H

#include "network.h"

enum scheme { SCHEME_SYNC_EACH = 1, SCHEME_SYNC_START, SCHEME_PREDICTED };

/* Deviations of the machine from a perfect one; 0: none. */
struct noise {
    double jitter;        /* ns, mean of an exponential delay of each rank in each tick */
    double latency_error; /* largest relative error of a rank's estimates of latencies */
    double skew;          /* ns, scheme 3: clocks differ by up to +- this after the start */
    double enter;         /* ns, ranks enter the collective within this time */
    double guard;         /* ns, scheme 3: added to each prediction */
    int shortest;         /* sync packets go both ways around a ring, not one */
    uint32_t seed;
};

/* Called during a run; share: of the messages that have arrived. */
typedef void progress_fn(void *ctx, enum scheme scheme, double share);

struct outcome {
    double ns;      /* from the first entry to the last arrival */
    double sync_ns; /* part of ns: until the first rank may send */
    uint64_t conflicts;
    double seconds; /* wall time of the simulation */
};

/* 0, or -1 when memory ran out. progress may be NULL. */
int scheme_run(const struct machine *machine, const struct traffic *traffic,
               const struct model *model, double packet, enum scheme scheme,
               const struct noise *noise, progress_fn *progress, void *progress_ctx,
               struct outcome *outcome);

/*
 * Runs a sync. times[rank]: the begin, and then the end. estimates[rank * ndims + d]: the rank's
 * estimate of the latency of a hop / the true latency; NULL: all 1.
 */
void sync_run(const struct machine *machine, const double *estimates, int shortest, double *times);

/*
 * Predicts the time of a tick's slowest message, from the largest message of each kind of path.
 * estimates[d]: as above, of one rank; or NULL.
 */
struct predictor;
struct predictor *predictor_make(const struct traffic *traffic);
double predictor_tick(const struct predictor *p, const struct machine *machine, uint32_t tick,
                      const double *estimates);
void predictor_free(struct predictor *p);

#endif
