/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staged calls that our own steps do, copied piece by piece while they run (exec/staged.h): which
 * calls that is for. What is copied so is a local matter: messages are the same.
 */
#include "mpi/staging/overlap.h"

#include "mpi/call.h"
#include "engine/log.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/setup.h"
#include "mpi/buffer_desc.h"
#include "mpi/buffers.h"
#include "mpi/datatype.h"
#include "mpi/params.h"
#include "mpi/staging/copy_stream.h"
#include "mpi/staging/stage.h"

#include "cuda/error.h"
#include "exec/staged.h"
#include "exec/stepper.h"
#include "link/team.h"
#include "sched/sched.h"

/*
 * Whether nothing is packed or unpacked on the way: elements lie in the buffers as steps move them.
 */
static bool is_plain(const struct gr_call *call)
{
    return mca_coll_gpuring_is_contiguous(call->rtype, 2) &&
           (gr_calls[call->id].reduces || GR_CALL_BCAST == call->id || MPI_IN_PLACE == call->sbuf ||
            mca_coll_gpuring_is_contiguous(call->stype, 2));
}

static size_t piece_bytes(const struct gr_op *op)
{
    return (size_t) op->queue->module->params.value[GR_PARAM_STAGE_BYTES];
}

/*
 * Whether it is worth while for this op, whose way is chosen: known to this rank only. Not for an
 * Alltoall, whose blocks change places on the way, nor along a torus.
 */
static bool fits(const struct gr_op *op)
{
    size_t piece = piece_bytes(op);

    return !op->device && GR_WAY_MAILBOX != op->choice.way &&
           GR_LINKS_THERE == mca_coll_gpuring_op_links(op) &&
           GR_COLL_ALLTOALL != op->data.request.coll &&
           !gr_algo_is_torus((enum gr_algo) op->choice.way) && piece > 0 &&
           op->data.bytes / 2 >= piece && is_plain(&op->call);
}

int mca_coll_gpuring_overlap_stage(struct gr_op *op)
{
    op->overlaps = fits(op);
    return op->overlaps ? mca_coll_gpuring_stage_place(&op->stage, &op->call, NULL)
                        : mca_coll_gpuring_stage_in(&op->stage, &op->call,
                                                    op->device ? op->queue->gpu->gpu : NULL);
}

/* From a staged buffer to its original. */
static ptrdiff_t way_back(const struct gr_op *op, bool receive)
{
    const struct gr_call *original = &op->stage.original;

    return receive ? (ptrdiff_t) ((uintptr_t) original->rbuf - (uintptr_t) op->call.rbuf)
                   : (ptrdiff_t) ((uintptr_t) original->sbuf - (uintptr_t) op->call.sbuf);
}

/*
 * Whether the receive buffer is (also) where the call's input comes from; and whether all steps'
 * results stay there.
 */
static bool reads_receive(const struct gr_op *op)
{
    return mca_coll_gpuring_reads_block(&op->call, ompi_comm_rank(op->call.comm));
}

static bool writes_receive(const struct gr_op *op)
{
    return GR_FINISH_NONE == op->data.finish &&
           (GR_CALL_BCAST != op->call.id || ompi_comm_rank(op->call.comm) != op->call.root);
}

int mca_coll_gpuring_overlap_begin(struct gr_op *op)
{
    struct gr_staged_copy in = {.stream = NULL}, out = {.stream = NULL};
    bool from_receive = op->stage.out && reads_receive(op), wants_in = op->stage.in || from_receive;
    bool wants_out = op->stage.out && writes_receive(op);

    if (wants_in) {
        op->copy_streams[0] = mca_coll_gpuring_copy_stream_take(
            from_receive ? op->stage.original.rbuf : op->stage.original.sbuf, &op->stage.after);
        in = (struct gr_staged_copy) {op->copy_streams[0].stream, way_back(op, from_receive)};
    }
    if (wants_out) {
        op->copy_streams[1] =
            mca_coll_gpuring_copy_stream_take(op->stage.original.rbuf, &op->stage.after);
        out = (struct gr_staged_copy) {op->copy_streams[1].stream, way_back(op, true)};
    }
    if (wants_in && NULL == in.stream) {
        int rc = mca_coll_gpuring_stage_copy(&op->stage, &op->call);

        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    gr_stepper_start(&op->stepper, &op->plan, &gr_staged_executor, &op->staging);
    op->stage.brought = NULL != out.stream; /* or all at the end */
    if (0 > gr_staged_begin(&op->staging, &op->host, &op->stepper, &in, &out, piece_bytes(op))) {
        return OMPI_ERROR; /* said in the end */
    }
    return OMPI_SUCCESS;
}

/* Wait for the copies. */
static int end(struct gr_op *op)
{
    int rc = gr_staged_end(&op->staging);

    op->overlaps = false;
    mca_coll_gpuring_copy_stream_put(&op->copy_streams[0]);
    mca_coll_gpuring_copy_stream_put(&op->copy_streams[1]);
    if (rc < 0) {
        opal_output(0, "gpuring: %s on %s: copying between host and device memory failed: %s",
                    gr_calls[op->call.id].name, gr_comm_name(op->call.comm), gr_gpu_error());
    }
    return rc < 0 ? OMPI_ERROR : OMPI_SUCCESS;
}

int mca_coll_gpuring_overlap_unstage(struct gr_op *op, int rc)
{
    int out = op->overlaps ? end(op) : OMPI_SUCCESS;

    rc = OMPI_SUCCESS == rc ? out : rc;
    out = mca_coll_gpuring_stage_out(&op->stage, &op->call, OMPI_SUCCESS == rc);
    return OMPI_SUCCESS == rc ? out : rc;
}
