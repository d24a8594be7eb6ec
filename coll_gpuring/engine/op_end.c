/* SPDX-License-Identifier: BSD-3-Clause */
/* How an op ends: done, or failed. */
#include "engine/op_end.h"

#include "engine/collectives.h"
#include "engine/executor.h"
#include "engine/failure.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "mpi/buffers.h"
#include "mpi/module.h"
#include "mpi/report.h"
#include "mpi/staging/stage.h"

#include "link/team.h"

#include "opal/util/error.h"

/* Whether the executor was started, and has not been told that the op is over. */
static bool is_started(const struct gr_op *op)
{
    return GR_OP_RUNNING == op->phase || GR_OP_LEAVING == op->phase;
}

/* Copy staged results back, if the op succeeded, and give up staging. OMPI error code. */
static int unstage(struct gr_op *op, int rc)
{
    int out = op->queue->module->gpu
                  ? mca_coll_gpuring_stage_out(&op->stage, &op->call, OMPI_SUCCESS == rc)
                  : OMPI_SUCCESS;

    return OMPI_SUCCESS == rc ? out : rc;
}

void mca_coll_gpuring_op_over(struct gr_op *op, int rc)
{
    if (OMPI_SUCCESS != rc && OMPI_ERR_NOT_AVAILABLE != rc) {
        mca_coll_gpuring_op_fails(op, "", opal_strerror(rc));
    }
    op->rc = unstage(op, is_started(op) ? op->exec->finish(op, rc) : rc);
    if (op->rc != rc) {
        mca_coll_gpuring_op_fails(op, "results could not be copied: ", opal_strerror(op->rc));
    }
    op->phase = GR_OP_DONE;
}

void mca_coll_gpuring_op_end(struct gr_op *op)
{
    int rc = mca_coll_gpuring_buffers_end(op);

    mca_coll_gpuring_op_over(op, rc);
}

void mca_coll_gpuring_op_count(const struct gr_op *op, bool zero_copy)
{
    double us = 0 != op->start ? 1e6 * (mca_coll_gpuring_now() - op->start) : 0;

    mca_coll_gpuring_stats_call(op->call.id, op->choice.way, op->exec->on_device,
                                op->queue->team->p, op->data.bytes, us);
    if (zero_copy) {
        mca_coll_gpuring_stats_zero_copy(op->call.id);
    }
}

void mca_coll_gpuring_op_fail(struct gr_op *op, bool here, int rc)
{
    if (is_started(op) && !op->exec->abort(op, here)) {
        op->phase = GR_OP_LEAVING;
    } else {
        mca_coll_gpuring_op_over(op, rc);
    }
}
