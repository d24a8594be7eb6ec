/* SPDX-License-Identifier: BSD-3-Clause */
/* How an op ends: done, or failed. */
#include "engine/op_end.h"

#include "engine/executor.h"
#include "engine/failure.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "engine/comm.h"
#include "engine/stats.h"

#include "base/errors.h"
#include "link/team.h"

#include <stdlib.h>

/* Whether the executor was started, and has not been told that the op is over. */
static bool is_started(const struct gr_op *op)
{
    return GR_OP_RUNNING == op->phase || GR_OP_LEAVING == op->phase;
}

void mca_coll_gpuring_op_over(struct gr_op *op, int rc)
{
    if (0 != rc && GR_ERR_FALLBACK != rc) {
        mca_coll_gpuring_op_report_failure(op, GR_ERR_FAILED, "", mca_coll_gpuring_error_text(rc));
    }
    op->rc = op->hooks->release(op, is_started(op) ? op->exec->finish(op, rc) : rc);
    if (op->rc != rc) {
        mca_coll_gpuring_op_report_failure(op, GR_ERR_FAILED, "results could not be copied: ",
                                           mca_coll_gpuring_error_text(op->rc));
    }
    op->phase = GR_OP_DONE;
}

void mca_coll_gpuring_op_end(struct gr_op *op)
{
    int rc = op->hooks->unpack(op);

    mca_coll_gpuring_op_over(op, rc);
}

void mca_coll_gpuring_op_count(const struct gr_op *op, bool zero_copy)
{
    double us = 0 != op->start ? 1e6 * (gr_runtime_now() - op->start) : 0;

    mca_coll_gpuring_stats_call(op->id, op->choice.way, op->exec->on_device, op->queue->team->p,
                                gr_call_has_buffers(op->id) ? op->data.bytes : 0, us);
    if (zero_copy) {
        mca_coll_gpuring_stats_zero_copy(op->id);
    }
}

void mca_coll_gpuring_op_abort(struct gr_op *op, bool here, int rc)
{
    if (is_started(op) && !op->exec->abort(op, here)) {
        op->phase = GR_OP_LEAVING;
    } else {
        mca_coll_gpuring_op_over(op, rc);
    }
}
