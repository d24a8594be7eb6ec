/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A team: the ranks of one communicator, their orders and the links between them.
 *
 * Links are made when an algorithm first needs them, and kept until the team ends. Which links exist is the
 * same knowledge at both ends, because the calls that make them come in the same order on all ranks.
 *
 * Making links takes an exchange, which is the caller's business (the glue's set-up state machine):
 *
 *      gr_join_begin()   leases frames for the incoming links: one offer for each, to be sent to its writer
 *      ... offers travel; every rank sends, whatever its status: nobody may wait for one that gave up ...
 *      gr_join_map()     maps the frames that others offered
 *      ... one verdict: the worst status of all ranks ...
 *      gr_join_end()     takes the links, or gives everything back
 */
#ifndef GR_EXEC_TEAM_H
#define GR_EXEC_TEAM_H

#include "../topo/order.h"
#include "host.h"
#include "pool.h"

struct gr_team {
    int p, rank;
    uint32_t nchannels, nslots;
    size_t slot_bytes;
    int *order[2], *where[2]; /* rings forward and backward; channel c takes number c % 2 */
    struct gr_link *in, *out; /* [channel * p + rank] */
    struct gr_frame **frames; /* [channel * p + rank]: of the incoming links */
    uint64_t *leases;         /* [channel * p + rank]: of the outgoing links */
    unsigned char *links;     /* [algo * p + root]: an enum gr_links */
    int poisoned;             /* negative error of the call that broke it, or 0 */
};

/* What is known of the links of an algorithm (for trees: with that root); the same on all ranks. */
enum gr_links {
    GR_LINKS_NONE,   /* never asked for */
    GR_LINKS_THERE,
    GR_LINKS_REFUSED /* a verdict was against them; it is not asked again */
};

struct gr_team_params {
    int p, rank;
    uint32_t nchannels, nslots;
    size_t slot_bytes;
    struct gr_torus torus;
};

/* A team without links; NULL: no memory. */
struct gr_team *gr_team_create(const struct gr_team_params *params);

/*
 * Leave all links and free the team. Sends nothing, waits for nobody. NULL is fine. pool NULL: the pool is
 * closed already, and the links with it.
 */
void gr_team_destroy(struct gr_team *team, struct gr_pool *pool);

/* The links that algo needs. */
enum gr_links gr_team_links(const struct gr_team *team, enum gr_algo algo, int root);

/* One link that is being made. */
struct gr_wire {
    uint32_t channel;
    int rank;                      /* the other end */
    struct gr_frame *frame;        /* incoming: mine */
    struct gr_link_shared *shared; /* outgoing: theirs, mapped */
    struct gr_offer offer;         /* incoming: to be sent; outgoing: to be received into */
};

struct gr_join {
    struct gr_team *team;
    enum gr_algo algo;
    int root, nin, nout;
    struct gr_wire *in, *out;
    int status; /* 0 or the first error of this rank */
};

/*
 * Find the links that are missing and lease frames for the incoming ones. Returns GR_ERR_NOMEM when not even
 * the lists could be made; otherwise 0, with problems in join->status and offers that say so (pid 0).
 */
int gr_join_begin(struct gr_join *join, struct gr_team *team, struct gr_pool *pool, enum gr_algo algo, int root);

/* All offers have been received: map them. Returns join->status. */
int gr_join_map(struct gr_join *join, struct gr_pool *pool);

/* verdict 0: take the links. Otherwise give the leases back. Frees the lists; the join is over. */
void gr_join_end(struct gr_join *join, struct gr_pool *pool, int verdict);

#endif
