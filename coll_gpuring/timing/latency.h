/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of the network between the ranks of a torus: latencies and bandwidth in each dimension. A
 * communicator without a torus counts as one ring of all its ranks.
 *
 * A latency is the one-way time of an empty note: half of the shortest of many round trips. If the
 * two directions differ, each latency has an error of half the difference.
 */
#ifndef GR_TIMING_LATENCY_H
#define GR_TIMING_LATENCY_H

#include "sched/sched.h"

#include <stddef.h>
#include <stdint.h>

/* The model. measure.h fills it in. */
struct gr_latency {
    struct gr_torus torus;
    int rank; /* this rank */

    /*
     * ring[d][x * extent + y]: latency from coordinate x to y in this rank's ring of dimension d,
     * ns. The countdown uses it. Owned.
     */
    int64_t *ring[GR_MAX_DIMS];

    /*
     * all[d][x * extent + y]: the largest ring[d][x * extent + y] of all rings of dimension d, ns.
     * Equal on all ranks; the step timer uses it. Owned.
     */
    int64_t *all[GR_MAX_DIMS];

    int64_t byte_fs[GR_MAX_DIMS]; /* time per byte, the largest of all rings, fs */
    int common_clock;             /* measured: all ranks share one clock */
};

/*
 * Initialise a model of zeros. torus: ndims 0 stands for a ring of p ranks. Returns 0 or
 * GR_ERR_NOMEM.
 */
int gr_latency_init(struct gr_latency *l, const struct gr_torus *torus, int p, int rank);
void gr_latency_free(struct gr_latency *l);

/* The rank with coordinate x in this rank's ring of dimension d. */
static inline int gr_latency_rank(const struct gr_latency *l, int d, int x)
{
    return gr_torus_at(&l->torus, l->rank, d, x);
}

/* This rank's coordinate in dimension d. */
static inline int gr_latency_coord(const struct gr_latency *l, int d)
{
    return gr_torus_coord(&l->torus, l->rank, d);
}

/* Latency from coordinate x to y in this rank's ring of dimension d, ns. */
int64_t gr_latency_between(const struct gr_latency *l, int d, int x, int y);

/* Largest latency from coordinate x in this rank's ring of dimension d, ns: F in countdown.h. */
int64_t gr_latency_farthest(const struct gr_latency *l, int d, int x);

/* Duration of a countdown over all dimensions on the slowest rings, ns. Equal on all ranks. */
int64_t gr_latency_sync(const struct gr_latency *l);

/*
 * Predicted time of a message between two ranks, ns: the latencies of all dimensions of its route,
 * and the bytes at the slowest dimension's rate. from == to: what a rank does by itself, the bytes
 * at the costliest dimension's rate.
 */
int64_t gr_latency_message(const struct gr_latency *l, int from, int to, size_t bytes);

/* Make ring[d] symmetric: for each pair the smaller of the two latencies. */
void gr_latency_symmetrise(struct gr_latency *l, int d);

/*
 * Time per byte, fs, >= 0. empty: shortest round trip, ns. padded: shortest round trip with `pad`
 * bytes in the ping, ns.
 */
int64_t gr_latency_byte_fs(int64_t empty, int64_t padded, size_t pad);

#endif
