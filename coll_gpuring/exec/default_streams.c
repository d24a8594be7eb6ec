/* SPDX-License-Identifier: BSD-3-Clause */
/* What an op comes after (default_streams.h). */
#include "exec/default_streams.h"

#include "comm/devices.h"
#include "comm/runtime.h"
#include "exec/op.h"

#include "base/errors.h"
#include "cuda/device.h"
#include "exec/gpu/team.h"

/* ---- points ---- */

void gr_points_free(struct gr_points *points)
{
    int k;

    for (k = 0; k < GR_POINTS; k++) {
        gr_gpu_point_free(&points->at[k]);
    }
    points->n = 0;
}

int gr_points_follow(const struct gr_points *points, struct gr_gpu_stream *stream)
{
    int k, rc = 0;

    if (NULL == points || 0 == points->n) {
        return gr_gpu_stream_follow(stream);
    }
    for (k = 0; k < points->n && 0 == rc; k++) {
        rc = gr_gpu_stream_follow_point(stream, &points->at[k]);
    }
    return rc;
}

/* ---- kernels of an op ---- */

/* Buffers of other devices than the team's, of whose streams no point was noted. */
static int follow_others(const struct gr_op *op, struct gr_gpu_team *team)
{
    return 0 == op->after->n && op->elsewhere &&
                   (0 != gr_follow(team->gpu, op->data.in) ||
                    0 != gr_follow(team->gpu, op->data.out))
               ? GR_ERR_FAILED
               : 0;
}

static int tell_failure(void)
{
    gr_print("gpuring: waiting for the default stream failed: %s", gr_gpu_error());
    return GR_ERR_FAILED;
}

int gr_op_follow(const struct gr_op *op, struct gr_gpu_team *team)
{
    if (0 != follow_others(op, team)) {
        return GR_ERR_FAILED;
    }
    return 0 != gr_points_follow(op->after, team->stream) ? tell_failure() : 0;
}

int gr_op_reached(const struct gr_op *op, struct gr_gpu_team *team, bool note)
{
    const struct gr_points *after = op->after;
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
