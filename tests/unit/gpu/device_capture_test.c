/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * While the application captures a graph (cuda/context.h: gr_cuda_relax(),
 * open_default()): all that we do with the driver is allowed, leaves the capture valid, and
 * still comes after what is on the default stream.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "device_app.h"

#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/pointer.h"
#include "cuda/stream.h"

#include <pthread.h>

enum { BYTES = 30000, MODES = 3 };

static const CUstreamCaptureMode modes[MODES] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                                 CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                                 CU_STREAM_CAPTURE_MODE_RELAXED};

/* A stream of the current context, captured. */
static CUstream capture(unsigned int flags, CUstreamCaptureMode mode)
{
    CUstream stream;

    APP(cuStreamCreate, &stream, flags);
    APP(cuStreamBeginCapture, stream, mode);
    return stream;
}

static void end(CUstream stream)
{
    CUgraph graph = NULL;

    APP(cuStreamEndCapture, stream, &graph);
    CHECK(NULL != graph);
}

/* Memory and streams of all kinds come and go. */
static void use_everything(struct gr_gpus *gpus, struct gr_gpu *gpu, void *memory)
{
    unsigned char handle[GR_GPU_IPC_BYTES], *pinned = gr_gpu_host_alloc(gpu, BYTES);
    static _Alignas(4096) unsigned char page[4096];
    struct gr_gpu_stream *stream;
    gr_gpu_ptr at, known;
    int reached;

    CHECK(NULL != pinned);
    CHECK_INT(gr_gpu_alloc(gpu, BYTES, &at), 0);
    CHECK_INT(gr_gpu_host_pin(gpu, page, sizeof(page), &known), 0);
    CHECK_INT(gr_pointer_find(gpus, memory).memory, GR_MEMORY_DEVICE);
    CHECK_INT(gr_gpu_ipc_export(gpu, at, handle), 0);
    CHECK_INT(gr_gpu_stream_open(gpu, &stream), 0);
    CHECK_INT(gr_gpu_stream_follow(stream), 0);
    CHECK_INT(gr_gpu_stream_zero(stream, at, BYTES), 0);
    CHECK_INT(gr_gpu_stream_copy(stream, gr_cuda_ptr(pinned), at, BYTES), 0);
    CHECK_INT(gr_gpu_stream_mark(stream, 0), 0);
    do {
        reached = gr_gpu_stream_reached(stream, 0);
    } while (0 == reached);
    CHECK_INT(reached, 1);
    CHECK_INT(gr_gpu_stream_wait(stream), 0);
    CHECK_INT(gr_gpu_stream_done(stream), 1);
    gr_gpu_stream_close(stream);
    CHECK_INT(gr_gpu_copy(gpu, memory, pinned, BYTES), 0);
    CHECK_INT(gr_gpu_wait_default(gpu), 0);
    gr_gpu_host_unpin(gpu, page);
    gr_gpu_host_free(gpu, pinned);
    gr_gpu_free(gpu, at);
}

static void a_capture_of_this_thread_goes_on(void)
{
    struct gr_gpu *gpu;
    int k;

    for (k = 0; k < 2 * MODES; k++) {
        void *memory;
        CUstream s;

        app_use(0);
        memory = app_memory(APP_DEVICE, BYTES); /* the component sees it for the first time */
        s = capture(k % 2 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING, modes[k / 2]);
        gpu = get_gpu(gpus, 0); /* made ready by the first */
        (void) gr_gpu_can_access(gpu, 1);
        use_everything(gpus, gpu, memory);
        end(s);
    }
}

static struct {
    struct gr_gpus *gpus;
    void *memory;
} other;

static void *be_another(void *unused)
{
    use_everything(other.gpus, get_gpu(other.gpus, 0), other.memory);
    return unused;
}

static void a_capture_of_another_thread_goes_on(void)
{
    pthread_t thread;
    CUstream s;
    int k;

    app_start();
    for (k = 0; k < 2; k++) {
        other.gpus = open_gpus();
        app_use(0);
        other.memory = app_memory(APP_DEVICE, BYTES);
        s = capture(k ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING, CU_STREAM_CAPTURE_MODE_GLOBAL);
        CHECK_INT(pthread_create(&thread, NULL, be_another, NULL), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
        gr_gpus_close(other.gpus);
        end(s);
    }
}

/* What is on the current context's default stream comes first, whatever captures began since. */
static void calls_come_last(struct gr_gpus *gpus, unsigned int flags)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    unsigned char *device = app_memory(APP_DEVICE, BYTES), *pinned = gr_gpu_host_alloc(gpu, BYTES);
    int round;

    for (round = 1; round <= 20; round++) {
        unsigned char *out = pinned;
        CUstream s;

        APP(cuMemsetD8Async, gr_cuda_ptr(device), (unsigned char) round, BYTES, NULL);
        s = capture(flags, modes[round % MODES]);
        CHECK_INT(gr_gpu_copy(gpu, out, device, BYTES), 0);
        CHECK(round == out[0] && round == out[BYTES - 1]);
        end(s);
    }
    gr_gpu_host_free(gpu, pinned);
}

static void copies_follow_the_default_stream(void)
{
    app_use(0);
    calls_come_last(gpus, CU_STREAM_DEFAULT);
    calls_come_last(gpus, CU_STREAM_NON_BLOCKING);
    (void) app_context(0);
    calls_come_last(gpus, CU_STREAM_DEFAULT);
    app_use(1);
    calls_come_last(gpus, CU_STREAM_DEFAULT);
}

static void a_stream_follows_the_default_stream(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    unsigned char *device, *pinned = gr_gpu_host_alloc(gpu, BYTES);
    struct gr_gpu_stream *stream;
    int round;

    app_use(0);
    device = app_memory(APP_DEVICE, BYTES);
    CHECK_INT(gr_gpu_stream_open(gpu, &stream), 0);
    for (round = 1; round <= 20; round++) {
        CUstream s;

        APP(cuMemsetD8Async, gr_cuda_ptr(device), (unsigned char) round, BYTES, NULL);
        s = capture(CU_STREAM_DEFAULT, modes[round % MODES]);
        CHECK_INT(gr_gpu_stream_follow(stream), 0);
        CHECK_INT(gr_gpu_stream_copy(stream, gr_cuda_ptr(pinned), gr_cuda_ptr(device), BYTES), 0);
        CHECK_INT(gr_gpu_stream_wait(stream), 0);
        CHECK(round == pinned[0] && round == pinned[BYTES - 1]);
        end(s);
    }
    gr_gpu_stream_close(stream);
    gr_gpu_host_free(gpu, pinned);
}

static CUresult CUDAAPI push_nothing(CUcontext context)
{
    (void) context;
    return CUDA_ERROR_INVALID_CONTEXT;
}

/* The device's context cannot be entered. */
static void enter_in_vain(struct gr_gpus *gpus)
{
    gr_gpu_ptr at;

    APP(cuCtxSetCurrent, NULL);
    gpus->cuda.cuCtxPushCurrent = push_nothing;
    CHECK(0 > gr_gpu_alloc(get_gpu(gpus, 0), BYTES, &at));
    gpus->cuda.cuCtxPushCurrent = app.cuCtxPushCurrent;
    app_use(0);
}

/* The thread's capture mode is the application's again. */
static void the_mode_stays(void)
{
    int k;

    app_use(0);
    for (k = 0; k < MODES; k++) {
        CUstreamCaptureMode mode = modes[k];

        APP(cuThreadExchangeStreamCaptureMode, &mode);
        use_everything(gpus, get_gpu(gpus, 0), app_memory(APP_DEVICE, BYTES));
        CHECK_INT(gr_gpus_wait_current(gpus, 1), 0);
        enter_in_vain(gpus);
        APP(cuThreadExchangeStreamCaptureMode, &mode);
        CHECK_INT(mode, modes[k]);
        mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
        APP(cuThreadExchangeStreamCaptureMode, &mode);
    }
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        GPU_ROW(a_capture_of_this_thread_goes_on, "FAKECUDA_DEVICES=2"),
        ROW(a_capture_of_another_thread_goes_on, NULL),
        GPU_ROW(copies_follow_the_default_stream, "FAKECUDA_DELAY=1 FAKECUDA_DEVICES=2"),
        GPU_ROW(a_stream_follows_the_default_stream, "FAKECUDA_DELAY=2"),
        GPU_ROW(the_mode_stays, "FAKECUDA_DEVICES=2"),
    };

    return RUN_ROWS(rows, argc, argv);
}
