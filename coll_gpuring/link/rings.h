/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rings of a team, and with whom an algorithm links a rank: the same for links in host and in
 * device memory.
 */
#ifndef GR_LINK_RINGS_H
#define GR_LINK_RINGS_H

#include "sched/sched.h"

#include <stddef.h>
#include <stdint.h>

/* Two rings over p ranks, forward and backward; channel c takes number c % 2. */
struct gr_rings {
    int *order[2]; /* [position] = rank */
    int *where[2]; /* [rank] = position */
    /* that the ranks form, for algorithms along it; ndims 0: none is known */
    struct gr_torus torus;
};

/*
 * Room for p ranks: both orders to be filled, then gr_rings_invert(). 0 or GR_ERR_NOMEM; to be
 * freed either way.
 */
int gr_rings_init(struct gr_rings *rings, int p);

/* The orders are there: fill where. */
void gr_rings_invert(struct gr_rings *rings, int p);

void gr_rings_free(struct gr_rings *rings);

/*
 * Which of the ways through a torus (sched/torus.h) a channel takes. Where it is nested all
 * channels take that dimension first, up or down: what is cut there need not go over the links of
 * the next.
 */
static inline int gr_rings_lane(const struct gr_torus *torus, uint32_t channel)
{
    return (int) (torus->nested > 0 ? 2 * ((uint32_t) torus->nested - 1) + channel % 2 : channel);
}

/* The other end of a link. */
struct gr_neighbour {
    uint32_t channel;
    int rank;
};

struct gr_neighbours {
    struct gr_neighbour *in, *out; /* those to hear from, those to send to */
    int nin, nout;
};

/*
 * All neighbours of a rank in an algorithm (where that is rooted: with that root), by channel. 0 or
 * GR_ERR_NOMEM, with nothing to free.
 */
int gr_rings_neighbours(const struct gr_rings *rings, int p, int rank, uint32_t nchannels,
                        enum gr_algo algo, int root, struct gr_neighbours *n);

/*
 * The same of links between all ranks that differ in one coordinate of the torus, or in any where
 * there is none: channel 0.
 */
int gr_rings_lines(const struct gr_rings *rings, int p, int rank, struct gr_neighbours *n);

void gr_neighbours_free(struct gr_neighbours *n);

#endif
