/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a network: its links by number, and its peers. But for handles, internal to net/.
 */
#ifndef GR_NET_NET_STATE_H
#define GR_NET_NET_STATE_H

#include "base/errors.h"
#include "link/fifo.h"
#include "net/transport.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct gr_net;
struct gr_net_link;

#define GR_NET_ADDRESS_BYTES 2016 /* longest address; makes a handle 2 KiB */
#define GR_NET_NAME_BYTES 128     /* longest name of a peer, with its end */

/* What one end sends to the other. Plain bytes; both machines have the same byte order. */
struct gr_net_handle {
    uint64_t link;       /* number of the end in its process; 0: there is none */
    uint32_t nslots;     /* of the end's FIFO */
    uint32_t slot_bytes; /* of the end's FIFO; the same at both ends */
    uint64_t bytes;      /* length of the address */
    char transport[8];   /* name of the transport */
    unsigned char address[GR_NET_ADDRESS_BYTES]; /* of the process, in the transport */
};

enum gr_net_side {
    GR_NET_OUT, /* this process writes to the FIFO, and the network reads it */
    GR_NET_IN   /* the network writes to the FIFO, and this process reads it */
};

/* ---- state ---- */

/* A process that links lead to. Kept, with its connection, until the network is closed. */
struct gr_net_peer {
    struct gr_net_peer *next;
    void *connection;            /* the transport's; NULL: none */
    struct gr_net_link *last_in; /* incoming link that data came over last, or NULL */
    int status;                  /* 0, or why there is no connection */
    char why[160];               /* the same in words */
    size_t bytes;                /* length of its address */
    unsigned char address[];
};

struct gr_net {
    const struct gr_transport *transport; /* borrowed */
    void *end;                            /* the transport's; owned */
    struct gr_transport_up up;            /* callbacks for the transport */
    atomic_flag busy;                     /* lock of everything below, and of all links */
    struct gr_net_peer *peers;            /* owned */
    struct gr_net_link **links;           /* [lower half of a link's number], or NULL; owned */
    uint32_t nlinks;                      /* size of the table */
    uint32_t nused;                       /* all entries of the table before this one are in use */
    struct gr_net_link *active; /* links that may have something to send, last one first */
    struct gr_doorbells bells;  /* of links; used without the lock */
    uint64_t opened;            /* number of links that were opened */
    uint64_t moved;             /* number of slots sent and received */
    size_t address_bytes;       /* length of the address */
    unsigned char address[GR_NET_ADDRESS_BYTES]; /* of this process */
};

/*
 * The network's state of a link at this end: its FIFO here, and the process at the other end. Its
 * slots are numbered from 0; the FIFO's counters are higher by fifo.count.
 */
struct gr_net_link {
    /*
     * First, so that it leads to the link. Who has pushed to the FIFO, or popped from it, rings
     * (link/fifo.h); otherwise the network does not see it.
     */
    struct gr_doorbell bell;
    struct gr_net *net;
    enum gr_net_side side;
    struct gr_net_link *listed_next; /* the next one in a list of links to look at */
    struct gr_net_link **listed;     /* the pointer to this one there; NULL: in no list */
    uint64_t number;                 /* of this end */
    uint64_t peer_number;            /* of the other end; 0: not joined yet */
    struct gr_net_peer *peer;        /* NULL: not joined yet */
    char name[GR_NET_NAME_BYTES];    /* of the peer, in error messages */
    struct gr_fifo fifo;
    _Atomic int status; /* 0, or why the link has failed; readable without the lock */
    char why[160];      /* the same in words; written before status */
    int closing;        /* this end was closed */
    int left;      /* out: the other end was closed; in: the writer was told that this one was */
    int in_flight; /* messages being sent or received */
    int credit_pending; /* in: the message of credits is being sent */
    uint64_t window;    /* slots of the reader's FIFO */
    uint64_t next;      /* out: first slot that is not sent; in: first slot that is not received */
    uint64_t returned;  /* out: slots that were sent and are free for the writer */
    uint64_t done;      /* bit k: slot returned + k (out) or next + k (in) is complete */
    uint64_t receiving; /* in: bit k: slot next + k is being received */
    uint64_t sideband_next; /* in: the sideband is older than that of this slot */
    uint64_t read;          /* out: slots that have been read; in: what the writer knows of them */
    struct gr_net_message message[]; /* out: [slot]; in: one, for credits */
};

/* Index in the FIFO of a slot number. */
static inline uint32_t gr_net_slot(const struct gr_net_link *l, uint64_t seq)
{
    return (uint32_t) ((l->fifo.count + seq) % l->fifo.nslots);
}

/* Lock the network, to use anything but the status of a link. */
void gr_net_lock(struct gr_net *net);
void gr_net_unlock(struct gr_net *net);

/* The caller of the functions below has locked the network. */

/* Put a new link into the table, and set its number. Returns 0 or GR_ERR_NOMEM. */
int gr_net_number(struct gr_net *net, struct gr_net_link *l);

/*
 * The peer of a handle, connected. Returns 0 or why there is no connection. *peer is set unless
 * there is no memory.
 */
int gr_net_peer(struct gr_net *net, const struct gr_net_handle *handle, struct gr_net_peer **peer);

/* Fail a link, unless it has failed already. */
void gr_net_fail(struct gr_net_link *l, int status, const char *why);

/* Lists of links. A link is in one at most. */
void gr_net_list_insert(struct gr_net_link **at, struct gr_net_link *l);
void gr_net_list_remove(struct gr_net_link *l); /* which need not be in one */

/* Something has changed: look at the link in the next gr_net_progress(). */
void gr_net_wake(struct gr_net_link *l);

/* The same for links whose doorbells were rung. */
void gr_net_take_rung(struct gr_net *net);

/* ---- sending and receiving of one link ---- */

/* Whether a writer has a slot that can be sent now. */
int gr_net_can_send(const struct gr_net_link *l);

/* Send what the link has to send. Frees a link that is closed and needs nothing more. */
void gr_net_link_progress(struct gr_net_link *l);

/* Leave the leases of the link's FIFO and free the link. */
void gr_net_link_free(struct gr_net_link *l);

/* Callbacks of the transport, see struct gr_transport_up; ctx: the network. */
void *gr_net_get_recv_buffer(void *ctx, const struct gr_net_head *head, size_t bytes, int *on_gpu);
void gr_net_recv_done(void *ctx, const struct gr_net_head *head, int status);
void gr_net_on_control(void *ctx, const struct gr_net_head *head);
void gr_net_sent(void *ctx, struct gr_net_message *message, int status);

#endif
