/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of the network between the ranks of a torus: for each dimension the latency between
 * any two of this rank's ring (or line), and what a byte costs.
 *
 *      ring[d][x * extent + y]    from coordinate x to y of the ring of dimension d that this rank is in: the countdown
 *      all[d][x * extent + y]     the largest of all rings of that dimension, equal at all ranks: the step timer
 *      byte_fs[d]                 femtoseconds per byte, the largest of all
 *
 * A communicator without a torus is one ring of all its ranks. Latencies are those of an empty
 * note, one way: half of the shortest of many round trips. What a path's two ways differ by is
 * split between them, and half of it is an error.
 */
#ifndef GR_TIMING_LATENCY_H
#define GR_TIMING_LATENCY_H

#include "sched/torus.h"

#include <stddef.h>
#include <stdint.h>

struct gr_latency {
    struct gr_torus torus;
    int rank;
    int64_t *ring[GR_MAX_DIMS], *all[GR_MAX_DIMS]; /* ns; owned */
    int64_t byte_fs[GR_MAX_DIMS];
    int common_clock; /* measured: the clocks of all ranks are one */
};

/*
 * A table of zeros. torus: of ndims 0 where there is none, then it is one ring of p ranks. 0, or
 * GR_ERR_NOMEM.
 */
int gr_latency_init(struct gr_latency *l, const struct gr_torus *torus, int p, int rank);
void gr_latency_free(struct gr_latency *l);

/*
 * The rank with coordinate x in this rank's ring of dimension d; and this rank's own coordinate
 * there.
 */
static inline int gr_latency_rank(const struct gr_latency *l, int d, int x)
{
    return gr_torus_at(&l->torus, l->rank, d, x);
}

static inline int gr_latency_place(const struct gr_latency *l, int d)
{
    return gr_torus_coord(&l->torus, l->rank, d);
}

/* From coordinate x to y of this rank's ring, ns; and from x to its farthest: F in countdown.h. */
int64_t gr_latency_between(const struct gr_latency *l, int d, int x, int y);
int64_t gr_latency_far(const struct gr_latency *l, int d, int x);

/* All dimensions' countdowns, one after the other, on the slowest rings; equal at all ranks. */
int64_t gr_latency_sync(const struct gr_latency *l);

/*
 * Predicted time of a message of that many bytes from rank to rank: latencies of all dimensions on
 * its way, ns.
 */
int64_t gr_latency_message(const struct gr_latency *l, int from, int to, size_t bytes);

/*
 * What x knows of its way to y and y of its way to x is one number: the smaller. For all pairs of
 * the ring.
 */
void gr_latency_symmetrise(struct gr_latency *l, int d);

/*
 * From the shortest round trips without pad and with `pad` bytes on the way there, ns: femtoseconds
 * per byte, >= 0.
 */
int64_t gr_latency_byte_fs(int64_t empty, int64_t padded, size_t pad);

#endif
