/* SPDX-License-Identifier: BSD-3-Clause */
/* How an op ends: done, or failed. */
#ifndef GR_ENGINE_OP_END_H
#define GR_ENGINE_OP_END_H

#include <stdbool.h>

struct gr_op;

/* The op has run to its end: unpack, count, and finish it. */
void mca_coll_gpuring_op_end(struct gr_op *op);

/* Finish the op with rc: release its executor, copy staged results back. Sets GR_OP_DONE. */
void mca_coll_gpuring_op_over(struct gr_op *op, int rc);

/* For executors: count a successful call. zero_copy: see mca_coll_gpuring_stats_zero_copy(). */
void mca_coll_gpuring_op_count(const struct gr_op *op, bool zero_copy);

/*
 * The op fails with rc: abort its executor. The op is finished when no other rank uses its buffers
 * any more: at once, or in a later call of this function. here: in an MPI call or
 * gr_runtime_progress().
 */
void mca_coll_gpuring_op_abort(struct gr_op *op, bool here, int rc);

#endif
