/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network: moves the data of links between processes that share no memory.
 *
 * Each end of a link (link.h) has a FIFO of slots in its own memory (struct gr_fifo) whose other
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

#include <stddef.h>
#include <stdint.h>

struct gr_net;
struct gr_transport;

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

#endif
