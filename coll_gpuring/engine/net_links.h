/* SPDX-License-Identifier: BSD-3-Clause */
/* Links to other nodes: this process's networks, and a queue's ends on them. */
#ifndef GR_ENGINE_NET_LINKS_H
#define GR_ENGINE_NET_LINKS_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_op_queue;
struct gr_net_link;
struct gr_op;
struct gr_setup;

/* What links between nodes may go over; its name. */
enum gr_transport_kind { GR_TRANSPORT_UCX, GR_TRANSPORT_PML, GR_NTRANSPORTS };
const char *mca_coll_gpuring_transport_name(int kind);

/* What a set-up has opened. */
struct gr_net_links {
    struct gr_net_links *next;
    int n;
    struct gr_net_link *link[];
};

/*
 * Move the network on, if queues have links. It takes a while, so who may keep a queue from others
 * does not have it. here: in an MPI call or opal_progress.
 */
void mca_coll_gpuring_net_progress(bool here);

/* In an MPI call: only send what queues have to say. Whether there was something. */
bool mca_coll_gpuring_net_send(void);

/*
 * In the blocking call that has the queue, behind what it does for its op: send; then look for what
 * comes in for an op that is not over, and give the core away where ranks share them. looks: that
 * were in vain before.
 */
void mca_coll_gpuring_net_poll(const struct gr_op_queue *queue, struct gr_op *op, unsigned looks);

/*
 * How often to look at a queue, between two calls of opal_progress, where that is `looks` times
 * without a network.
 */
unsigned mca_coll_gpuring_net_polls(const struct gr_op_queue *queue, unsigned looks);

/* The caller has the queue. A link that has failed poisons the team, and is told. */
void mca_coll_gpuring_net_check(struct gr_op_queue *queue);

/* Least bytes of a message that its links send from where it lies; 0: none is. */
size_t mca_coll_gpuring_net_zero_copy(const struct gr_op_queue *queue);

/*
 * The caller has the queue. A call ends before all that it has pushed was sent: whether its buffers
 * are its own again; if not, it is asked again after net_progress().
 */
bool mca_coll_gpuring_net_reclaim(const struct gr_op_queue *queue);

/* Leave the queue's links. */
void mca_coll_gpuring_net_leave(struct gr_op_queue *queue);

/* At the end of the component, before the pool's. */
void mca_coll_gpuring_net_close(void);

/* MPI_COMM_WORLD is about to go, and with it what links over Open MPI's messages need. */
void mca_coll_gpuring_net_world_ends(void);

/*
 * The network's part of it (net_links.c). Room for that many ends, which the caller fills in: rank,
 * fifo, used. Then: open those of incoming links; answer what was offered; take what was answered.
 * *status: the join's, to which what goes wrong is added. end: the queue gets the links, or they
 * are closed.
 */
int mca_coll_gpuring_endpoints_reserve(struct gr_setup *s, int nin, int nout); /* OMPI error code */
void mca_coll_gpuring_endpoints_begin(struct gr_setup *s, int *status);
void mca_coll_gpuring_endpoints_answer(struct gr_setup *s, int *status);
void mca_coll_gpuring_endpoints_map(struct gr_setup *s, int *status);
void mca_coll_gpuring_endpoints_end(struct gr_setup *s);
void mca_coll_gpuring_endpoints_tell(const struct gr_setup *s);

/*
 * Why slots of the queue's links to other nodes cannot lie in device memory, as far as the network
 * goes; NULL: they can.
 */
const char *mca_coll_gpuring_net_indirect(const struct gr_op_queue *queue);

END_C_DECLS

#endif
