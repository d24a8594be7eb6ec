/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A team: the ranks of one communicator, their orders, and the links and mailboxes between them.
 *
 * Links are made when a call first needs them (connect.h), and kept until the team ends. The
 * calls that need links come in the same order on all ranks, so all ranks know the same of them.
 *
 * `use` is what links are for: an algorithm, the small messages of one, mailboxes, call records, or
 * notes of step timing (sched/sched.h).
 */
#ifndef GR_LINK_TEAM_H
#define GR_LINK_TEAM_H

#include "link/board.h"
#include "link/fifo.h"
#include "link/pool.h"
#include "link/rings.h"
#include "sched/groups.h"
#include "topo/torus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A mailbox of some ranks of a team, with its boards. */
struct gr_boards {
    struct gr_mailbox box; /* ranks in it are numbers in the group */
    struct gr_group group; /* n 0: this rank is in no such group */
    struct gr_slab *board; /* slab of this rank's board, or NULL */
    uint64_t *leases;      /* [number in the group]: lease numbers of the boards; owned */
};

/* Where a team keeps which boards: those of GR_ALGO_MAILBOX by level (sched/groups.h). */
enum {
    GR_BOARDS_MAILBOX,
    GR_BOARDS_GRID = GR_BOARDS_MAILBOX + GR_GROUP_LEVELS, /* of the row, and of the column */
    GR_BOARDS_AGREEMENT = GR_BOARDS_GRID + 2,
    GR_BOARDS_LEADER,
    GR_NBOARDS
};

#define GR_LEADER_SETS 4    /* sets of a leader's boards */
#define GR_SMALL_SLOTS 32   /* slots of a link for small messages */
#define GR_SMALL_BYTES 4096 /* size of these slots, and of the largest call that uses them */

/*
 * The links of one kind to and from this rank. Arrays are of [channel * p + rank], in one
 * allocation, which the first set-up of such links makes; NULL before. Owned.
 */
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

/*
 * The links of a use, and of a rooted algorithm with one root, by channel: a set-up makes those of
 * the first channels, and a call that uses more channels asks for another set-up.
 */
struct gr_links_state {
    _Atomic unsigned char asked;   /* channels that set-ups were begun for; equal on all ranks */
    _Atomic unsigned char there;   /* channels that are connected */
    _Atomic unsigned char refused; /* 1: the last set-up failed on some rank */
};

struct gr_team {
    int p;    /* ranks */
    int rank; /* this one */
    struct gr_rings rings;
    struct gr_channel_set data; /* links of algorithms */
    /*
     * Links of their small messages. Between nodes: many slots, so few credits. Inside a node, on
     * many ranks: small slots, for algorithms that join all ranks
     */
    struct gr_channel_set small;
    struct gr_channel_set notes; /* links of step timing: one channel, along torus dimensions */
    struct gr_boards boards[GR_NBOARDS];
    /* of calls in groups, as long as a mailbox's largest message. NULL: not needed yet. Owned */
    unsigned char *scratch;
    struct gr_links_state *links; /* [use * p + root]; owned */
    const int32_t *pids;          /* [rank]; borrowed */
    /*
     * [rank]: whether it is on another node; borrowed. NULL: none is. Otherwise there are neither
     * boards nor direct slots. The same on all ranks.
     */
    const unsigned char *remote;
    int direct;  /* direct slots are possible; agreed by all ranks in the last set-up of links */
    bool tested; /* that this rank can read the memory of all others, as `direct` says */
};

/* Whether a team has what a use needs (of a rooted algorithm: with that root). */
enum gr_links {
    GR_LINKS_NONE,   /* never asked for, or for fewer channels */
    GR_LINKS_ASKED,  /* a set-up is in progress; up to here the state is the same on all ranks */
    GR_LINKS_THERE,  /* connected */
    GR_LINKS_REFUSED /* a set-up failed on some rank; none is tried for as many channels */
};

struct gr_team_params {
    int p;    /* ranks */
    int rank; /* this one */
    uint32_t nchannels;
    uint32_t nslots;      /* of a link of algorithms */
    size_t slot_bytes;    /* size of these slots */
    uint32_t nsets;       /* sets of a board: a power of two, at least 2 */
    size_t mailbox_bytes; /* largest message of a mailbox */
    size_t record_bytes;  /* size of a call record; 0: there are none */
    size_t leader_bytes;  /* of a set of a leader's boards (exec/gpu/leader.h); 0: there are none */
    uint32_t small_slots; /* of a link for small messages; 0: there are none */
    size_t small_bytes;   /* size of these slots */
    uint32_t note_slots;  /* of a link for notes; 0: there are none */
    size_t note_bytes;    /* size of these slots */
    struct gr_torus torus; /* of the ranks; ndims 0: none */
    /*
     * Without a torus: [position]: the rank there in a ring, the same on all ranks. NULL: 0, 1, ...
     */
    const int *order;
    const int32_t *pids;         /* [rank]: process ids; must outlive the team */
    const unsigned char *remote; /* see struct gr_team; must outlive the team */
    int direct;                  /* this rank may read the memory of all others */
};

/* Create a team without links. *params is copied. NULL: no memory. */
struct gr_team *gr_team_create(const struct gr_team_params *params);

/*
 * Leave all links and free the team, without communication. pool: where its slabs were leased;
 * NULL: it is closed already. team may be NULL.
 */
void gr_team_destroy(struct gr_team *team, struct gr_pool *pool);

/*
 * Channels that a set-up makes for a call with that many: a power of two where there are so many,
 * so that growing calls need few set-ups. Boards and notes have one.
 */
uint32_t gr_team_channels(const struct gr_team *team, int use, uint32_t nchannels);

/* Whether the team has the links of `use` (of a rooted algorithm: with that root). */
enum gr_links gr_team_links(const struct gr_team *team, int use, int root, uint32_t nchannels);

/* A set-up of these links begins; nchannels: from gr_team_channels(). */
void gr_team_ask(struct gr_team *team, int use, int root, uint32_t nchannels);

/* It has ended; status: 0, or the worst of all ranks. */
void gr_team_settle(struct gr_team *team, int use, int root, uint32_t nchannels, int status);

/* Whether the links of a use are boards. */
static inline int gr_use_has_boards(int use)
{
    return GR_ALGO_MAILBOX == use || GR_ALGO_LEADER == use || GR_USE_GRID == use ||
           GR_USE_AGREEMENT == use;
}

/*
 * The boards of such a use. The first are those of all ranks for GR_USE_AGREEMENT and
 * GR_ALGO_LEADER, and for GR_ALGO_MAILBOX among few. gr_team_nboards(): how many of them this rank
 * has.
 */
struct gr_boards *gr_team_boards(struct gr_team *team, int use);
int gr_team_nboards(struct gr_team *team, int use);

/* The links of any other `use`. */
const struct gr_channel_set *gr_team_channel_set(const struct gr_team *team, int use);

/* The links of a call: for small messages, or not. */
static inline const struct gr_channel_set *gr_team_links_of(const struct gr_team *team, int small)
{
    return small ? &team->small : &team->data;
}

/*
 * What a set-up of links in shared host memory needs, by formula: a function of what all ranks know
 * alike, so that they refuse a set-up that needs too much before they send anything for it.
 */

struct gr_need {
    int links;         /* incoming links of a rank in all channels, at most */
    size_t bytes;      /* of all ranks together over their number, rounded up, at most */
    size_t most_bytes; /* of one rank, at most */
    int messages;      /* that a rank sends, at most */
};

/*
 * The need of a team that has no links yet. use: not mailboxes and call records, which have boards.
 * nchannels: from gr_team_channels().
 */
struct gr_need gr_team_need(const struct gr_team *team, int use, uint32_t nchannels);

#endif
