/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators, and queues of ops (comm/comm.h, exec/op.h). A communicator has one queue for each
 * order of calls (comm/collectives.h), and each persistent request has one of its own. mpi/drive.c
 * drives them, for MPI calls that wait, for opal_progress and for the progress thread.
 */
#ifndef GR_ENGINE_OP_QUEUE_H
#define GR_ENGINE_OP_QUEUE_H

#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/process.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_grouped_call;
struct gr_op;

/* ---- their beginning and end (comm_queues.c) ---- */

/*
 * A queue without links. The communicator must outlive it. nsets: sets of its boards;
 * mailbox_bytes: largest post to a mailbox. NULL: no memory.
 */
struct gr_op_queue *gr_queue_new(struct gr_comm *comm, enum gr_public_kind kind, uint32_t nsets,
                                 size_t mailbox_bytes);

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

/* Free the queue with its links; NULL is fine. It must have no ops. */
void gr_queue_free(struct gr_op_queue *queue);

/* Of the communicator itself. init: no call yet. free: its queues, and what it owns. */
void gr_comm_init(struct gr_comm *comm, struct gr_process *process);
void gr_comm_free(struct gr_comm *comm);

/* ---- driving one ---- */

/*
 * Go on with the queue's ops as far as possible. The caller has the queue (busy). Returns an op for
 * which its owner has to do something, before the caller calls again:
 *
 *      GR_OP_BUFFERS   prepare its buffers: gr_op_prepared()
 *      GR_OP_OVER      unpack its output, and release its buffers: gr_op_end(). It is out of the
 *                      queue, and done then as in GR_OP_DONE
 *      GR_OP_DONE      complete its request, if it has one
 *
 * NULL: there is no such op at present. here: in an MPI call or gr_runtime_progress(), where
 * messages may be sent.
 */
struct gr_op *gr_queue_drive(struct gr_op_queue *queue, bool here);

/* The op is done, but its request cannot be completed here: a later gr_queue_drive() returns it. */
void gr_queue_keep(struct gr_op *op);

/* ---- blocking calls ---- */

/* Take op->queue (busy), and append op. */
void gr_queue_enter(struct gr_op *op);

/*
 * gr_queue_drive() on op->queue until op is done, in a blocking call. Returns NULL then, with the
 * queue given back; or an op for which something is to be done, before the caller calls again.
 */
struct gr_op *gr_queue_wait(struct gr_op *op);

/* ---- nonblocking calls ---- */

/* Append op to op->queue, and post what it posts before its turn. */
void gr_queue_append(struct gr_op *op);

#define GR_NO_MAIL INT_MIN /* the call has not begun, and takes the queue */

/*
 * Begin a call on mailboxes of the queue, which are there, where no other call is in the queue.
 * GR_NO_MAIL; 1: it is done; else (also after an error, which its next poll meets again) the caller
 * adds an op at once that goes on with the call, by gr_queue_go_on(). Only one thread may add ops to
 * the queue meanwhile.
 */
int gr_queue_try_mail(struct gr_op_queue *queue, struct gr_grouped_call *run);
void gr_queue_go_on(struct gr_op *op);

/* ---- all queues with nonblocking ops ---- */

/* A walk along the list of these queues. */
struct gr_queue_walk {
    struct gr_queue_list *list;
    const struct gr_op_queue *awake; /* known to have work, so it is not looked at; NULL: none */
    struct gr_op_queue *queue;       /* that the caller has; NULL: none */
    uint64_t before;                 /* its watch.moved when the caller got it */
    uint64_t moved;                  /* by all before it */
    bool here;                       /* of gr_queue_drive() */
};

/* Begin one. */
void gr_queues_begin(struct gr_queue_walk *walk, struct gr_process *process, bool here);

/* The same in gr_runtime_progress(). False: there is nothing to do. */
bool gr_queues_begin_progress(struct gr_queue_walk *walk, struct gr_process *process);

/*
 * Give back the walk's queue, and take the next one that is to be driven. NULL: the walk is over,
 * and walk->moved says how much was moved.
 */
struct gr_op_queue *gr_queues_next(struct gr_queue_walk *walk);

#endif
