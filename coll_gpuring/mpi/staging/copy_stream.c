/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams for copies between host and device memory, and points in default streams that such copies
 * come after.
 */
#include "mpi/staging/copy_stream.h"

#include "engine/lock.h"
#include "mpi/call.h"
#include "engine/devices.h"
#include "mpi/buffer_desc.h"

#include "cuda/stream.h"

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
    struct gr_gpu *from = mca_coll_gpuring_gpu_of(mca_coll_gpuring_buffer_first(&send));
    struct gr_gpu *to = mca_coll_gpuring_gpu_of(mca_coll_gpuring_buffer_first(&receive));

    points->n = 0;
    /* each block of the ...w calls may be on a device of its own */
    if (GR_PARTS_W == send.parts || GR_PARTS_W == receive.parts || !add_point(points, team) ||
        !add_point(points, from) || !add_point(points, to)) {
        points->n = 0;
    }
}

void mca_coll_gpuring_points_free(struct gr_points *points)
{
    int k;

    for (k = 0; k < GR_POINTS; k++) {
        gr_gpu_point_free(&points->at[k]);
    }
    points->n = 0;
}

int mca_coll_gpuring_points_follow(const struct gr_points *points, struct gr_gpu_stream *stream)
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

struct gr_copy_stream mca_coll_gpuring_copy_stream_take(const void *buffer,
                                                        const struct gr_points *after)
{
    struct gr_copy_stream copy_stream = {mca_coll_gpuring_gpu_of(buffer), NULL};
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
    if (NULL != copy_stream.stream &&
        0 == mca_coll_gpuring_points_follow(after, copy_stream.stream)) {
        return copy_stream;
    }
    gr_gpu_stream_close(copy_stream.stream); /* the application has reset its context */
    copy_stream.stream = NULL;
    if (0 == gr_gpu_stream_open(copy_stream.gpu, &copy_stream.stream) &&
        0 != mca_coll_gpuring_points_follow(after, copy_stream.stream)) {
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
