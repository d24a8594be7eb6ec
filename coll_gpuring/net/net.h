/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network: moves the data of links between processes that share no memory.
 *
 * Each end of a link has a FIFO of slots in its own memory (struct gr_fifo) whose other
 * end is the network:
 *
 *      writer --> [slot][slot] --> progress() ~~~~ data ~~~> progress() --> [slot][slot] --> reader
 *                   its FIFO                   <~ credits ~~                  its FIFO
 *
 * Slots come out of the reader's FIFO in the order of the pushes into the writer's. So executors
 * and kernels only deal with FIFOs. A slot is sent from its own memory, or from where its data lie
 * (gr_fifo.data_at), once the reader has a free slot: credits say how many slots it has read. They
 * are sent with data of the other direction, or alone. The network has no queues: a link has as
 * many messages in flight as slots, and one credit.
 *
 * The network looks only at links with something to do: those that were pushed to or popped from,
 * which the executor tells by a doorbell (link/fifo.h), those that a message has come for, and
 * those that are being closed. So progress costs the same however many links there are.
 *
 * A connection to a peer is made for the first link to it, and kept.
 *
 * Data move in gr_net_progress() only, at both ends. No function waits, but gr_net_close().
 * Thread-safe: if another thread is in gr_net_progress(), it does nothing.
 */
#ifndef GR_NET_NET_H
#define GR_NET_NET_H

#include "net/net_state.h"

/*
 * Open a network of this process. device: the only network device to use (a rail, rails.h); NULL:
 * the transport chooses. Returns 0, GR_ERR_NOMEM, or GR_ERR_NET with the reason in why[size].
 */
int gr_net_open(struct gr_net **net, const struct gr_transport *transport, const char *device,
                char *why, size_t size);

/*
 * Leave all FIFOs and close the network. Closed links have `patience` seconds to send their slots.
 * What is being sent to this process is lost, and what peers have not received yet may be: agree
 * with the peers first. net may be NULL.
 */
void gr_net_close(struct gr_net *net, double patience);

/* How it moves slots in device memory. */
enum gr_net_gpus gr_net_reaches_gpus(const struct gr_net *net);

/* Send and receive what can be moved. Adds the number of slots to *moved. */
void gr_net_progress(struct gr_net *net, uint64_t *moved);

/* Only send. Receiving over TCP costs a system call. */
void gr_net_send(struct gr_net *net, uint64_t *moved);

/* Only receive. */
void gr_net_receive(struct gr_net *net, uint64_t *moved);

/*
 * ---- links: what each process does for its end ----
 *
 * To make a link, each process opens its end and sends gr_net_link_export()'s handle to the other,
 * by its own means; then each joins its end to the other's handle.
 *
 * A broken connection fails all links to that peer, and no others. A failed link moves no data;
 * gr_net_link_status() says so.
 */

/*
 * Open an end of a link. *fifo is copied; its memory is the caller's, and the network uses it until
 * it leaves the FIFO's lease. The link is freed by gr_net_link_close(). Returns 0 or GR_ERR_NOMEM.
 */
int gr_net_link_open(struct gr_net *net, enum gr_net_side side, const struct gr_fifo *fifo,
                     struct gr_net_link **link);

/* The handle of an end. */
void gr_net_link_export(const struct gr_net_link *link, struct gr_net_handle *handle);

/*
 * Join an end to the other end. peer: name of the other process for error messages, as "rank 3 on
 * node7". Data may arrive before. Returns 0, GR_ERR_NOMEM, GR_ERR_UNREACHED, GR_ERR_LOST, or
 * GR_ERR_NET: the ends do not fit together. On error the link has failed.
 */
int gr_net_link_join(struct gr_net_link *link, const struct gr_net_handle *theirs,
                     const char *peer);

/*
 * 0, or why the link has failed: GR_ERR_LOST, GR_ERR_UNREACHED, GR_ERR_NET, GR_ERR_NOMEM. Does not
 * lock.
 */
int gr_net_link_status(const struct gr_net_link *link);

/* Write the reason of the failure, with the peer's name; "" if the link has not failed. */
void gr_net_link_error(const struct gr_net_link *link, char *text, size_t size);

/*
 * Take back the memory that slots are sent from (gr_fifo.data_at), when a call is stopped. Data
 * that the transport has not started to send are copied into their slots. Returns the number of
 * messages that are still being sent from there: call it again after gr_net_progress(). The writer
 * must not push meanwhile.
 */
int gr_net_link_reclaim(struct gr_net_link *link);

/*
 * Close an end; the link must not be used any more. Later calls of gr_net_progress() send the slots
 * that have been pushed, and drop what arrives. Then the network leaves the FIFO's leases.
 */
void gr_net_link_close(struct gr_net_link *link);

#endif
