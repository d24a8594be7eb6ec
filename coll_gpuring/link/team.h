/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A team: the ranks of one communicator, their orders, and the links and mailboxes between them.
 *
 * These are made when a way (an algorithm, or mailboxes) first needs them, and kept until the team
 * ends. The calls that make them come in the same order on all ranks, so all know alike what was
 * asked for.
 *
 * Making them takes an exchange, which is the caller's business (engine/setup.h):
 *
 *      gr_join_begin()   leases slabs: one for each incoming link, offered to its writer; or one for this
 *                        rank's board, offered to everybody
 *      ... offers travel; every rank sends, whatever its status: nobody may wait for one that gave up ...
 *      gr_join_map()     maps the slabs that others offered
 *      ... one verdict: the worst status of all ranks ...
 *      gr_join_end()     takes what was made, or gives everything back
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
    /* whether direct plans are possible: by the last verdict, the same on all ranks */
    int direct;
};

/* What is known of what a way needs (for trees: with that root). */
enum gr_links {
    GR_LINKS_NONE, /* never asked for */
    /* a call that asks for them is under way; this far it is the same on all ranks */
    GR_LINKS_ASKED,
    GR_LINKS_THERE,
    GR_LINKS_REFUSED /* a verdict was against them; it is not asked again */
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

/* One link, or use of a board, that is being made. */
struct gr_connection {
    uint32_t channel;
    int rank;              /* the other end */
    int used;              /* remote: the caller has given the slab to its network */
    struct gr_slab *slab;  /* in, and remote ones: mine */
    void *base;            /* out: theirs, mapped */
    struct gr_offer offer; /* in: to be sent; out: to be received into */
};

struct gr_join {
    struct gr_team *team;
    int way;
    int root, nin, nout;
    /* so many of them, the first, share memory with this rank; the others are remote */
    int near_in, near_out;
    struct gr_connection *in; /* of slabs of mine: incoming links, readers of my board */
    /* of slabs of others: outgoing links, boards that I read; remote: of mine, too */
    struct gr_connection *out;
    int status; /* 0 or the first error of this rank */
};

/*
 * The slab of a remote connection is a FIFO whose other end is the caller's network: one for links
 * in, and for links out, whose bytes in use are in gr_link_valid_bytes(), or lie where
 * gr_link_from() says. When the network has left the slab it says so at the door `writer`. This is
 * what it is to be given; writes: of a link out.
 */
struct gr_fifo gr_connection_fifo(const struct gr_channel_set *set,
                                  const struct gr_connection *connection, int writes);

/* What set-up finds out: a rank's own, then combined over all ranks. */
struct gr_verdict {
    int32_t status; /* the worst: 0, or the lowest error */
    int32_t direct; /* 1 where all can read the memory of all */
};

/*
 * Find the links that are missing and lease slabs for the incoming ones. Returns GR_ERR_NOMEM when
 * not even the lists could be made; otherwise 0, with problems in join->status and offers that say
 * so (pid 0).
 */
int gr_join_begin(struct gr_join *join, struct gr_team *team, struct gr_pool *pool, int way,
                  int root);

/* All offers have been received: map them. Returns this rank's part of the verdict. */
struct gr_verdict gr_join_map(struct gr_join *join, struct gr_pool *pool);

/* What two ranks found out. */
struct gr_verdict gr_verdict_combine(struct gr_verdict a, struct gr_verdict b);

/*
 * Status 0: take what was made. Otherwise give the leases back. Frees the lists; the join is over.
 */
void gr_join_end(struct gr_join *join, struct gr_pool *pool, struct gr_verdict verdict);

#endif
