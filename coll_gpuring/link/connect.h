/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting: makes the links that an algorithm needs and a team does not have yet, for every kind
 * of memory that links lie in. The caller exchanges the messages (exec/setup.h).
 *
 *      gr_join_begin()   finds the missing links, and reserves slabs: the reader's, whose handle
 *                        goes to the writer
 *      ... handles travel; every rank sends them, also one that has failed ...
 *      gr_join_reply()   device memory only: the writer maps the slab, reserves one of its own, and
 *                        replies with that one's handle
 *      ... replies travel ...
 *      gr_join_map()     maps the slabs of the last handles received
 *      ... all ranks agree: gr_join_agreement_combine() ...
 *      gr_join_end()     status 0: the team takes the links; otherwise all slabs are released
 *
 * A link to a rank on another node has a slab at both ends, and the network (net/net.h) copies from
 * one to the other.
 */
#ifndef GR_LINK_CONNECT_H
#define GR_LINK_CONNECT_H

#include "link/fifo.h"
#include "link/pool.h"
#include "link/rings.h"
#include "link/team.h"

struct gr_gpu_connection;
struct gr_gpu_team;
struct gr_host_connection;
struct gr_join;

/*
 * What a set-up knows of one link at this end; with its slab and handles, the connection of a kind
 * of links. Its first member.
 */
struct gr_connection {
    uint32_t channel;
    int rank; /* at the other end */
    /* inter-node: of the network that the caller has given the slab to; NULL: to none. Borrowed */
    struct gr_doorbell *bell;
};

/* Agreement of a set-up: what all ranks have agreed on at its end. */
struct gr_join_agreement {
    struct {
        int32_t status; /* 0, or the lowest error of all ranks */
        int32_t direct; /* 1: every rank can read the memory of every other */
    } host;
    struct {
        int32_t status;    /* as above */
        int32_t unmapped;  /* lowest rank that cannot map a peer's device memory; INT32_MAX: none */
        uint32_t channels; /* the fewest that a rank's device can keep resident */
    } gpu;
};

/* One kind of links: the memory that they lie in, and how a team keeps them. */
struct gr_link_memory {
    const char *name;       /* for messages: "links" or "mailboxes" */
    size_t connection_size; /* bytes of the kind's connection */
    size_t handle_at;       /* offset of the reader's handle in the connection */
    size_t reply_at;        /* offset of the writer's handle */
    size_t handle_size;     /* bytes of each handle; it begins with a struct gr_slab_handle */
    /* The peers of this rank. 0, or GR_ERR_NOMEM with nothing to free. */
    int (*peers)(const struct gr_join *join, struct gr_neighbours *n);
    /* Whether the team has that link already. NULL: it has none. */
    int (*has)(const struct gr_join *join, int writes, const struct gr_connection *c);
    /* Lease slabs and write their handles. 0 or an error, with leased slabs in the connections. */
    int (*reserve)(struct gr_join *join);
    /* Writer: map the reader's slab, lease one, and write the reply. NULL: no replies. */
    int (*reply)(struct gr_join *join, struct gr_connection *c);
    /* Map the slab of the reply, or, without replies, that of the reader. 0 or an error. */
    int (*map)(struct gr_join *join, struct gr_connection *c);
    /* Show kernels the links, and write this rank's part of the agreement. Returns the status. */
    int (*finish)(struct gr_join *join, struct gr_join_agreement *a);
    /* Status 0: the team takes the connections. Either way it takes over what was agreed on. */
    void (*take)(struct gr_join *join, int status, const struct gr_join_agreement *a);
    /* Release this rank's slabs of a connection that is not made. */
    void (*release)(struct gr_join *join, struct gr_connection *c);
    /* The FIFO of an inter-node connection, for the network. NULL: there are none. */
    struct gr_fifo (*fifo)(const struct gr_join *join, const struct gr_connection *c, int writes);
    /* Bytes of shared host memory that this rank needs for the join. */
    size_t (*host_bytes)(const struct gr_join *join);
};

/* The connections of one direction; those inside the node come first. */
struct gr_connections {
    union {
        unsigned char *base;
        struct gr_host_connection *host;
        struct gr_gpu_connection *gpu;
    };
    int n;    /* all */
    int near; /* inside the node */
};

/* Why a rank cannot map another one's device memory. */
enum gr_unmapped {
    GR_UNMAPPED_NO_HANDLE, /* the owner's driver gives no IPC handle */
    GR_UNMAPPED_UNSEEN,    /* this process does not see the owner's device */
    GR_UNMAPPED_REFUSED    /* this process sees the device, and the driver refuses */
};

/* A set-up in the view of one rank. */
struct gr_join {
    const struct gr_link_memory *memory;
    struct gr_team *team;        /* whose host links are made; or NULL */
    struct gr_gpu_team *gpu;     /* whose device links are made; or NULL */
    struct gr_pool *pool;        /* host links: where slabs are leased. Borrowed */
    int p;                       /* ranks of the team */
    uint32_t nchannels;          /* of the links */
    const unsigned char *remote; /* [rank]: whether it is on another node; NULL: none is */
    int use;                     /* enum gr_algo or GR_USE_...: what the links are for */
    int root;                    /* for algorithms whose links depend on it */
    struct gr_connections in;    /* this rank reads */
    struct gr_connections out;   /* this rank writes */
    int status;                  /* 0, or this rank's first error */
    int unmapped;                /* device links: first rank whose memory cannot be mapped; or -1 */
    enum gr_unmapped cause;      /* why it cannot */
    char why[160];               /* the driver's words */
};

/*
 * Begin a set-up. The caller has set the join's members up to `root`, and its status: why this rank
 * cannot take part, or 0. Errors of this rank go to join->status, and its handles then are zero.
 * Returns 0, or GR_ERR_NOMEM: there is no join.
 */
int gr_join_begin(struct gr_join *join);

/* All readers' handles have been received: map them, and write replies. */
void gr_join_reply(struct gr_join *join);

/* All handles have been received: map the rest. Returns this rank's status, and writes to *a. */
int gr_join_map(struct gr_join *join, struct gr_join_agreement *a);

/* What two ranks agree on: the worst of both. */
struct gr_join_agreement gr_join_agreement_combine(struct gr_join_agreement a,
                                                   struct gr_join_agreement b);

/*
 * End the set-up; status: the worst of all ranks, a: what they agreed on. Frees the connections.
 * Cannot fail: after status 0 the other ranks use the links.
 */
void gr_join_end(struct gr_join *join, int status, const struct gr_join_agreement *a);

/* Connection k. */
static inline struct gr_connection *gr_connection_at(const struct gr_join *join,
                                                     const struct gr_connections *side, int k)
{
    return (struct gr_connection *) (void *) (side->base +
                                              (size_t) k * join->memory->connection_size);
}

/* ---- links and mailbox boards in shared host memory: host_links.c ---- */

/*
 * Connection of a link in host memory, until its gr_link exists; or of this rank's use of a peer's
 * board, or a peer's of its own.
 */
struct gr_host_connection {
    struct gr_connection end;
    struct gr_slab *slab; /* this rank's: incoming links, inter-node links, this rank's board */
    void *base;           /* the peer's slab, mapped: outgoing links, boards that are read */
    struct gr_slab_handle handle; /* of the slab: sent by its owner (in), received (out) */
};

extern const struct gr_link_memory gr_host_links;  /* slots in the reader's slab */
extern const struct gr_link_memory gr_host_boards; /* one slab per rank, which all others map */

/*
 * Begin a set-up of what `use` needs: links of the first nchannels channels, from
 * gr_team_channels(), or the boards of a use that has some. Slabs are leased from the pool, which
 * must outlive the team. 0, or GR_ERR_NOMEM: there is no join.
 */
int gr_team_join(struct gr_join *join, struct gr_team *team, struct gr_pool *pool, int use,
                 int root, uint32_t nchannels);

#endif
