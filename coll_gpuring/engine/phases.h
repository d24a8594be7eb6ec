/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens to an op (exec/op.h), from the call to its end. */
#ifndef GR_ENGINE_PHASES_H
#define GR_ENGINE_PHASES_H

#include "exec/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_comm;
struct gr_op_queue;

/* ---- from the call to the queue: what is decided and made before the op's turn (submit.c) ---- */

/*
 * Begin a new call with an op that has none in progress. Its owner then sets id, root, kernel,
 * buffers, output, and the sizes in op->data. queue NULL: a persistent request has none yet.
 */
void gr_op_reset(struct gr_op *op, struct gr_comm *comm, struct gr_op_queue *queue);

/*
 * Number the call in the queue, and choose its algorithm and executor. Where these depend on the
 * buffers of all ranks, prepare the agreement instead. use: GR_AGREEMENT_ONLY, or
 * GR_AGREEMENT_FIRST for an agreement where one is needed. device: whether some buffer of this rank
 * is on a device. 0, GR_ERR_FALLBACK on all ranks (op->fallback says why), or another error.
 */
int gr_op_decide(struct gr_op_queue *queue, struct gr_op *op, enum gr_agreement_use use,
                 bool device);

/*
 * Create the set-ups that the op is the first to need. Afterwards its owner prepares the buffers,
 * unless op->chosen_in_turn. 0, or GR_ERR_...
 */
int gr_op_set_up(struct gr_op_queue *queue, struct gr_op *op);

/*
 * Make the queue of a persistent request, with all the links that its op needs; all ranks come here
 * together. 0, GR_ERR_FALLBACK on all ranks: no links; or another error.
 */
int gr_persistent_queue(struct gr_op *op, struct gr_op_queue **queue);

/* ---- from its turn to its end ---- */

/* Free what the op owns; it must be done. */
void gr_op_free(struct gr_op *op);

/*
 * The algorithm has been chosen before the queue: pick the executor for the links as they are now.
 * Then its owner prepares the buffers.
 */
void gr_op_begin(struct gr_op *op);

/*
 * The owner has prepared the op's buffers for op->exec, and set op->data; or it could not: rc is
 * GR_ERR_... In GR_OP_BUFFERS the op goes on, or fails.
 */
void gr_op_prepared(struct gr_op *op, int rc);

/*
 * Progress the first op of a queue as far as possible. Returns whether its owner has to do
 * something for it: it is in GR_OP_BUFFERS or GR_OP_OVER. here: in an MPI call or
 * gr_runtime_progress(), where messages may be sent. *moved is increased by what was moved.
 */
bool gr_op_advance(struct gr_op *op, bool here, uint64_t *moved);

/* Write to text, for a report, what op (a struct gr_op) waits for. */
void gr_op_explain(void *op, char *text, size_t size);

#endif
