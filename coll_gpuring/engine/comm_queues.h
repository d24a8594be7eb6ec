/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The beginning and end of a communicator (comm/comm.h), and its queues, which the first call that
 * needs one makes.
 */
#ifndef GR_ENGINE_COMM_QUEUES_H
#define GR_ENGINE_COMM_QUEUES_H

#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/process.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A queue without links. The communicator must outlive it. nsets: sets of its boards;
 * mailbox_bytes: largest post to a mailbox. NULL: no memory.
 */
struct gr_op_queue *gr_queue_new(struct gr_comm *comm, uint32_t nsets, size_t mailbox_bytes);

/*
 * Make the communicator's queue for calls of an order, unless it is there. The caller holds
 * comm->making. 0, or GR_ERR_...
 */
int gr_queue_make(struct gr_comm *comm, enum gr_call_order order);

/*
 * The communicator's queue for calls of an order, which is made if needed. Takes comm->making. Only
 * after gpuring has taken the communicator. NULL: no memory.
 */
struct gr_op_queue *gr_queue_of(struct gr_comm *comm, enum gr_call_order order);

/* init: no call yet. free: its queues, and what it owns. */
void gr_comm_init(struct gr_comm *comm, struct gr_process *process);
void gr_comm_free(struct gr_comm *comm);

#endif
