/* SPDX-License-Identifier: BSD-3-Clause */
/* Submitting a call: what is decided and made before the op waits for its turn. */
#ifndef GR_ENGINE_SUBMIT_H
#define GR_ENGINE_SUBMIT_H

#include "engine/call_agreement.h"

#include <stdbool.h>

struct gr_comm;
struct gr_op;
struct gr_op_queue;

/*
 * Begin a new call with an op that has none in progress. Its owner then sets id, root, kernel,
 * buffers, output, and the sizes in op->data. queue NULL: a persistent request has none yet.
 */
void mca_coll_gpuring_op_reset(struct gr_op *op, struct gr_comm *comm, struct gr_op_queue *queue);

/*
 * Number the call in the queue, and choose its algorithm and executor. Where these depend on the
 * buffers of all ranks, prepare the agreement instead. use: GR_AGREEMENT_ONLY, or
 * GR_AGREEMENT_FIRST for an agreement where one is needed. device: whether some buffer of this rank
 * is on a device. 0, GR_ERR_FALLBACK on all ranks (op->fallback says why), or another error.
 */
int mca_coll_gpuring_op_decide(struct gr_op_queue *queue, struct gr_op *op,
                               enum gr_agreement_use use, bool device);

/*
 * All that comes before the queue: the set-ups that the op is the first to need, and its buffers
 * where the executor is known. 0, or GR_ERR_...
 */
int mca_coll_gpuring_op_prepare(struct gr_op_queue *queue, struct gr_op *op);

/*
 * Make the queue of a persistent request, with all the links that its op needs; all ranks come here
 * together. 0, GR_ERR_FALLBACK on all ranks: no links; or another error.
 */
int mca_coll_gpuring_persistent_queue(struct gr_op *op, struct gr_op_queue **queue);

#endif
