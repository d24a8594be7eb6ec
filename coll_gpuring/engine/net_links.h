/* SPDX-License-Identifier: BSD-3-Clause */
/* Links to other nodes: this process's networks, and a queue's ends on them. */
#ifndef GR_ENGINE_NET_LINKS_H
#define GR_ENGINE_NET_LINKS_H

#include <stdbool.h>
#include <stddef.h>

struct gr_op_queue;
struct gr_net_link;
struct gr_op;
struct gr_setup;

/* The transports of links between nodes, and the name of each. */
enum gr_transport_kind { GR_TRANSPORT_UCX, GR_TRANSPORT_PML, GR_NTRANSPORTS };
const char *mca_coll_gpuring_transport_name(int kind);

/* Links that a set-up has opened. */
struct gr_net_links {
    struct gr_net_links *next;  /* those of an earlier set-up of the queue; owned */
    int n;                      /* number of links */
    struct gr_net_link *link[]; /* [n]; owned */
};

/*
 * Progress the network, if some queue has links. Takes a while: the caller holds no queue. here: in
 * an MPI call or gr_runtime_progress().
 */
void mca_coll_gpuring_net_progress(bool here);

/* In an MPI call: send what is pushed, without receiving. Returns whether anything was sent. */
bool mca_coll_gpuring_net_send(void);

/*
 * In the blocking call that holds the queue, after each poll of op: send, then receive, unless the
 * op is done; yield the core where ranks share cores.
 */
void mca_coll_gpuring_net_poll(const struct gr_op_queue *queue, struct gr_op *op);

/*
 * gr_runtime_progress() in that call. Where it receives what the call waits for, it keeps the core:
 * net_poll() yields.
 */
void mca_coll_gpuring_net_run_progress(const struct gr_op_queue *queue);

/* Polls without progress per gr_runtime_progress(); polls: their number without a network. */
unsigned mca_coll_gpuring_net_polls_per_progress(const struct gr_op_queue *queue, unsigned polls);

/* The caller holds the queue: fail the communicator where one of its links has failed. */
void mca_coll_gpuring_net_check(struct gr_op_queue *queue);

/* Smallest message, in bytes, that the links send from where it lies; 0: none. */
size_t mca_coll_gpuring_net_zero_copy(const struct gr_op_queue *queue);

/*
 * The caller holds the queue, and its call ends before all that it has pushed was sent. Returns
 * whether the network has left the call's buffers; if not, call again after net_progress().
 */
bool mca_coll_gpuring_net_reclaim(const struct gr_op_queue *queue);

/* Whether links go over MPI's messages. */
bool mca_coll_gpuring_net_by_messages(void);

/* Close the queue's links. */
void mca_coll_gpuring_net_leave(struct gr_op_queue *queue);

/* When the component is closed, before the pool is. */
void mca_coll_gpuring_net_close(void);

/* MPI_COMM_WORLD is about to be freed: close the links over Open MPI's messages. */
void mca_coll_gpuring_net_world_ends(void);

/*
 * The network's part of a set-up. reserve: room for endpoints, whose rank, fifo and bell the caller
 * fills in. begin: open the incoming links. reply: open and join the outgoing ones. map: join the
 * incoming ones. end: the queue takes the links, or they are closed, by the agreement. tell: report
 * why they failed. *status: of the join; the first error is stored there.
 */
int mca_coll_gpuring_endpoints_reserve(struct gr_setup *s, int nin,
                                       int nout); /* 0, or GR_ERR_... */
void mca_coll_gpuring_endpoints_begin(struct gr_setup *s, int *status);
void mca_coll_gpuring_endpoints_reply(struct gr_setup *s, int *status);
void mca_coll_gpuring_endpoints_map(struct gr_setup *s, int *status);
void mca_coll_gpuring_endpoints_end(struct gr_setup *s);
void mca_coll_gpuring_endpoints_tell(const struct gr_setup *s);

/* Why the network cannot reach slots in device memory, in words; NULL: it can. */
const char *mca_coll_gpuring_net_no_rdma(const struct gr_op_queue *queue);

#endif
