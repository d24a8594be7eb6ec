/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A team: the ranks of one communicator, their orders, and the links and mailboxes between them.
 *
 * These are made when a way (an algorithm, or mailboxes) first needs them, and kept until the team
 * ends. The calls that make them come in the same order on all ranks, so all know alike what was
 * asked for.
 *
 * host_links.h makes them.
 */
#ifndef GR_LINK_TEAM_H
#define GR_LINK_TEAM_H

#include "link/board.h"
#include "link/fifo.h"
#include "link/pool.h"
#include "link/rings.h"
#include "topo/order.h"

/* A mailbox with its boards. */
struct gr_boards {
    struct gr_mailbox box;
    struct gr_slab *board; /* this rank's, or NULL */
    uint64_t *leases;      /* [rank]: of the others' boards */
};

/*
 * Links for small messages, where there are any: calls of up to that many bytes go over them as a
 * whole.
 */
#define GR_SMALL_SLOTS 32
#define GR_SMALL_BYTES 4096

/* Links of one size to and from this rank: [channel * p + rank]. */
struct gr_channel_set {
    uint32_t nchannels, nslots; /* nchannels 0: there are none */
    size_t slot_bytes;
    struct gr_link *in, *out;
    struct gr_slab **slabs; /* of the incoming links */
    struct gr_slab **sent;  /* of the outgoing links to remote ranks */
    uint64_t *leases;       /* of the other outgoing links */
};

struct gr_team {
    int p, rank;
    struct gr_rings rings;
    struct gr_channel_set data; /* of algorithms, */
    /* and of their small messages: many slots, so that writers need be told less often to go on, */
    struct gr_channel_set small;
    /* and of step timing, on one channel, between ranks that differ in one coordinate */
    struct gr_channel_set notes;
    struct gr_boards mail;        /* of small calls, */
    struct gr_boards agreement;   /* and of what calls begin with, where that is needed */
    _Atomic unsigned char *links; /* [way * p + root]: an enum gr_links */
    const int32_t *pids;          /* [rank] */
    /*
     * [rank]: whether it shares no memory with this one; NULL: none is. Where some is there are
     * neither boards nor direct plans, on all ranks alike
     */
    const unsigned char *remote;
    uint64_t turns; /* of its links to a network */
    /* whether direct plans are possible: by the last agreement, the same on all ranks */
    int direct;
};

/* Whether a team has what a way needs (for trees: with that root). */
enum gr_links {
    GR_LINKS_NONE,   /* never asked for */
    GR_LINKS_ASKED,  /* a set-up is under way; up to here the state is the same on all ranks */
    GR_LINKS_THERE,  /* connected */
    GR_LINKS_REFUSED /* a set-up failed on some rank; no other set-up is tried */
};

struct gr_team_params {
    int p, rank;
    uint32_t nchannels, nslots;
    size_t slot_bytes;
    uint32_t nsets;       /* of mailboxes, */
    size_t box_bytes;     /* for messages up to that many bytes */
    size_t record_bytes;  /* the same, of call records; 0: there are none */
    uint32_t small_slots; /* of links for small messages; 0: there are none, */
    size_t small_bytes;
    uint32_t note_slots; /* the same, of links for notes; 0: there are none */
    size_t note_bytes;
    struct gr_torus torus; /* that the ranks form; ndims 0: none is known; then */
    /* [position]: the rank there, in a ring, the same on all ranks; NULL: their own order */
    const int *order;
    const int32_t *pids; /* [rank]: processes; must outlive the team */
    /*
     * [rank]: whether it shares no memory with this one; must outlive the team. NULL: where all do,
     * on all ranks
     */
    const unsigned char *remote;
    int direct; /* whether this rank can read the memory of all of them */
};

/* A team without links; NULL: no memory. */
struct gr_team *gr_team_create(const struct gr_team_params *params);

/*
 * Leave all links and free the team. Sends nothing, waits for nobody. NULL is fine. pool NULL: the
 * pool is closed already, and the links with it.
 */
void gr_team_destroy(struct gr_team *team, struct gr_pool *pool);

/* What the way needs: how far it is, and that a call is under way that asks for it. */
enum gr_links gr_team_links(const struct gr_team *team, int way, int root);
void gr_team_ask(struct gr_team *team, int way, int root);

/* The boards that a way exchanges its messages through; for GR_WAY_MAILBOX and GR_WAY_AGREEMENT. */
struct gr_boards *gr_team_boards(struct gr_team *team, int way);

/* The links that a way goes over; not for those with boards. */
struct gr_channel_set *gr_team_channel_set(struct gr_team *team, int way);

/* The same of an algorithm's calls. */
static inline const struct gr_channel_set *gr_team_links_of(const struct gr_team *team, int small)
{
    return small ? &team->small : &team->data;
}

/* Where that is kept. Only algorithms that are rooted have other links for another root. */
_Atomic unsigned char *gr_team_state(const struct gr_team *team, int way, int root);

#endif
