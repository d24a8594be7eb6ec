/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links between processes that share no memory.
 *
 * Each end has a FIFO of slots in its own memory (struct gr_fifo, link/fifo.h) whose other end is
 * the network:
 *
 *      writer --> [slot][slot] --> gr_net_progress() ~~~ data ~~~>
 *                  its FIFO                         <~~ credits ~~
 *
 *                             ~~~ data ~~~> gr_net_progress() --> [slot][slot] --> reader
 *                            <~~ credits ~~                        its FIFO
 *
 * What is pushed into the writer's FIFO comes out of the reader's, in order. So executors, and
 * kernels, who know links, need not know networks. A slot is sent from where it lies, or from where
 * its data lie (gr_fifo.from), when the reader has room for it: credits say how far the reader has
 * read, and travel with what goes the other way, or by themselves. Nothing is queued but what lies
 * in these slots: a link has at most as many messages under way as slots, and no more that carry
 * credits.
 *
 * To make a link, each end opens its own, and tells the other what gr_net_link_export() says, by
 * means of the caller's. Connections are made when a link first needs them, one per peer, and kept.
 *
 * Nothing here waits. Data move in gr_net_progress() only, at both ends. Thread-safe: a thread that
 * finds another in gr_net_progress() leaves it to that.
 *
 * Errors are a link's: a connection that breaks fails all links to that peer and no others. A
 * failed link moves nothing any more; whoever waits for it must look at gr_net_link_status().
 */
#ifndef GR_NET_NET_H
#define GR_NET_NET_H

#include "base/errors.h"
#include "link/fifo.h"

#include <stddef.h>
#include <stdint.h>

struct gr_net;
struct gr_net_link;
struct gr_transport;

#define GR_NET_ADDRESS_BYTES 2016 /* most that an address has; so that a handle has 2 KiB */
#define GR_NET_NAME_BYTES 128

/*
 * What one end of a link tells the other; plain bytes, of the same meaning on machines of one kind.
 */
struct gr_net_handle {
    uint64_t link; /* the end's number in its process; 0: no handle */
    uint32_t nslots, slot_bytes;
    uint64_t bytes;    /* of the address, */
    char transport[8]; /* and what it is one of */
    unsigned char address[GR_NET_ADDRESS_BYTES];
};

enum gr_net_side {
    GR_NET_OUT, /* this process writes to the FIFO and the network reads it; */
    GR_NET_IN   /* or the other way round */
};

/*
 * The transport over UCX: from a module of its own (load.c), so that all but this works on a node
 * without UCX. dir: where the module lies; NULL: beside the library, or program, that this is in.
 * NULL: there is none, and why.
 */
const struct gr_transport *gr_net_load(const char *dir, char *why, size_t size);

/*
 * A network of this process: over one device (a rail: rails.h), or, with NULL, over what the
 * transport likes. 0; GR_ERR_NOMEM, or GR_ERR_NET and why.
 */
int gr_net_open(struct gr_net **net, const struct gr_transport *transport, const char *device,
                char *why, size_t size);

/*
 * Leave all FIFOs, and end. Links that were closed have up to `patience` seconds to send what is in
 * them. What is on its way to this process is lost, and what peers have not taken yet may be, so
 * whoever is not alone agrees with the others first. NULL is fine.
 */
void gr_net_close(struct gr_net *net, double patience);

/* Whether the slots of its FIFOs may lie in a GPU's memory. */
int gr_net_reaches_gpus(const struct gr_net *net);

/* Open an end of a link. 0 or GR_ERR_NOMEM. */
int gr_net_link_open(struct gr_net *net, enum gr_net_side side, const struct gr_fifo *fifo,
                     struct gr_net_link **link);

/* What the other end must be told. */
void gr_net_link_export(const struct gr_net_link *link, struct gr_net_handle *handle);

/*
 * Connect to the other end. peer: what to call it in errors ("rank 3 on node7"). Data may come in
 * before. 0, GR_ERR_NOMEM, GR_ERR_UNREACHED, GR_ERR_LOST, or GR_ERR_NET when the handle does not
 * fit; the link has failed then.
 */
int gr_net_link_join(struct gr_net_link *link, const struct gr_net_handle *theirs,
                     const char *peer);

/*
 * 0, or why the link has failed: GR_ERR_LOST, GR_ERR_UNREACHED, GR_ERR_NET, GR_ERR_NOMEM. Needs no
 * lock.
 */
int gr_net_link_status(const struct gr_net_link *link);

/* In words, with the peer's name; "" where it has not failed. */
void gr_net_link_error(const struct gr_net_link *link, char *text, size_t size);

/*
 * A writer that stops half-way wants back the memory that it has pushed from (gr_fifo.from). What
 * the transport does not have yet is copied into its slot. How many messages are still under way
 * from there: then it is asked again, after gr_net_progress(). It does not push meanwhile.
 */
int gr_net_link_reclaim(struct gr_net_link *link);

/*
 * Leave the link; it must not be used any more. What the writer has pushed is sent first, in later
 * calls of gr_net_progress(); what comes in for a reader that has left is dropped. When the FIFO is
 * not touched any more its users are told their leases.
 */
void gr_net_link_close(struct gr_net_link *link);

/* Move what can be moved. *moved is increased by the number of slots. */
void gr_net_progress(struct gr_net *net, uint64_t *moved);

/*
 * Of that only what this end has to say: nothing is received, which spares a look (over TCP, a
 * system call).
 */
void gr_net_send(struct gr_net *net, uint64_t *moved);

/* And the other half: look for what comes in. */
void gr_net_receive(struct gr_net *net, uint64_t *moved);

/* Links that are open, or closed but not through; connections; messages under way. */
struct gr_net_usage {
    int links, peers, messages;
};
struct gr_net_usage gr_net_usage(struct gr_net *net);

#endif
