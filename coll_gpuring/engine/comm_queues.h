/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues of a communicator, which the first call that needs one makes. */
#ifndef GR_ENGINE_COMM_QUEUES_H
#define GR_ENGINE_COMM_QUEUES_H

#include "engine/comm.h"
#include "engine/params.h"

#include "exec/stepper.h"

#include <stddef.h>
#include <stdint.h>

struct gr_op_queue;

/* Most channels between nodes: the same number on each rail. */
static inline uint32_t gr_nodes_channels(const struct gr_comm *comm)
{
    uint32_t n = (uint32_t) comm->params.value[GR_PARAM_NODES_CHANNELS],
             rails = (uint32_t) comm->rails;
    uint32_t each = (n + rails - 1) / rails, most = GR_MAX_CHANNELS / rails;

    return rails * (each < most ? each : most);
}

/* Most channels between devices. */
static inline uint32_t gr_device_channels(const struct gr_comm *comm)
{
    return NULL != comm->remote ? gr_nodes_channels(comm)
                                : (uint32_t) comm->params.value[GR_PARAM_DEVICE_CHANNELS];
}

/*
 * A queue without links. The communicator must outlive it. nsets: sets of its boards;
 * mailbox_bytes: largest post to a mailbox. NULL: no memory.
 */
struct gr_op_queue *mca_coll_gpuring_queue_new(struct gr_comm *comm, uint32_t nsets,
                                               size_t mailbox_bytes);

/*
 * Make the communicator's queue for calls of an order, unless it is there. The caller holds
 * comm->making. 0, or GR_ERR_...
 */
int mca_coll_gpuring_queue_make(struct gr_comm *comm, enum gr_call_order order);

/*
 * The communicator's queue for calls of an order, which is made if needed. Takes comm->making. Only
 * after gpuring has taken the communicator. NULL: no memory.
 */
struct gr_op_queue *mca_coll_gpuring_queue_of(struct gr_comm *comm, enum gr_call_order order);

#endif
