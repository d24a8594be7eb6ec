/* SPDX-License-Identifier: BSD-3-Clause */
/* How an op ends: done, or failed. */
#include "engine/op_end.h"

#include "engine/collectives.h"
#include "engine/failure.h"
#include "engine/failure_messages.h"
#include "engine/net_links.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "mpi/buffers.h"
#include "mpi/report.h"
#include "mpi/staging/overlap.h"

#include "exec/gpu/op.h"
#include "exec/host.h"
#include "sched/sched.h"

#include "opal/util/error.h"

/* Seconds that a call which failed waits for kernels of other ranks to leave its buffers. */
#define LEAVE_SECONDS 10

static void stop_writing(struct gr_op *op)
{
    if (op->writing) {
        op->writing = false;
        atomic_fetch_sub(&op->queue->module->writing, 1);
    }
}

void mca_coll_gpuring_op_over(struct gr_op *op, int rc)
{
    if (OMPI_SUCCESS != rc && OMPI_ERR_NOT_AVAILABLE != rc) {
        mca_coll_gpuring_op_fails(op, "", opal_strerror(rc));
    }
    if (op->device && OMPI_SUCCESS != rc && GR_OP_RUNNING == op->state) {
        gr_gpu_op_abort(&op->gpu);
    }
    stop_writing(op);
    if (!op->device && OMPI_SUCCESS != rc && GR_OP_RUNNING == op->state &&
        GR_WAY_MAILBOX != op->choice.way) {
        gr_host_withdraw(&op->host);
    }
    if (op->device && NULL != op->gpu.team) {
        gr_gpu_op_end(&op->gpu);
    }
    op->rc = op->staged ? mca_coll_gpuring_overlap_unstage(op, rc) : rc;
    if (op->rc != rc) {
        mca_coll_gpuring_op_fails(op, "results could not be copied: ", opal_strerror(op->rc));
    }
    op->state = GR_OP_DONE;
}

void mca_coll_gpuring_op_end(struct gr_op *op)
{
    int rc = mca_coll_gpuring_buffers_end(op);

    if (GR_OP_MESSAGES == op->state) {
        mca_coll_gpuring_stats_fallback(GR_FALLBACK_SETUP); /* to Open MPI's messages */
    } else {
        mca_coll_gpuring_stats_call(
            op->call.id, op->choice.way, op->device, op->queue->team->p, op->data.bytes,
            0 != op->start ? 1e6 * (mca_coll_gpuring_now() - op->start) : 0);
        if (op->device ? op->gpu.mapped > 0
                       : GR_WAY_MAILBOX != op->choice.way && op->host.borrowed > 0) {
            mca_coll_gpuring_stats_zero_copy(op->call.id);
        }
    }
    mca_coll_gpuring_op_over(op, rc);
}

/*
 * Whether its buffers are its own again: the network sends from them no more, and no kernel of
 * another rank writes there. For the latter it waits a while, and not for good: such a rank may not
 * look for messages for long.
 */
static bool has_left(struct gr_op *op, bool here)
{
    if (!op->device) {
        return GR_OP_RUNNING != op->state || 0 == op->host.zero_copy ||
               mca_coll_gpuring_net_reclaim(op->queue);
    }
    if (GR_OP_RUNNING == op->state) {
        gr_gpu_op_abort(&op->gpu);
        stop_writing(op);
        if (gr_gpu_op_exposed(&op->gpu)) {
            op->state = GR_OP_LEAVING;
            op->leave_by = mca_coll_gpuring_now() + LEAVE_SECONDS;
        }
    }
    if (GR_OP_LEAVING != op->state) {
        return true;
    }
    if (here) {
        mca_coll_gpuring_failure_tell(op->queue->module);
    }
    return (here && mca_coll_gpuring_failure_out(op->queue->module)) ||
           mca_coll_gpuring_now() > op->leave_by;
}

/* It failed: over, or the next advance tries again. */
void mca_coll_gpuring_op_fail(struct gr_op *op, bool here, int rc)
{
    if (has_left(op, here)) {
        mca_coll_gpuring_op_over(op, rc);
    }
}
