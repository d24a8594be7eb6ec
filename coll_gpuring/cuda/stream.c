/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies, streams, and kernel launches on streams (stream.h). */
#include "cuda/stream.h"

#include "base/memory.h"
#include "cuda/context.h"

#include <stdlib.h>

/* ---- the legacy default stream, which orders gpuring's work after the application's ---- */

static void CUDA_CB do_nothing(void *unused)
{
    (void) unused;
}

static void close_default(const struct gr_cuda *cuda, CUstream stream)
{
    if (CU_STREAM_LEGACY != stream) {
        (void) cuda->cuStreamDestroy(stream); /* takes effect when its work is done */
    }
}

/*
 * Open a stream that runs after all work that is now on the legacy default stream: this stream
 * itself, or a new blocking stream while the application captures a blocking stream and the legacy
 * stream must not be used. Returns the driver's result.
 */
static CUresult open_default(const struct gr_cuda *cuda, CUstream *stream)
{
    CUstreamCaptureStatus status;
    CUresult result;

    *stream = CU_STREAM_LEGACY;
    if (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT !=
        cuda->cuStreamIsCapturing(CU_STREAM_LEGACY, &status)) {
        return CUDA_SUCCESS;
    }
    result = cuda->cuStreamCreateWithPriority(stream, CU_STREAM_DEFAULT, 0);
    if (CUDA_SUCCESS == result) {
        /*
         * Work on a blocking stream runs after the legacy stream's. An event might not count as
         * work, so put a host function there.
         */
        result = cuda->cuLaunchHostFunc(*stream, do_nothing, NULL);
        if (CUDA_SUCCESS != result) {
            close_default(cuda, *stream);
        }
    }
    return result;
}

/* ---- copies that the host waits for ---- */

/* Wait for the work on the default stream of the current context. */
static CUresult wait_default(const struct gr_cuda *cuda)
{
    CUstream stream;
    CUresult result = open_default(cuda, &stream);

    if (CUDA_SUCCESS == result) {
        result = cuda->cuStreamSynchronize(stream);
        close_default(cuda, stream);
    }
    return result;
}

/*
 * Wait for the work on the default stream of the current context, unless it is the context `but`.
 * The application may use a context of its own, or another device.
 */
static int wait_for_current(const struct gr_cuda *cuda, CUcontext but)
{
    CUcontext current = NULL;
    CUstreamCaptureMode mode;
    CUresult result;

    if (CUDA_SUCCESS != cuda->cuCtxGetCurrent(&current) || NULL == current || but == current) {
        return 0;
    }
    mode = gr_cuda_relax(cuda);
    result = wait_default(cuda);
    gr_cuda_restore(cuda, mode);
    if (CUDA_ERROR_CONTEXT_IS_DESTROYED == result || CUDA_ERROR_INVALID_CONTEXT == result) {
        return 0; /* its work is gone, too */
    }
    return gr_cuda_check(cuda, "cuStreamSynchronize", result);
}

int gr_gpus_wait_current(struct gr_gpus *gpus, int but)
{
    return wait_for_current(&gpus->cuda, gpus->slots[but].primary);
}

int gr_gpu_wait_default(struct gr_gpu *gpu)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;

    return GR_TRY_IN_CONTEXT(gpu, gr_cuda_check(cuda, "cuStreamSynchronize", wait_default(cuda)));
}

/* Largest pitch of a 2D copy, in bytes, that every device supports. */
#define MAX_PITCH ((ptrdiff_t) INT32_MAX)

static ptrdiff_t distance(const void *a, const void *b)
{
    return (ptrdiff_t) ((uintptr_t) b - (uintptr_t) a);
}

int gr_gpu_run_join(struct gr_gpu_run *run, const struct gr_gpu_run *next)
{
    ptrdiff_t bytes = (ptrdiff_t) run->bytes, dst = distance(run->dst, next->dst),
              src = distance(run->src, next->src);
    ptrdiff_t rows = (ptrdiff_t) run->more_rows;

    if (0 != next->more_rows) {
        return 0;
    }
    if (0 == rows && dst == bytes && src == bytes) {
        run->bytes += next->bytes;
        return 1;
    }
    if (run->bytes != next->bytes) {
        return 0;
    }
    if (0 == rows) {
        if (dst < bytes || src < bytes || dst > MAX_PITCH || src > MAX_PITCH) {
            return 0;
        }
        run->dst_pitch = (size_t) dst;
        run->src_pitch = (size_t) src;
    } else if (dst != (rows + 1) * (ptrdiff_t) run->dst_pitch ||
               src != (rows + 1) * (ptrdiff_t) run->src_pitch) {
        return 0;
    }
    run->more_rows++;
    return 1;
}

static int copy_run(const struct gr_cuda *cuda, const struct gr_gpu_run *run, CUstream stream)
{
    const CUDA_MEMCPY2D c = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = gr_cuda_ptr(run->src),
        .srcPitch = run->src_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = gr_cuda_ptr(run->dst),
        .dstPitch = run->dst_pitch,
        .WidthInBytes = run->bytes,
        .Height = run->more_rows + 1,
    };

    if (0 == run->bytes) {
        return 0;
    }
    return 0 == run->more_rows
               ? GR_CUDA(cuda, cuMemcpyAsync, c.dstDevice, c.srcDevice, run->bytes, stream)
               : GR_CUDA(cuda, cuMemcpy2DAsync, &c, stream);
}

/* Put copies of n runs on a stream. The context is current. */
static int put_runs(const struct gr_cuda *cuda, const struct gr_gpu_run *runs, size_t n,
                    CUstream stream)
{
    size_t k;
    int rc = 0;

    for (k = 0; k < n && 0 == rc; k++) {
        rc = copy_run(cuda, &runs[k], stream);
    }
    return rc;
}

/*
 * The copies use the legacy default stream, so that they follow the application's work. gpuring's
 * own streams are not ordered with it, so its kernels may run at the same time.
 */
static int copy_runs(const struct gr_cuda *cuda, const struct gr_gpu_run *runs, size_t n)
{
    CUstream stream;
    int rc = gr_cuda_check(cuda, "the default stream", open_default(cuda, &stream));

    if (rc < 0) {
        return rc;
    }
    rc = put_runs(cuda, runs, n, stream);
    if (0 == rc) {
        rc = GR_CUDA(cuda, cuStreamSynchronize, stream);
    }
    close_default(cuda, stream);
    return rc;
}

int gr_gpu_copy_runs(struct gr_gpu *gpu, const struct gr_gpu_run *runs, size_t n)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    int rc = wait_for_current(cuda, gpu->context);

    if (0 == rc) {
        rc = GR_TRY_IN_CONTEXT(gpu, copy_runs(cuda, runs, n));
    }
    return rc;
}

int gr_gpu_copy(struct gr_gpu *gpu, void *dst, const void *src, size_t bytes)
{
    const struct gr_gpu_run run = {.dst = dst, .src = src, .bytes = bytes};

    return 0 == bytes ? 0 : gr_gpu_copy_runs(gpu, &run, 1);
}

/* ---- streams ---- */

/* Create the stream and its event. The context is current. */
static int create(struct gr_gpu_stream *s)
{
    const struct gr_cuda *cuda = &s->gpu->gpus->cuda;
    int least = 0, greatest = 0;
    int rc = GR_CUDA(cuda, cuCtxGetStreamPriorityRange, &least, &greatest);

    if (0 == rc) {
        rc =
            GR_CUDA(cuda, cuStreamCreateWithPriority, &s->stream, CU_STREAM_NON_BLOCKING, greatest);
    }
    if (rc < 0) {
        return rc;
    }
    rc = GR_CUDA(cuda, cuEventCreate, &s->event, CU_EVENT_DISABLE_TIMING);
    if (rc < 0) {
        (void) cuda->cuStreamDestroy(s->stream);
    }
    return rc;
}

int gr_gpu_stream_open(struct gr_gpu *gpu, struct gr_gpu_stream **stream)
{
    struct gr_gpu_stream *s = gr_calloc(1, sizeof(*s));
    int rc;

    if (NULL == s) {
        return GR_ERR_NOMEM;
    }
    s->gpu = gpu;
    rc = GR_IN_CONTEXT(gpu, create(s));
    if (rc < 0) {
        free(s);
        return rc;
    }
    *stream = s;
    return 0;
}

void gr_gpu_stream_close(struct gr_gpu_stream *stream)
{
    const struct gr_cuda *cuda;
    struct gr_cuda_saved saved;
    int k;

    if (NULL == stream) {
        return;
    }
    cuda = &stream->gpu->gpus->cuda;
    if (0 == gr_cuda_enter_alive(stream->gpu->gpus, stream->gpu->ordinal, &saved)) {
        (void) cuda->cuStreamSynchronize(stream->stream);
        (void) cuda->cuEventDestroy(stream->event);
        for (k = 0; k < GR_GPU_MARKS; k++) {
            if (NULL != stream->marks[k]) {
                (void) cuda->cuEventDestroy(stream->marks[k]);
            }
        }
        (void) cuda->cuStreamDestroy(stream->stream);
        gr_cuda_leave(cuda, &saved);
    }
    free(stream);
}

/* Record an event on the default stream of the current context. */
static int record_default(const struct gr_cuda *cuda, CUevent event)
{
    CUstream stream;
    int rc = gr_cuda_check(cuda, "the default stream", open_default(cuda, &stream));

    if (0 == rc) {
        rc = GR_CUDA(cuda, cuEventRecord, event, stream);
        close_default(cuda, stream);
    }
    return rc;
}

/* The context is current. */
static int follow(struct gr_gpu_stream *stream)
{
    const struct gr_cuda *cuda = &stream->gpu->gpus->cuda;
    int rc = record_default(cuda, stream->event);

    if (0 == rc) {
        rc = GR_CUDA(cuda, cuStreamWaitEvent, stream->stream, stream->event, CU_EVENT_WAIT_DEFAULT);
    }
    return rc;
}

int gr_gpu_stream_follow(struct gr_gpu_stream *stream)
{
    return GR_IN_LIVE_CONTEXT(stream->gpu, follow(stream));
}

/* Record the point's event. If the application has reset the event's context, create a new one. */
static int record_again(struct gr_gpu *gpu, struct gr_gpu_point *point)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUevent event = point->event;
    int rc = NULL == event ? GR_ERR_CUDA : record_default(cuda, event);

    point->gpu = gpu;
    if (0 == rc) {
        return 0;
    }
    rc = GR_CUDA(cuda, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    if (0 == rc) {
        point->event = event;
        rc = record_default(cuda, event);
    }
    return rc;
}

int gr_gpu_point_set(struct gr_gpu_point *point, struct gr_gpu *gpu)
{
    if (gpu != point->gpu) {
        gr_gpu_point_free(point);
    }
    return GR_IN_CONTEXT(gpu, record_again(gpu, point));
}

void gr_gpu_point_free(struct gr_gpu_point *point)
{
    if (NULL != point->event) {
        (void) GR_IN_LIVE_CONTEXT(point->gpu, point->gpu->gpus->cuda.cuEventDestroy(point->event));
    }
    *point = (struct gr_gpu_point) {NULL, NULL};
}

int gr_gpu_stream_follow_point(struct gr_gpu_stream *stream, const struct gr_gpu_point *point)
{
    const struct gr_cuda *cuda = &stream->gpu->gpus->cuda;

    return GR_IN_LIVE_CONTEXT(stream->gpu, GR_CUDA(cuda, cuStreamWaitEvent, stream->stream,
                                                   point->event, CU_EVENT_WAIT_DEFAULT));
}

/* The context is current. */
static int launch(struct gr_gpu_stream *stream, enum gr_kernel_entry entry, enum gr_kernel kernel,
                  uint32_t nblocks, uint32_t threads, const void *args)
{
    const struct gr_cuda *cuda = &stream->gpu->gpus->cuda;
    /* the driver copies the arguments before it returns, and does not write them */
    void *params[] = {(void *) (uintptr_t) args};
    CUfunction function;
    int rc = gr_cuda_kernel(stream->gpu, entry, kernel, &function);

    return 0 == rc ? GR_CUDA(cuda, cuLaunchKernel, function, nblocks, 1, 1, threads, 1, 1, 0,
                             stream->stream, params, NULL)
                   : rc;
}

int gr_gpu_launch(struct gr_gpu_stream *stream, enum gr_kernel kernel, uint32_t nblocks,
                  const struct gr_gpu_args *args)
{
    return GR_IN_CONTEXT(stream->gpu,
                         launch(stream, GR_ENTRY_CHANNELS, kernel, nblocks,
                                0 == args->threads ? GR_GPU_THREADS : args->threads, args));
}

int gr_gpu_launch_leader(struct gr_gpu_stream *stream, enum gr_kernel kernel, uint32_t nblocks,
                         const struct gr_leader_args *args)
{
    return GR_IN_CONTEXT(stream->gpu,
                         launch(stream, GR_ENTRY_LEADER, kernel, nblocks, GR_GPU_THREADS, args));
}

int gr_gpu_stream_copy(struct gr_gpu_stream *stream, gr_gpu_ptr dst, gr_gpu_ptr src, size_t bytes)
{
    const struct gr_gpu_run run = {
        .dst = (void *) (uintptr_t) dst, .src = (const void *) (uintptr_t) src, .bytes = bytes};

    return 0 == bytes ? 0 : gr_gpu_stream_copy_runs(stream, &run, 1);
}

int gr_gpu_stream_copy_runs(struct gr_gpu_stream *stream, const struct gr_gpu_run *runs, size_t n)
{
    return GR_TRY_IN_CONTEXT(stream->gpu,
                             put_runs(&stream->gpu->gpus->cuda, runs, n, stream->stream));
}

/* The context is current. */
static int record_mark(struct gr_gpu_stream *stream, uint32_t mark)
{
    const struct gr_cuda *cuda = &stream->gpu->gpus->cuda;
    CUevent *event = &stream->marks[mark];
    int rc = NULL == *event ? GR_CUDA(cuda, cuEventCreate, event, CU_EVENT_DISABLE_TIMING) : 0;

    return 0 == rc ? GR_CUDA(cuda, cuEventRecord, *event, stream->stream) : rc;
}

int gr_gpu_stream_mark(struct gr_gpu_stream *stream, uint32_t mark)
{
    return GR_TRY_IN_CONTEXT(stream->gpu, record_mark(stream, mark));
}

/* Convert the result of a query: 1 done, 0 not ready, or an error code. */
static int query_status(const struct gr_cuda *cuda, const char *function, CUresult result)
{
    int rc = CUDA_ERROR_NOT_READY == result ? 0 : gr_cuda_check(cuda, function, result);

    return CUDA_SUCCESS == result ? 1 : rc;
}

/* Needs no context. */
static int query_event(const struct gr_cuda *cuda, CUevent event)
{
    CUstreamCaptureMode mode = gr_cuda_relax(cuda);
    int k, rc = GR_ERR_CUDA;

    for (k = 0; k < GR_TRIES && rc < 0; k++) {
        rc = query_status(cuda, "cuEventQuery", cuda->cuEventQuery(event));
    }
    gr_cuda_restore(cuda, mode);
    return rc;
}

int gr_gpu_stream_reached(struct gr_gpu_stream *stream, uint32_t mark)
{
    return query_event(&stream->gpu->gpus->cuda, stream->marks[mark]);
}

int gr_gpu_stream_note(struct gr_gpu_stream *stream)
{
    return GR_IN_LIVE_CONTEXT(stream->gpu, record_default(&stream->gpu->gpus->cuda, stream->event));
}

int gr_gpu_stream_noted(struct gr_gpu_stream *stream)
{
    return query_event(&stream->gpu->gpus->cuda, stream->event);
}

int gr_gpu_point_reached(const struct gr_gpu_point *point)
{
    return query_event(&point->gpu->gpus->cuda, point->event);
}

int gr_gpu_stream_zero(struct gr_gpu_stream *stream, gr_gpu_ptr at, size_t bytes)
{
    const struct gr_cuda *cuda = &stream->gpu->gpus->cuda;

    return 0 == bytes ? 0
                      : GR_IN_CONTEXT(stream->gpu,
                                      GR_CUDA(cuda, cuMemsetD8Async, at, 0, bytes, stream->stream));
}

int gr_gpu_stream_done(struct gr_gpu_stream *stream)
{
    const struct gr_cuda *cuda = &stream->gpu->gpus->cuda;

    return GR_TRY_IN_CONTEXT(
        stream->gpu, query_status(cuda, "cuStreamQuery", cuda->cuStreamQuery(stream->stream)));
}

int gr_gpu_stream_wait(struct gr_gpu_stream *stream)
{
    return GR_TRY_IN_CONTEXT(
        stream->gpu, GR_CUDA(&stream->gpu->gpus->cuda, cuStreamSynchronize, stream->stream));
}
