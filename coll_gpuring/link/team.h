/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A team: the ranks of one communicator, their orders, and the links and mailboxes between them.
 *
 * Links are made when a call first needs them (host_links.h), and kept until the team ends. The
 * calls that need links come in the same order on all ranks, so all ranks know the same of them.
 *
 * `way` is what links are for: an algorithm, the small messages of one, mailboxes, call records, or
 * notes of step timing (sched/sched.h).
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
    struct gr_slab *board; /* slab of this rank's board, or NULL */
    uint64_t *leases;      /* [rank]: lease numbers of the boards; owned */
};

#define GR_SMALL_SLOTS 32   /* slots of a link for small messages */
#define GR_SMALL_BYTES 4096 /* size of these slots, and of the largest call that uses them */

/* The links of one kind to and from this rank. Arrays are owned, of [channel * p + rank]. */
struct gr_channel_set {
    uint32_t nchannels;     /* 0: there are no links of this kind */
    uint32_t nslots;        /* of each link */
    size_t slot_bytes;      /* size of a slot */
    struct gr_link *in;     /* this rank reads */
    struct gr_link *out;    /* this rank writes */
    struct gr_slab **slabs; /* of incoming links */
    struct gr_slab **sent;  /* of outgoing inter-node links; otherwise NULL */
    uint64_t *leases;       /* lease numbers of the other outgoing links */
};

struct gr_team {
    int p;    /* ranks */
    int rank; /* this one */
    struct gr_rings rings;
    struct gr_channel_set data;   /* links of algorithms */
    struct gr_channel_set small;  /* links of their small messages: many slots, so few credits */
    struct gr_channel_set notes;  /* links of step timing: one channel, along torus dimensions */
    struct gr_boards mailbox;     /* of small calls */
    struct gr_boards agreement;   /* of call records */
    _Atomic unsigned char *links; /* [way * p + root]: an enum gr_links; owned */
    const int32_t *pids;          /* [rank]; borrowed */
    /*
     * [rank]: whether it is on another node; borrowed. NULL: none is. Otherwise there are neither
     * boards nor direct slots. The same on all ranks.
     */
    const unsigned char *remote;
    int direct; /* direct slots are possible; agreed by all ranks in the last set-up */
};

/* Whether a team has what a way needs (of a rooted algorithm: with that root). */
enum gr_links {
    GR_LINKS_NONE,   /* never asked for */
    GR_LINKS_ASKED,  /* a set-up is in progress; up to here the state is the same on all ranks */
    GR_LINKS_THERE,  /* connected */
    GR_LINKS_REFUSED /* a set-up failed on some rank; no other set-up is tried */
};

struct gr_team_params {
    int p;    /* ranks */
    int rank; /* this one */
    uint32_t nchannels;
    uint32_t nslots;       /* of a link of algorithms */
    size_t slot_bytes;     /* size of these slots */
    uint32_t nsets;        /* sets of a board: a power of two, at least 2 */
    size_t mailbox_bytes;  /* largest message of a mailbox */
    size_t record_bytes;   /* size of a call record; 0: there are none */
    uint32_t small_slots;  /* of a link for small messages; 0: there are none */
    size_t small_bytes;    /* size of these slots */
    uint32_t note_slots;   /* of a link for notes; 0: there are none */
    size_t note_bytes;     /* size of these slots */
    struct gr_torus torus; /* of the ranks; ndims 0: none */
    /*
     * Without a torus: [position]: the rank there in a ring, the same on all ranks. NULL: 0, 1, ...
     */
    const int *order;
    const int32_t *pids;         /* [rank]: process ids; must outlive the team */
    const unsigned char *remote; /* see struct gr_team; must outlive the team */
    int direct;                  /* this rank can read the memory of all others */
};

/* Create a team without links. *params is copied. NULL: no memory. */
struct gr_team *gr_team_create(const struct gr_team_params *params);

/*
 * Leave all links and free the team, without communication. pool: where its slabs were leased;
 * NULL: it is closed already. team may be NULL.
 */
void gr_team_destroy(struct gr_team *team, struct gr_pool *pool);

/* Whether the team has the links of `way` (of a rooted algorithm: with that root); where it is. */
enum gr_links gr_team_links(const struct gr_team *team, int way, int root);
_Atomic unsigned char *gr_team_state(const struct gr_team *team, int way, int root);

/* A set-up of these links begins. */
void gr_team_ask(struct gr_team *team, int way, int root);

/* The boards of GR_WAY_MAILBOX or GR_WAY_AGREEMENT. */
struct gr_boards *gr_team_boards(struct gr_team *team, int way);

/* The links of any other `way`. */
struct gr_channel_set *gr_team_channel_set(struct gr_team *team, int way);

/* The links of a call: for small messages, or not. */
static inline const struct gr_channel_set *gr_team_links_of(const struct gr_team *team, int small)
{
    return small ? &team->small : &team->data;
}

#endif
