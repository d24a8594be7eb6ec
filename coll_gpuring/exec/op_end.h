/* SPDX-License-Identifier: BSD-3-Clause */
/* How an op (exec/op.h) ends: done, or failed; and what is said of its failure. */
#ifndef GR_EXEC_OP_END_H
#define GR_EXEC_OP_END_H

#include "comm/collectives.h"

#include <stdbool.h>
#include <stdint.h>

struct gr_comm;
struct gr_label_pair;
struct gr_op;

/* ---- failures ---- */

/* An op fails on this rank: gr_report_failure() of its call. */
void gr_op_report_failure(const struct gr_op *op, int code, const char *what, const char *reason);

/* The same for an error of exec/, link/ or net/, with GR_ERR_FAILED: reports rc in words. */
void gr_op_report_error(const struct gr_op *op, int rc);

/*
 * The same for the call `seq` of the communicator, where a message is of another call than this
 * rank's: names both. code: of gr_label_error(). pair->rank: of the communicator.
 */
void gr_report_difference(struct gr_comm *comm, enum gr_call_id id, uint64_t seq, int code,
                          const struct gr_label_pair *pair);

/* ---- the end ---- */

/* The executor has done the op, or it has failed with rc: release it. Sets GR_OP_OVER. */
void gr_op_over(struct gr_op *op, int rc);

/*
 * For mpi/, of an op that is over: its output is where it belongs, or op->rc or rc says what went
 * wrong. Sets GR_OP_DONE.
 */
void gr_op_end(struct gr_op *op, int rc);

/* For executors: count a successful call. zero_copy: see gr_stats_zero_copy(). */
void gr_op_count(const struct gr_op *op, bool zero_copy);

/*
 * The op fails with rc: abort its executor. The op is finished when no other rank uses its buffers
 * any more: at once, or in a later call of this function. here: in an MPI call or
 * gr_runtime_progress().
 */
void gr_op_abort(struct gr_op *op, bool here, int rc);

#endif
