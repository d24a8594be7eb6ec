/* SPDX-License-Identifier: BSD-3-Clause */
/* Rails between nodes (net/rails.h): how many a process has, and which one a link lies on. */
#ifndef GR_ENGINE_RAILS_H
#define GR_ENGINE_RAILS_H

#include "engine/op_queue.h"
#include "engine/comm.h"

#include "net/transport.h"

#include <stddef.h>
#include <stdint.h>

/*
 * How many rails this process has: at most coll_gpuring_nodes_rails; 1 if none are wanted. The
 * first call asks UCX, if there is a choice.
 */
int mca_coll_gpuring_rails_here(void);

/* The device of this process's rail of that number, from 1. */
const char *mca_coll_gpuring_rail_name(int rail);

/*
 * Write to text[size], separated by commas, the devices that a transport may use where the user
 * keeps MPI from some of its interfaces. Returns 1; 0: it may use all, or the user has restricted
 * the transport itself; GR_ERR_NET: none are left.
 */
int mca_coll_gpuring_rails_confined(const struct gr_transport *transport, char *text, size_t size);

/* The rail of a channel's links to other nodes, from 1; 0: there are none, and UCX chooses. */
static inline int gr_rail_of(const struct gr_op_queue *queue, uint32_t channel)
{
    uint32_t n = (uint32_t) queue->comm->rails;

    return n > 1 ? 1 + (int) (channel % n) : 0;
}

/* Rank 0 says how many the communicator has, where some were wanted. */
void mca_coll_gpuring_rails_log(const struct gr_comm *comm);

#endif
