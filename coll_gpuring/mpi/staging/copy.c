/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between host and device memory, in the order of the application's default streams. */
#include "mpi/staging/copy.h"

#include "engine/devices.h"
#include "engine/log.h"
#include "mpi/staging/copy_stream.h"

#include "base/errors.h"
#include "cuda/stream.h"
#include "cuda/device.h"

/*
 * On a stream of ours, which does not wait for what was put on default streams since the points. 0
 * or negative.
 */
static int copy_after(const struct gr_points *after, const struct gr_gpu_run *runs, size_t n)
{
    bool from = NULL != mca_coll_gpuring_gpu_of(runs[0].src);
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
    gpu = mca_coll_gpuring_gpu_of(runs[0].dst);
    gpu = NULL == gpu ? mca_coll_gpuring_gpu_of(runs[0].src) : gpu;
    gpu = NULL == gpu ? mca_coll_gpuring_gpu_any() : gpu;
    if (NULL != after && 0 < after->n && 0 == copy_after(after, runs, n)) {
        return OMPI_SUCCESS;
    }
    if (NULL != gpu && 0 != mca_coll_gpuring_follow(gpu, runs[0].src)) {
        return OMPI_ERROR;
    }
    if (NULL != gpu && 0 == gr_gpu_copy_runs(gpu, runs, n)) {
        return OMPI_SUCCESS;
    }
    mca_coll_gpuring_print("gpuring: copying between host and device memory failed: %s",
                           gr_gpu_error());
    return OMPI_ERROR;
}

int mca_coll_gpuring_copy(const struct gr_points *after, void *dst, const void *src, size_t bytes)
{
    const struct gr_gpu_run run = {.dst = dst, .src = src, .bytes = bytes};

    return mca_coll_gpuring_copy_runs(after, &run, bytes > 0);
}
