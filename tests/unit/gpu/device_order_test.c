/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies, streams and launches (cuda/stream.h): between all kinds of memory, after the
 * application's work on its default stream, and never after work that waits for them. The driver
 * delays asynchronous work at random.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "sanitizer/sanitizer.h"
#include "cuda/stream.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/memory.h"
#include "device_app.h"

#include <sched.h>
#include <semaphore.h>

enum { BYTES = 30000 };

/* Wait for our stream. */
static void finish(struct gr_gpu_stream *stream)
{
    int done;

    while (0 == (done = gr_gpu_stream_done(stream))) {
        sched_yield();
    }
    CHECK_INT(done, 1);
}

static struct gr_gpu_stream *open_stream(struct gr_gpu *gpu)
{
    struct gr_gpu_stream *stream = NULL;

    CHECK_INT(gr_gpu_stream_open(gpu, &stream), 0);
    return stream;
}

/* ---- copies ---- */

static void copies_between_all_kinds(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    unsigned char *memory[2 * APP_KINDS];
    int a, b, n = 0;

    for (b = 0; b < 2; b++) { /* of a context of the application's own, and of another device */
        if (0 == b) {
            (void) app_context(0);
        } else {
            app_use(1);
        }
        for (a = 0; a < APP_KINDS; a++) {
            memory[n++] = app_memory(a, APP_BYTES);
        }
    }
    for (a = 0; a < n; a++) {
        for (b = 0; b < n; b++) {
            app_fill(memory[a], 16 * a + 1, BYTES + 3);
            if (memory[a] == memory[b]) {
                continue;
            }
            app_fill(memory[b], 16 * b + 2, BYTES + 3);
            CHECK_INT(gr_gpu_copy(gpu, memory[b] + 1, memory[a] + 2, BYTES), 0);
            if (!app_holds(memory[b] + 1, 16 * a + 1, BYTES) ||
                !app_holds(memory[b], 16 * b + 2, 1) ||
                !app_holds(memory[b] + 1 + BYTES, 16 * b + 2, 1)) {
                fprintf(stderr, "# from %s to %s\n", app_memory_names[a % APP_KINDS],
                        app_memory_names[b % APP_KINDS]);
                _exit(1);
            }
        }
    }
    CHECK_INT(gr_gpu_copy(gpu, NULL, NULL, 0), 0);
}

/*
 * The device holds what the default stream will have written, and the copy is over when the
 * function returns.
 */
static void copy_comes_last(struct gr_gpu *gpu)
{
    unsigned char out[BYTES];
    unsigned char *from = app_memory(APP_DEVICE, BYTES), *to = app_memory(APP_DEVICE, BYTES);
    int round, k;

    for (round = 1; round <= 20; round++) {
        APP(cuMemsetD8Async, gr_cuda_ptr(from), (unsigned char) round, BYTES, NULL);
        CHECK_INT(gr_gpu_copy(gpu, to, from, BYTES), 0);
        APP(cuMemsetD8Async, gr_cuda_ptr(from), 0xee, BYTES, NULL);
        memset(out, 0xdd, BYTES);
        CHECK_INT(gr_gpu_copy(gpu, out, to, BYTES), 0);
        for (k = 0; k < BYTES; k++) {
            CHECK_INT(out[k], round);
        }
    }
}

static void a_copy_follows_the_default_stream(void)
{
    app_use(0);
    copy_comes_last(get_gpu(gpus, 0));
}

/*
 * Where the application uses a context of its own, or another device, that one's default stream
 * counts.
 */
static void a_copy_follows_the_current_context(void)
{
    (void) app_context(0);
    copy_comes_last(get_gpu(gpus, 0));
    app_use(1);
    copy_comes_last(get_gpu(gpus, 0));
}

/*
 * Between devices no copy waits by itself; what reads the destination next need not know our
 * streams.
 */
static void a_copy_is_over_when_it_returns(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    struct gr_gpu_stream *stream = open_stream(gpu);
    unsigned char *from, *to, *out = gr_gpu_host_alloc(gpu, BYTES);
    int round, k;

    app_use(0);
    from = app_memory(APP_POOL, BYTES);
    to = app_memory(APP_POOL, BYTES);
    for (round = 1; round <= 20; round++) {
        app_fill(from, round, BYTES);
        CHECK_INT(gr_gpu_copy(gpu, to, from, BYTES), 0);
        CHECK_INT(gr_gpu_stream_copy(stream, gr_cuda_ptr(out), gr_cuda_ptr(to), BYTES), 0);
        finish(stream);
        for (k = 0; k < BYTES; k++) {
            CHECK_INT(out[k], round);
        }
    }
    gr_gpu_stream_close(stream);
    gr_gpu_host_free(gpu, out);
}

/* ---- streams ---- */

static sem_t go;

static void CUDA_CB wait_for_go(void *unused)
{
    (void) unused;
    sem_wait(&go);
}

/*
 * A kernel of ours may wait for a peer that waits for this process: nothing else may wait for the
 * kernel.
 */
static void nothing_waits_for_our_streams(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    struct gr_gpu_stream *busy = open_stream(gpu), *other = open_stream(gpu);
    unsigned char host[64] = {1, 2, 3}, *device, *pinned = gr_gpu_host_alloc(gpu, 64);

    sem_init(&go, 0, 0);
    app_use(0);
    device = app_memory(APP_DEVICE, 64);
    APP(cuLaunchHostFunc, busy->stream, wait_for_go, NULL);
    CHECK_INT(gr_gpu_stream_done(busy), 0);
    CHECK_INT(gr_gpu_copy(gpu, device, host, 64), 0);
    APP(cuMemsetD8Async, gr_cuda_ptr(device), 9, 64, NULL);
    CHECK_INT(gr_gpu_stream_follow(other), 0);
    CHECK_INT(gr_gpu_stream_copy(other, gr_cuda_ptr(pinned), gr_cuda_ptr(device), 64), 0);
    finish(other);
    CHECK_INT(pinned[63], 9);
    APP(cuStreamSynchronize, NULL);
    CHECK_INT(gr_gpu_stream_done(busy), 0);
    sem_post(&go);
    finish(busy);
    gr_gpu_stream_close(busy);
    gr_gpu_stream_close(other);
    gr_gpu_stream_close(NULL);
    gr_gpu_host_free(gpu, pinned);
}

static void a_stream_follows_the_default_stream(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    struct gr_gpu_stream *stream = open_stream(gpu);
    unsigned char *device, *pinned = gr_gpu_host_alloc(gpu, BYTES);
    int round;

    app_use(0);
    device = app_memory(APP_DEVICE, BYTES);
    for (round = 1; round <= 20; round++) {
        APP(cuMemsetD8Async, gr_cuda_ptr(device), (unsigned char) round, BYTES, NULL);
        CHECK_INT(gr_gpu_stream_follow(stream), 0);
        CHECK_INT(gr_gpu_stream_copy(stream, gr_cuda_ptr(pinned), gr_cuda_ptr(device), BYTES), 0);
        finish(stream);
        CHECK(round == pinned[0] && round == pinned[BYTES - 1]);
    }
    gr_gpu_stream_close(stream);
    gr_gpu_host_free(gpu, pinned);
}

/*
 * As of the moment when the point was set, of this device and of another; work that comes later is
 * not waited for.
 */
static void a_stream_follows_points(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    struct gr_gpu_stream *stream = open_stream(gpu);
    struct gr_gpu_point point = {NULL, NULL};
    unsigned char *pinned = gr_gpu_host_alloc(gpu, BYTES);
    void *event = NULL;
    int round;

    sem_init(&go, 0, 0);
    for (round = 1; round <= 10; round++) {
        unsigned char *device;

        app_use(round / 2 % 2);
        device = app_memory(APP_DEVICE, BYTES);
        APP(cuMemsetD8Async, gr_cuda_ptr(device), (unsigned char) round, BYTES, NULL);
        CHECK_INT(gr_gpu_point_set(&point, get_gpu(gpus, round / 2 % 2)), 0);
        CHECK(0 == round % 2 || 1 == round || point.event == event); /* the device of before */
        event = point.event;
        APP(cuLaunchHostFunc, NULL, wait_for_go, NULL);
        CHECK_INT(gr_gpu_stream_follow_point(stream, &point), 0);
        CHECK_INT(gr_gpu_stream_copy(stream, gr_cuda_ptr(pinned), gr_cuda_ptr(device), BYTES), 0);
        finish(stream);
        CHECK(round == pinned[0] && round == pinned[BYTES - 1]);
        sem_post(&go);
    }
    gr_gpu_point_free(&point);
    gr_gpu_point_free(&point);
    gr_gpu_stream_close(stream);
    gr_gpu_host_free(gpu, pinned);
}

/* The application resets the device's context between two uses. */
static void a_point_outlives_its_context(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    struct gr_gpu_point point = {NULL, NULL};

    CHECK_INT(gr_gpu_point_set(&point, gpu), 0);
    APP(cuDevicePrimaryCtxReset, 0);
    app_use(0);
    CHECK_INT(gr_gpu_point_set(&point, gpu), 0);
    APP(cuDevicePrimaryCtxReset, 0);
    gr_gpu_point_free(&point);
}

static void closing_a_stream_waits(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    unsigned char *pinned = gr_gpu_host_alloc(gpu, BYTES);
    gr_gpu_ptr at;
    int round;

    CHECK_INT(gr_gpu_alloc(gpu, BYTES, &at), 0);
    for (round = 1; round <= 20; round++) {
        struct gr_gpu_stream *stream = open_stream(gpu);

        app_use(0);
        app_fill((void *) (uintptr_t) at, round, BYTES);
        CHECK_INT(gr_gpu_stream_copy(stream, gr_cuda_ptr(pinned), at, BYTES), 0);
        gr_gpu_stream_close(stream);
        CHECK(round == pinned[0] && round == pinned[BYTES - 1]);
    }
    gr_gpu_free(gpu, at);
    gr_gpu_host_free(gpu, pinned);
}

/* Which kernel was launched: by its name, through the handles that the driver gave for it. */
static struct gr_cuda real;
static const char *asked, *names[GR_NKERNELS];
static CUfunction functions[GR_NKERNELS];
static int known;
static const char *launched;

static CUresult CUDAAPI ask_kernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    asked = name;
    return real.cuLibraryGetKernel(kernel, library, name);
}

static CUresult CUDAAPI ask_function(CUfunction *function, CUkernel kernel)
{
    CUresult result = real.cuKernelGetFunction(function, kernel);

    functions[known] = *function;
    names[known++] = asked;
    return result;
}

static CUresult CUDAAPI note_launch(CUfunction f, unsigned int x, unsigned int y, unsigned int z,
                                    unsigned int u, unsigned int v, unsigned int w, unsigned int n,
                                    CUstream s, void **p, void **e)
{
    int k;

    for (k = 0; k < known && f != functions[k]; k++) {
    }
    launched = k < known ? names[k] : "none";
    return real.cuLaunchKernel(f, x, y, z, u, v, w, n, s, p, e);
}

/* A launch of channels that are through: every block says so at once, under the launch's number. */
static void every_kernel_is_launched(void)
{
    /* a fiber is expensive under ThreadSanitizer */
    enum { BLOCKS = 3, EVERY = GR_SANITIZER(1, 1, 7) };
    static const char *const expected[] = {
#define NAME(type, op) "gr_kernel_" #type "_" #op,
        GR_KERNELS(NAME) "gr_kernel_copy"
#undef NAME
    };
    struct gr_gpu *gpu;
    struct gr_gpu_stream *stream;
    struct gr_gpu_cursor cursors[BLOCKS] = {{.over = 0}, {.over = 0}, {.over = 0}};
    struct gr_gpu_report *reports;
    struct gr_gpu_args args;
    gr_gpu_ptr cursor;
    void *abort_word;
    int kernel, k;

    real = gpus->cuda;
    gpus->cuda.cuLibraryGetKernel = ask_kernel;
    gpus->cuda.cuKernelGetFunction = ask_function;
    gpus->cuda.cuLaunchKernel = note_launch;
    gpu = get_gpu(gpus, 0);
    stream = open_stream(gpu);
    reports = gr_gpu_host_alloc(gpu, BLOCKS * sizeof(*reports));
    CHECK_INT(gr_gpu_alloc(gpu, sizeof(cursors), &cursor), 0);
    CHECK_INT(gr_gpu_copy(gpu, (void *) (uintptr_t) cursor, cursors, sizeof(cursors)), 0);
    memset(&args, 0, sizeof(args));
    args.p = args.schedules = 1;
    args.cursor = cursor;
    args.report = gr_cuda_ptr(reports);
    abort_word = gr_gpu_host_alloc(gpu, sizeof(uint64_t));
    args.abort = gr_cuda_ptr(abort_word);
    args.patience = 1;
    args.nslots = 2;
    args.over = (1u << BLOCKS) - 1;
    for (kernel = 0; kernel < GR_NKERNELS; kernel += EVERY) {
        args.launch = 100 + (uint64_t) kernel;
        CHECK_INT(gr_gpu_launch(stream, kernel, BLOCKS, &args), 0);
        CHECK_INT(strcmp(launched, expected[kernel]), 0);
        args.launch = 1; /* was copied */
        finish(stream);
        for (k = 0; k < BLOCKS; k++) {
            CHECK_INT(reports[k].word, gr_gpu_report_word(100 + (uint64_t) kernel, GR_GPU_DONE, 0));
        }
    }
    gr_gpu_stream_close(stream);
    gr_gpu_host_free(gpu, reports);
    gr_gpu_host_free(gpu, abort_word);
    gr_gpu_free(gpu, cursor);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        GPU_ROW(copies_between_all_kinds, "FAKECUDA_DEVICES=2"),
        GPU_ROW(a_copy_follows_the_default_stream, "FAKECUDA_DELAY=1"),
        GPU_ROW(a_copy_follows_the_current_context, "FAKECUDA_DELAY=2 FAKECUDA_DEVICES=2"),
        GPU_ROW(a_copy_is_over_when_it_returns, "FAKECUDA_DELAY=3"),
        GPU_ROW(nothing_waits_for_our_streams, "FAKECUDA_DELAY=4"),
        GPU_ROW(a_stream_follows_the_default_stream, "FAKECUDA_DELAY=5"),
        GPU_ROW(a_stream_follows_points, "FAKECUDA_DELAY=7 FAKECUDA_DEVICES=2"),
        GPU_ROW(a_point_outlives_its_context, NULL),
        GPU_ROW(closing_a_stream_waits, "FAKECUDA_DELAY=6"),
        GPU_ROW(every_kernel_is_launched, NULL),
    };

    return RUN_ROWS(rows, argc, argv);
}
