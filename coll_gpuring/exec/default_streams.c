/* SPDX-License-Identifier: BSD-3-Clause */
/* What an op, or a copy, comes after (default_streams.h). */
#include "exec/default_streams.h"

#include "comm/devices.h"
#include "exec/op.h"

/* ---- points ---- */

void gr_points_free(struct gr_points *points)
{
    int k;

    for (k = 0; k < GR_POINTS; k++) {
        gr_gpu_point_free(&points->at[k]);
    }
    points->n = 0;
}

/*
 * The stream comes after the points; NULL, or without any: after what is on its device's default
 * stream. 0 or negative.
 */
static int follow_points(const struct gr_points *points, struct gr_gpu_stream *stream)
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

/* ---- streams, used again by later calls ---- */

#define IDLE 16

static struct {
    gr_lock_t lock;
    struct gr_copy_stream idle[IDLE];
    int n;
} state;

struct gr_copy_stream gr_copy_stream_take(const void *buffer, const struct gr_points *after)
{
    struct gr_copy_stream copy_stream = {gr_gpu_of(buffer), NULL};
    int k;

    if (NULL == copy_stream.gpu) {
        return copy_stream;
    }
    gr_lock(&state.lock);
    for (k = state.n - 1; k >= 0 && NULL == copy_stream.stream; k--) {
        if (copy_stream.gpu == state.idle[k].gpu) {
            copy_stream = state.idle[k];
            state.idle[k] = state.idle[--state.n];
        }
    }
    gr_unlock(&state.lock);
    if (NULL != copy_stream.stream && 0 == follow_points(after, copy_stream.stream)) {
        return copy_stream;
    }
    gr_gpu_stream_close(copy_stream.stream); /* the application has reset its context */
    copy_stream.stream = NULL;
    if (0 == gr_gpu_stream_open(copy_stream.gpu, &copy_stream.stream) &&
        0 != follow_points(after, copy_stream.stream)) {
        gr_gpu_stream_close(copy_stream.stream);
        copy_stream.stream = NULL;
    }
    return copy_stream;
}

void gr_copy_stream_put(struct gr_copy_stream *copy_stream)
{
    struct gr_copy_stream freed = *copy_stream;

    copy_stream->stream = NULL;
    gr_lock(&state.lock);
    if (NULL != freed.stream && state.n < IDLE) {
        state.idle[state.n++] = freed;
        freed.stream = NULL;
    }
    gr_unlock(&state.lock);
    gr_gpu_stream_close(freed.stream);
}

void gr_copy_streams_close(void)
{
    while (state.n > 0) {
        gr_gpu_stream_close(state.idle[--state.n].stream);
    }
}

/* ---- copies ---- */

/* On a stream of ours, which does not wait for what was put on default streams since the points. */
static int copy_on_stream(const struct gr_points *after, const struct gr_gpu_run *runs, size_t n)
{
    bool from = NULL != gr_gpu_of(runs[0].src);
    struct gr_copy_stream copy_stream =
        gr_copy_stream_take(from ? runs[0].src : runs[0].dst, after);
    int rc = NULL == copy_stream.stream ? GR_ERR_CUDA
                                        : gr_gpu_stream_copy_runs(copy_stream.stream, runs, n);

    if (NULL != copy_stream.stream) {
        int waited = gr_gpu_stream_wait(copy_stream.stream);

        rc = 0 == rc ? waited : rc;
        gr_copy_stream_put(&copy_stream);
    }
    return rc;
}

/*
 * On the default stream of the device that owns the memory, or a stream after the points; all runs
 * are of one buffer.
 */
int gr_copy_runs_after(const struct gr_points *after, const struct gr_gpu_run *runs, size_t n)
{
    struct gr_gpu *gpu;

    if (0 == n) {
        return 0;
    }
    gpu = gr_gpu_of(runs[0].dst);
    gpu = NULL == gpu ? gr_gpu_of(runs[0].src) : gpu;
    gpu = NULL == gpu ? gr_gpu_any() : gpu;
    if (NULL != after && 0 < after->n && 0 == copy_on_stream(after, runs, n)) {
        return 0;
    }
    if (NULL != gpu && 0 != gr_follow(gpu, runs[0].src)) {
        return GR_ERR_CUDA;
    }
    if (NULL != gpu && 0 == gr_gpu_copy_runs(gpu, runs, n)) {
        return 0;
    }
    gr_print("gpuring: copying between host and device memory failed: %s", gr_gpu_error());
    return GR_ERR_CUDA;
}

int gr_copy_after(const struct gr_points *after, void *dst, const void *src, size_t bytes)
{
    const struct gr_gpu_run run = {.dst = dst, .src = src, .bytes = bytes};

    return gr_copy_runs_after(after, &run, bytes > 0);
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

int gr_op_start_in_bracket(struct gr_op *op, int (*start)(struct gr_op *op))
{
    struct gr_gpu *gpu = op->queue->gpu->gpu;
    int rc;

    if (0 != gr_gpu_bracket_open(gpu)) {
        return tell_failure();
    }
    rc = start(op);
    gr_gpu_bracket_close(gpu);
    return rc;
}

int gr_op_follow(const struct gr_op *op, struct gr_gpu_team *team)
{
    if (0 != follow_others(op, team)) {
        return GR_ERR_FAILED;
    }
    return 0 != follow_points(op->after, team->stream) ? tell_failure() : 0;
}

int gr_op_reached(const struct gr_op *op, struct gr_gpu_team *team, bool note)
{
    const struct gr_points *after = op->after;
    int rc = 0, k;

    if (note && 0 != follow_others(op, team)) {
        return GR_ERR_FAILED;
    }
    if (note) {
        rc = 0 == after->n ? gr_gpu_stream_note(team->stream) : 0;
    }
    if (0 == rc) {
        rc = 0 == after->n ? gr_gpu_stream_noted(team->stream) : 1;
    }
    for (k = 0; k < after->n && 1 == rc; k++) {
        rc = gr_gpu_point_reached(&after->at[k]);
    }
    return rc < 0 ? tell_failure() : rc;
}
