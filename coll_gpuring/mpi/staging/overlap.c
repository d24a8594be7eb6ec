/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executor: host steps on staged buffers that are copied band by band while steps run
 * (exec/staged.h).
 */
#include "mpi/staging/overlap.h"

#include "comm/failure.h"
#include "comm/params.h"
#include "comm/runtime.h"
#include "engine/op_queue.h"
#include "exec/op_end.h"
#include "exec/run_host.h"
#include "mpi/buffer_desc.h"
#include "mpi/call.h"
#include "mpi/datatype.h"
#include "mpi/op.h"
#include "mpi/runtime.h"
#include "mpi/staging/copy.h"
#include "mpi/staging/stage.h"

#include "base/errors.h"
#include "cuda/device.h"
#include "exec/staged.h"
#include "link/team.h"
#include "sched/sched.h"

#include <string.h>

/*
 * Whether nothing is packed or unpacked on the way: elements lie in the buffers as steps move them.
 */
static bool is_plain(const struct gr_call *call)
{
    return mca_coll_gpuring_is_gapless(call->rtype) &&
           (gr_calls[call->id].reduces || GR_CALL_BCAST == call->id || MPI_IN_PLACE == call->sbuf ||
            mca_coll_gpuring_is_gapless(call->stype));
}

static size_t stage_bytes_of(const struct gr_mpi_op *op)
{
    return (size_t) op->base.comm->params.value[GR_PARAM_STAGE_BYTES];
}

/*
 * Not for an Alltoall, whose blocks change places, nor along a torus. Without links there is
 * nothing to overlap with.
 */
bool mca_coll_gpuring_overlap_fits(const struct gr_mpi_op *op)
{
    size_t stage_bytes;

    if (GR_LINKS_THERE != gr_op_host_links(&op->base) || !op->base.comm->gpu) {
        return false;
    }
    stage_bytes = stage_bytes_of(op);
    return GR_COLL_ALLTOALL != op->base.data.spec.coll &&
           !gr_algo_is_torus((enum gr_algo) op->base.choice.algo) && stage_bytes > 0 &&
           op->base.data.bytes / 2 >= stage_bytes && is_plain(&op->call);
}

/* The buffers are copied later. */
static int staged_prepare(struct gr_op *base)
{
    struct gr_mpi_op *op = gr_mpi_op(base);
    int rc = mca_coll_gpuring_stage_place(&op->stage, &op->call, NULL);

    rc = OMPI_SUCCESS == rc ? mca_coll_gpuring_buffers_begin(op) : rc;
    return mca_coll_gpuring_from_ompi(rc);
}

/* Bytes from a staged buffer to its original. */
static ptrdiff_t to_original(const struct gr_mpi_op *op, bool receive)
{
    const struct gr_call *original = &op->stage.original;

    return receive ? (ptrdiff_t) ((uintptr_t) original->rbuf - (uintptr_t) op->call.rbuf)
                   : (ptrdiff_t) ((uintptr_t) original->sbuf - (uintptr_t) op->call.sbuf);
}

/* Whether the receive buffer holds input of the call. */
static bool reads_receive(const struct gr_mpi_op *op)
{
    return mca_coll_gpuring_reads_block(&op->call, ompi_comm_rank(op->call.comm));
}

/* Whether steps leave results in the receive buffer. */
static bool writes_receive(const struct gr_mpi_op *op)
{
    return GR_FINISH_NONE == op->finish &&
           (GR_CALL_BCAST != op->call.id || ompi_comm_rank(op->call.comm) != op->call.root);
}

/* Take streams for the copies, and begin them. 0, or GR_ERR_... */
static int begin_copies(struct gr_mpi_op *op)
{
    struct gr_host_run *run = &op->base.run.host;
    struct gr_staged_copy in = {.stream = NULL}, out = {.stream = NULL};
    bool from_receive = op->stage.out && reads_receive(op), wants_in = op->stage.in || from_receive;
    bool wants_out = op->stage.out && writes_receive(op);

    if (wants_in) {
        op->copies[0] = mca_coll_gpuring_copy_stream_take(
            from_receive ? op->stage.original.rbuf : op->stage.original.sbuf, &op->stage.after);
        in = (struct gr_staged_copy) {op->copies[0].stream, to_original(op, from_receive)};
    }
    if (wants_out) {
        op->copies[1] =
            mca_coll_gpuring_copy_stream_take(op->stage.original.rbuf, &op->stage.after);
        out = (struct gr_staged_copy) {op->copies[1].stream, to_original(op, true)};
    }
    if (wants_in && NULL == in.stream) {
        int rc = mca_coll_gpuring_stage_copy(&op->stage, &op->call);

        if (OMPI_SUCCESS != rc) {
            return mca_coll_gpuring_from_ompi(rc);
        }
    }
    op->stage.brought = NULL != out.stream; /* without a stream, results are copied at the end */
    if (0 > gr_staged_begin(&op->kept.staging, &run->op, &run->stepper, &in, &out,
                            stage_bytes_of(op))) {
        return GR_ERR_FAILED; /* finish reports it */
    }
    return 0;
}

static int staged_start(struct gr_op *base)
{
    struct gr_mpi_op *op = gr_mpi_op(base);
    int rc;

    memset(op->copies, 0, sizeof(op->copies));
    rc = gr_host_start(base, &gr_staged_backend, &op->kept.staging);
    rc = 0 == rc ? begin_copies(op) : rc;
    return 0 == rc ? gr_host_time(base) : rc;
}

static int staged_poll(struct gr_op *base, uint64_t *moved)
{
    int rc = gr_host_poll(base, moved), error = gr_mpi_op(base)->kept.staging.error;

    if (rc >= 0 && error < 0) {
        gr_op_report_error(base, error);
        return error;
    }
    return rc;
}

/* Also waits for the copies. */
static int staged_finish(struct gr_op *base, int rc)
{
    struct gr_mpi_op *op = gr_mpi_op(base);
    int error;

    (void) gr_host_finish(base, rc);
    error = gr_staged_end(&op->kept.staging);
    mca_coll_gpuring_copy_stream_put(&op->copies[0]);
    mca_coll_gpuring_copy_stream_put(&op->copies[1]);
    if (error < 0) {
        gr_print("gpuring: %s on %s: copying between host and device memory failed: %s",
                 gr_calls[op->call.id].name, gr_ompi_name(op->call.comm), gr_gpu_error());
    }
    return 0 == rc && error < 0 ? GR_ERR_FAILED : rc;
}

static const char *copy_waits(const struct gr_op *op, uint32_t channel)
{
    return gr_staged_waits(&gr_mpi_op(op)->kept.staging, channel) ? "a copy from or to the device"
                                                                  : NULL;
}

static void staged_explain(struct gr_op *op, char *text, size_t size)
{
    gr_host_explain(op, gr_use_name(op->choice.algo), copy_waits, text, size);
}

const struct gr_executor mca_coll_gpuring_run_staged = {
    .runs_steps = true,
    .links = gr_op_host_links,
    .connect = gr_host_connect,
    .prepare = staged_prepare,
    .start = staged_start,
    .poll = staged_poll,
    .waits_near = gr_host_waits_near,
    .abort = gr_host_abort,
    .finish = staged_finish,
    .explain = staged_explain,
};
