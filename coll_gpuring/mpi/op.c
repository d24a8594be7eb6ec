/* SPDX-License-Identifier: BSD-3-Clause */
/* What an op's owner does for the engine (engine/op_hooks.h), for MPI calls. */
#include "mpi/op.h"

#include "engine/comm.h"
#include "engine/devices.h"
#include "engine/log.h"
#include "engine/op_hooks.h"
#include "engine/op_queue.h"
#include "engine/run_leader.h"
#include "mpi/buffers.h"
#include "mpi/runtime.h"
#include "mpi/staging/overlap.h"

#include "base/errors.h"
#include "cuda/device.h"
#include "exec/gpu/team.h"

#include <stdlib.h>
#include <string.h>

static int prepare_buffers(struct gr_op *op, struct gr_gpu *gpu)
{
    return mca_coll_gpuring_from_ompi(mca_coll_gpuring_buffers_prepare(gr_mpi_op(op), gpu));
}

static const struct gr_executor *replace_host(const struct gr_op *op)
{
    return mca_coll_gpuring_overlap_fits(gr_mpi_op(op)) ? &mca_coll_gpuring_run_staged : NULL;
}

/* Buffers of other devices than the team's, of whose streams no point was noted. */
static int follow_others(const struct gr_op *op, struct gr_gpu_team *team)
{
    const struct gr_stage *stage = &gr_mpi_op(op)->stage;

    return 0 == stage->after.n && stage->elsewhere &&
                   (0 != mca_coll_gpuring_follow(team->gpu, op->data.in) ||
                    0 != mca_coll_gpuring_follow(team->gpu, op->data.out))
               ? GR_ERR_FAILED
               : 0;
}

static int tell_failure(void)
{
    mca_coll_gpuring_print("gpuring: waiting for the default stream failed: %s", gr_gpu_error());
    return GR_ERR_FAILED;
}

/* Up to the call, if that was noted (stage.after), or up to now. */
static int follow(const struct gr_op *op, struct gr_gpu_team *team)
{
    if (0 != follow_others(op, team)) {
        return GR_ERR_FAILED;
    }
    return 0 != mca_coll_gpuring_points_follow(&gr_mpi_op(op)->stage.after, team->stream)
               ? tell_failure()
               : 0;
}

static int reached(const struct gr_op *op, struct gr_gpu_team *team, bool note)
{
    const struct gr_points *after = &gr_mpi_op(op)->stage.after;
    int rc = 0, k;

    if (note && 0 != follow_others(op, team)) {
        return GR_ERR_FAILED;
    }
    if (note) {
        rc = 0 == after->n ? gr_gpu_stream_note(team->stream) : gr_gpu_check(team->gpu);
    }
    if (0 == rc) {
        rc = 0 == after->n ? gr_gpu_stream_noted(team->stream) : 1;
    }
    for (k = 0; k < after->n && 1 == rc; k++) {
        rc = gr_gpu_point_reached(&after->at[k]);
    }
    return rc < 0 ? tell_failure() : rc;
}

static int unpack(struct gr_op *op)
{
    return mca_coll_gpuring_from_ompi(mca_coll_gpuring_buffers_end(gr_mpi_op(op)));
}

static int release_buffers(struct gr_op *base, int rc)
{
    struct gr_mpi_op *op = gr_mpi_op(base);
    int out =
        op->stages ? mca_coll_gpuring_stage_out(&op->stage, &op->call, 0 == rc) : OMPI_SUCCESS;

    return 0 == rc ? mca_coll_gpuring_from_ompi(out) : rc;
}

static void complete(struct gr_op *op)
{
    ompi_request_t *mpi_request = gr_mpi_op(op)->mpi_request;

    mpi_request->req_status.MPI_ERROR = mca_coll_gpuring_mpi_code(mca_coll_gpuring_to_ompi(op->rc));
    ompi_request_complete(mpi_request, true);
}

static const struct gr_op_hooks hooks = {
    .prepare = prepare_buffers,
    .replace_host = replace_host,
    .follow = follow,
    .reached = reached,
    .unpack = unpack,
    .release = release_buffers,
    .complete = complete,
};

void mca_coll_gpuring_mpi_op_init(struct gr_mpi_op *op)
{
    memset(op, 0, sizeof(*op));
    op->base.hooks = &hooks;
}

void mca_coll_gpuring_mpi_op_free(struct gr_mpi_op *op)
{
    mca_coll_gpuring_op_free(&op->base);
    free(op->kept.counts);
    mca_coll_gpuring_scratch_free(&op->kept.packed);
    mca_coll_gpuring_scratch_free(&op->kept.tmp);
    gr_staged_free(&op->kept.staging);
    mca_coll_gpuring_stage_free(&op->stage);
}

void mca_coll_gpuring_op_mark(struct gr_mpi_op *op, const struct gr_op_queue *queue)
{
    mca_coll_gpuring_points_set(&op->stage.after, &op->call,
                                NULL == queue->gpu ? NULL : queue->gpu->gpu);
    mca_coll_gpuring_leader_mark(queue);
}
