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
 * Where the user keeps MPI from some of the interfaces that a transport can use, and has not told
 * the transport itself what to use: write the devices that are left, separated by commas, and
 * return 1; GR_ERR_NET if none are left; otherwise 0.
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
