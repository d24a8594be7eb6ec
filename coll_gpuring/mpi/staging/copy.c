/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between host and device memory, in the order of the application's default streams. */
#include "mpi/staging/copy.h"

#include "comm/devices.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "mpi/buffer_desc.h"
#include "mpi/call.h"

#include "base/errors.h"
#include "cuda/stream.h"
#include "cuda/device.h"

/* ---- points in default streams ---- */

/* Add the device's, unless it is there or NULL. False: it has none. */
static bool add_point(struct gr_points *points, struct gr_gpu *gpu)
{
    int k;

    for (k = 0; NULL != gpu && k < points->n && gpu != points->at[k].gpu; k++) {
    }
    if (NULL == gpu || k < points->n) {
        return true;
    }
    points->n++;
    return 0 == gr_gpu_point_set(&points->at[k], gpu);
}

void mca_coll_gpuring_points_set(struct gr_points *points, const struct gr_call *call,
                                 struct gr_gpu *team)
{
    struct gr_buffer_desc send = mca_coll_gpuring_buffer_desc(call, false),
                          receive = mca_coll_gpuring_buffer_desc(call, true);
    struct gr_gpu *from = gr_gpu_of(mca_coll_gpuring_buffer_first(&send));
    struct gr_gpu *to = gr_gpu_of(mca_coll_gpuring_buffer_first(&receive));

    points->n = 0;
    /* each block of the ...w calls may be on a device of its own */
    if (GR_PARTS_W == send.parts || GR_PARTS_W == receive.parts || !add_point(points, team) ||
        !add_point(points, from) || !add_point(points, to)) {
        points->n = 0;
    }
}

/* ---- streams, used again by later calls ---- */

#define IDLE 16

static struct {
    gr_lock_t lock;
    struct gr_copy_stream idle[IDLE];
    int n;
} state;

struct gr_copy_stream mca_coll_gpuring_copy_stream_take(const void *buffer,
                                                        const struct gr_points *after)
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
    if (NULL != copy_stream.stream && 0 == gr_points_follow(after, copy_stream.stream)) {
        return copy_stream;
    }
    gr_gpu_stream_close(copy_stream.stream); /* the application has reset its context */
    copy_stream.stream = NULL;
    if (0 == gr_gpu_stream_open(copy_stream.gpu, &copy_stream.stream) &&
        0 != gr_points_follow(after, copy_stream.stream)) {
        gr_gpu_stream_close(copy_stream.stream);
        copy_stream.stream = NULL;
    }
    return copy_stream;
}

void mca_coll_gpuring_copy_stream_put(struct gr_copy_stream *copy_stream)
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

void mca_coll_gpuring_copy_streams_close(void)
{
    while (state.n > 0) {
        gr_gpu_stream_close(state.idle[--state.n].stream);
    }
}

/* ---- copies ---- */

/*
 * On a stream of ours, which does not wait for what was put on default streams since the points. 0
 * or negative.
 */
static int copy_after(const struct gr_points *after, const struct gr_gpu_run *runs, size_t n)
{
    bool from = NULL != gr_gpu_of(runs[0].src);
    struct gr_copy_stream copy_stream =
        mca_coll_gpuring_copy_stream_take(from ? runs[0].src : runs[0].dst, after);
    int rc = NULL == copy_stream.stream ? GR_ERR_CUDA
                                        : gr_gpu_stream_copy_runs(copy_stream.stream, runs, n);

    if (NULL != copy_stream.stream) {
        int waited = gr_gpu_stream_wait(copy_stream.stream);

        rc = 0 == rc ? waited : rc;
        mca_coll_gpuring_copy_stream_put(&copy_stream);
    }
    return rc;
}

/*
 * On the default stream of the device that owns the memory, or a stream after the points; all runs
 * are of one buffer.
 */
int mca_coll_gpuring_copy_runs(const struct gr_points *after, const struct gr_gpu_run *runs,
                               size_t n)
{
    struct gr_gpu *gpu;

    if (0 == n) {
        return OMPI_SUCCESS;
    }
    gpu = gr_gpu_of(runs[0].dst);
    gpu = NULL == gpu ? gr_gpu_of(runs[0].src) : gpu;
    gpu = NULL == gpu ? gr_gpu_any() : gpu;
    if (NULL != after && 0 < after->n && 0 == copy_after(after, runs, n)) {
        return OMPI_SUCCESS;
    }
    if (NULL != gpu && 0 != gr_follow(gpu, runs[0].src)) {
        return OMPI_ERROR;
    }
    if (NULL != gpu && 0 == gr_gpu_copy_runs(gpu, runs, n)) {
        return OMPI_SUCCESS;
    }
    gr_print("gpuring: copying between host and device memory failed: %s", gr_gpu_error());
    return OMPI_ERROR;
}

int mca_coll_gpuring_copy(const struct gr_points *after, void *dst, const void *src, size_t bytes)
{
    const struct gr_gpu_run run = {.dst = dst, .src = src, .bytes = bytes};

    return mca_coll_gpuring_copy_runs(after, &run, bytes > 0);
}
