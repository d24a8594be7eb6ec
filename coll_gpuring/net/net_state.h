/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network from the inside: net_state.c (numbers of links, peers), used by link.c (what links
 * do), used by net.c.
 */
#ifndef GR_NET_NET_STATE_H
#define GR_NET_NET_STATE_H

#include "net/net.h"
#include "net/transport.h"

/* A process that links lead to. Kept, with its connection, until the network ends. */
struct gr_net_peer {
    struct gr_net_peer *next;
    void *connection;
    struct gr_net_link *heard; /* in: on which data came last, or NULL */
    int status;                /* 0, or why there is no connection (any more), */
    char why[160];             /* in words */
    size_t bytes;              /* of its address */
    unsigned char address[];
};

struct gr_net {
    const struct gr_transport *transport;
    void *end; /* the transport's */
    struct gr_transport_up up;
    /* some thread has it; held for all but the reading of a link's status */
    atomic_flag busy;
    struct gr_net_peer *peers;
    struct gr_net_link **places; /* by the lower half of a link's number */
    uint32_t nplaces;
    uint64_t opened; /* links, ever */
    uint64_t moved;  /* slots, ever */
    size_t address_bytes;
    unsigned char address[GR_NET_ADDRESS_BYTES];
};

/* Slots are numbered from 0, the first of the link; the FIFO's counters by more, fifo.count. */
struct gr_net_link {
    struct gr_net *net;
    enum gr_net_side side;
    uint64_t number, theirs; /* of this end, and of the other; 0: not joined yet */
    struct gr_net_peer *peer;
    char name[GR_NET_NAME_BYTES]; /* of the peer, as this link's owner calls it */
    struct gr_fifo fifo;
    _Atomic int status;
    char why[160];
    int closing;     /* this end was closed, */
    int gone;        /* out: or the other was; in: which the other was told */
    int under_way;   /* messages that are being sent, or received, */
    int telling;     /* in: the one of credits among them */
    uint64_t window; /* slots of the reader */
    /* out: slots that were handed to the transport; in: that came in order */
    uint64_t next;
    /* out: slots that have been sent, and were given back to the writer */
    uint64_t given;
    /* bit k: out: slot given + k has been sent; in: slot next + k is there */
    uint64_t through;
    uint64_t coming; /* in: bit k: slot next + k is being received */
    uint64_t said;   /* in: slots of which the newest has brought its words */
    /* out: that the reader is through with; in: of which the writer was told */
    uint64_t read;
    struct gr_net_message message[]; /* out: of each slot; in: one, of credits */
};

/* Which of its end's slots that is. */
static inline uint32_t gr_net_slot(const struct gr_net_link *l, uint64_t seq)
{
    return (uint32_t) ((l->fifo.count + seq) % l->fifo.nslots);
}

void gr_net_lock(struct gr_net *net);
void gr_net_unlock(struct gr_net *net);

/* All below: the caller has the network. */

/* The link of that number; NULL: there is none (any more). */
struct gr_net_link *gr_net_find(const struct gr_net *net, uint64_t number);

/* Give a new link its number. 0 or GR_ERR_NOMEM. */
int gr_net_number(struct gr_net *net, struct gr_net_link *l);

/* The peer of the handle, connected. 0 or why it is not. *peer is set unless there is no memory. */
int gr_net_peer(struct gr_net *net, const struct gr_net_handle *handle, struct gr_net_peer **peer);

/* The link's first failure. */
void gr_net_fail(struct gr_net_link *l, int status, const char *why);

/* Whether a writer's link has a slot that can be sent now; and its turn among these. */
int gr_net_sends(const struct gr_net_link *l);

static inline uint64_t gr_net_turn(const struct gr_net_link *l)
{
    return NULL == l->fifo.turn ? 0 : atomic_load_explicit(l->fifo.turn, memory_order_relaxed);
}

/* Do what can be done for a link; it may end. */
void gr_net_go_on(struct gr_net_link *l);

/* Leave its FIFO and free it. */
void gr_net_leave(struct gr_net_link *l);

/* For the transport. */
void *gr_net_get_recv_buffer(void *ctx, const struct gr_net_head *head, size_t bytes, int *on_gpu);
void gr_net_recv_done(void *ctx, const struct gr_net_head *head, int status);
void gr_net_on_control(void *ctx, const struct gr_net_head *head);
void gr_net_sent(void *ctx, struct gr_net_message *message, int status);

#endif
