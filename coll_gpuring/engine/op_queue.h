/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drives queues of ops (comm/comm.h, exec/op.h). A communicator has one for each order of calls
 * (comm/collectives.h), and each persistent request has one of its own.
 */
#ifndef GR_ENGINE_OP_QUEUE_H
#define GR_ENGINE_OP_QUEUE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_call_counter;
struct gr_mailbox;
struct gr_mailbox_call;
struct gr_op;
struct gr_op_queue;
struct gr_process;

/* Free the queue with its links; NULL is fine. It must have no ops. */
void gr_queue_free(struct gr_op_queue *queue);

/*
 * Append op, drive the queue until op is done, and return its result: 0, or GR_ERR_...;
 * GR_ERR_FALLBACK: no links, the call is to be left to the saved collective.
 */
int gr_queue_do(struct gr_op_queue *queue, struct gr_op *op);

/* Append n ops, each to its own queue, and return; whoever drives the queues completes them. */
void gr_queue_start(struct gr_op *const *ops, size_t n);

/*
 * Start an op that only posts to a mailbox, which is there, and takes from it: op->early is set, and
 * its buffers are the application's; a call like it has begun with op->early.call. It is completed
 * at once if the other ranks have posted, and counted there unless it is timed; or it goes on in its
 * queue. False: it cannot be started so, since others are before it.
 */
bool gr_queue_start_mail(struct gr_op *op, struct gr_call_counter *counter);

#define GR_NO_MAIL INT_MIN /* the call has not begun, and takes the queue */

/*
 * Begin a call on a mailbox of the queue, like one that began before, where no other is in the queue.
 * GR_NO_MAIL; 1: it is done; else the caller adds an op at once, with a copy of the call in
 * op->early, by gr_queue_go_on(). For processes of one thread (gr_threaded()).
 */
int gr_queue_try_mail(struct gr_op_queue *queue, struct gr_mailbox *box,
                      struct gr_mailbox_call *call);
void gr_queue_go_on(struct gr_op *op);

/*
 * Register with gr_runtime_progress(), which drives queues with nonblocking ops from then on.
 * Repeated calls are fine. 0, or GR_ERR_...
 */
int gr_queues_open(struct gr_process *process);

/*
 * Drive all queues of the list once. here: in an MPI call or gr_runtime_progress(), where messages
 * may be sent. Returns how much was moved.
 */
uint64_t gr_queues_drive(struct gr_process *process, bool here);

/* At the end of the component: undo gr_queues_open(). */
void gr_queues_close(struct gr_process *process);

#endif
