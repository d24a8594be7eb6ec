/* SPDX-License-Identifier: BSD-3-Clause */
/* Links to other nodes: this process's networks, and a queue's ends on them. */
#ifndef GR_COMM_NET_LINKS_H
#define GR_COMM_NET_LINKS_H

#include "comm/comm.h"
#include "comm/runtime.h"

#include "link/fifo.h"
#include "net/net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_net_link;

/* What a set-up and the network tell each other of one link to another node. */
struct gr_net_endpoint {
    int rank;                    /* at the other end */
    int rail;                    /* of the link */
    struct gr_fifo fifo;         /* in the slab of the connection */
    struct gr_doorbell **bell;   /* of the connection; set when the link is opened */
    struct gr_net_link *link;    /* NULL: not opened */
    struct gr_net_handle mine;   /* sent to the other end */
    struct gr_net_handle theirs; /* received from it */
};

/* The network's part of a set-up. */
struct gr_net_ends {
    struct gr_op_queue *queue;   /* whose links they are; borrowed */
    struct gr_net_endpoint *in;  /* [nin]: incoming links; owned */
    struct gr_net_endpoint *out; /* [nout]: outgoing links; owned */
    int nin, nout;               /* their numbers */
    struct gr_net_links *held;   /* links that are open; owned */
    char *why;                   /* [why_size]: an error, as the network describes it; borrowed */
    size_t why_size;
};

/* The name of an enum gr_transport_kind. */
const char *gr_transport_name(int kind);

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
void gr_process_net_progress(bool here);

/* In an MPI call: send what is pushed, without receiving. Returns whether anything was sent. */
bool gr_process_net_send(void);

/*
 * In the blocking call that holds the queue, after a poll that did not end its op: receive; yield
 * the core where ranks share cores. near: the op waits for ranks of this node only.
 */
void gr_queue_net_receive(const struct gr_op_queue *queue, bool near);

/*
 * gr_runtime_progress() in that call. Where it receives what the call waits for, it keeps the core:
 * gr_queue_net_receive() yields.
 */
void gr_net_run_progress(const struct gr_op_queue *queue);

/* Polls without progress per gr_runtime_progress(); polls: their number without a network. */
unsigned gr_net_polls_per_progress(const struct gr_op_queue *queue, unsigned polls);

/* The caller holds the queue: fail the communicator where one of its links has failed. */
void gr_net_check(struct gr_op_queue *queue);

/* Smallest message, in bytes, that the links send from where it lies; 0: none. */
size_t gr_net_zero_copy(const struct gr_op_queue *queue);

/*
 * The caller holds the queue, and its call ends before all that it has pushed was sent. Returns
 * whether the network has left the call's buffers; if not, call again after
 * gr_process_net_progress().
 */
bool gr_net_reclaim(const struct gr_op_queue *queue);

/* Whether links go over MPI's messages. */
bool gr_net_by_messages(void);

/* Close the queue's links. */
void gr_net_leave(struct gr_op_queue *queue);

/* When the component is closed, before the pool is. */
void gr_process_net_close(void);

/* MPI_COMM_WORLD is about to be freed: close the links over Open MPI's messages. */
void gr_net_world_ends(void);

/*
 * reserve: room for endpoints, whose rank, fifo and bell the caller fills in; 0, or GR_ERR_...
 * begin: open the incoming links. reply: open and join the outgoing ones. map: join the incoming
 * ones. end: the queue takes the links, or they are closed, by the agreement. tell: report why they
 * failed. *status: of the join; the first error is stored there.
 */
int gr_endpoints_reserve(struct gr_net_ends *e, int nin, int nout);
void gr_endpoints_begin(struct gr_net_ends *e, int *status);
void gr_endpoints_reply(struct gr_net_ends *e, int *status);
void gr_endpoints_map(struct gr_net_ends *e, int *status);
void gr_endpoints_end(struct gr_net_ends *e, int status);
void gr_endpoints_tell(const struct gr_net_ends *e);

/* Why the network cannot reach slots in device memory, in words; NULL: it can. */
const char *gr_net_no_rdma(const struct gr_op_queue *queue);

/* ---- rails between nodes: how many a process has, which one a link lies on ---- */

/*
 * How many rails this process has: at most coll_gpuring_nodes_rails; 1 if none are wanted. The
 * first call asks UCX, if there is a choice.
 */
int gr_rails_here(void);

/* The rail of a channel's links to other nodes, from 1; 0: there are none, and UCX chooses. */
static inline int gr_rail_of(const struct gr_op_queue *queue, uint32_t channel)
{
    uint32_t n = (uint32_t) queue->comm->rails;

    return n > 1 ? 1 + (int) (channel % n) : 0;
}

/* Rank 0 says how many the communicator has, where some were wanted. */
void gr_rails_log(const struct gr_comm *comm);

#endif
