/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rings of a team, and the peers of a rank in an algorithm: the same for links in host memory
 * and between devices.
 */
#ifndef GR_LINK_RINGS_H
#define GR_LINK_RINGS_H

#include "sched/sched.h"

#include <stddef.h>
#include <stdint.h>

/* Two rings over p ranks, forward and backward. Channel c uses ring c % 2. */
struct gr_rings {
    int *order[2];         /* [position]: rank; owned, one allocation with where */
    int *where[2];         /* [rank]: position */
    struct gr_torus torus; /* of the ranks; ndims 0: none */
};

/*
 * Allocate rings of p ranks; *rings is zero. The caller fills both orders and calls
 * gr_rings_invert(). Returns 0 or GR_ERR_NOMEM; gr_rings_free() frees the rings in either case.
 */
int gr_rings_init(struct gr_rings *rings, int p);

/* Fill where[] from order[]. */
void gr_rings_invert(struct gr_rings *rings, int p);

/* Fill the rings from a forward order; position 0 is the same in both. order: [position]: rank. */
void gr_rings_fill(struct gr_rings *rings, int p, const int *order);

void gr_rings_free(struct gr_rings *rings);

/*
 * The variant of a torus schedule (sched/torus.h) that a channel uses. In a nested torus all
 * channels start with the same dimension, up or down: messages of its links are not cut again for
 * the next.
 */
static inline int gr_rings_lane(const struct gr_torus *torus, uint32_t channel)
{
    return (int) (torus->nested > 0 ? 2 * ((uint32_t) torus->nested - 1) + channel % 2 : channel);
}

/* The rank at the other end of a link that an algorithm needs, and the channel. */
struct gr_neighbour {
    uint32_t channel;
    int rank;
};

/* The other ends of a rank's links. */
struct gr_neighbours {
    struct gr_neighbour *in;  /* that it receives from */
    struct gr_neighbour *out; /* that it sends to */
    int nin, nout;            /* their numbers */
};

/*
 * The neighbours of a rank in an algorithm, by channel. root: for algorithms with a root. Returns
 * 0, or GR_ERR_NOMEM with nothing to free.
 */
int gr_rings_neighbours(const struct gr_rings *rings, int p, int rank, uint32_t nchannels,
                        enum gr_algo algo, int root, struct gr_neighbours *n);

/*
 * All ranks that differ from this one in one coordinate of the torus, or, without a torus, all
 * other ranks; on channel 0. Returns as gr_rings_neighbours().
 */
int gr_rings_lines(const struct gr_rings *rings, int p, int rank, struct gr_neighbours *n);

/* Arrays for `most` neighbours in each direction, none at first. Returns 0 or GR_ERR_NOMEM. */
int gr_neighbours_alloc(struct gr_neighbours *n, size_t most);
void gr_neighbours_free(struct gr_neighbours *n);

#endif
