/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices (cuda/device.h): initialisation, unchanged state of the application, and errors. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/memory.h"
#include "cuda/pointer.h"
#include "cuda/stream.h"
#include "device_app.h"

#include <pthread.h>

#define FAR ((size_t) 1 << 50)

/* ---- the context is left as it was ---- */

/* One call of everything, with what fails. */
static void call_everything(struct gr_gpus *gpus)
{
    static unsigned char page[4096] __attribute__((aligned(4096)));
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    struct gr_gpu_stream *stream;
    unsigned char handle[GR_GPU_IPC_BYTES];
    gr_gpu_ptr at, none, pinned;
    void *host = gr_gpu_host_alloc(gpu, 4096);
    int error;

    CHECK(NULL == gr_gpu_get(gpus, 7, &error));
    (void) get_gpu(gpus, 1);
    (void) gr_gpu_can_access(gpu, 1);
    CHECK_INT(gr_gpu_alloc(gpu, 4096, &at), 0);
    CHECK_INT(gr_gpu_alloc(gpu, FAR, &none), GR_ERR_GPU_SPACE);
    CHECK(NULL != host && NULL == gr_gpu_host_alloc(gpu, 0));
    CHECK_INT(gr_gpu_host_pin(gpu, page, sizeof(page), &pinned), 0);
    CHECK(0 != gr_gpu_host_pin(gpu, page, sizeof(page), &pinned));
    CHECK_INT(gr_gpu_copy(gpu, (void *) (uintptr_t) at, page, sizeof(page)), 0);
    CHECK(0 != gr_gpu_copy(gpu, (void *) (uintptr_t) at, page, (size_t) 1 << 20));
    CHECK_INT(gr_gpu_ipc_export(gpu, at, handle), 0);
    CHECK_INT(gr_gpu_ipc_open(gpu, handle, &none), GR_ERR_PEER); /* its own */
    CHECK_INT(gr_gpu_ipc_export(gpu, pinned, handle), GR_ERR_PEER);
    CHECK_INT(gr_gpu_stream_open(gpu, &stream), 0);
    CHECK_INT(gr_gpu_stream_follow(stream), 0);
    CHECK_INT(gr_gpu_stream_copy(stream, at, (gr_gpu_ptr) (uintptr_t) host, 4096), 0);
    while (0 == (error = gr_gpu_stream_done(stream))) {
    }
    CHECK_INT(error, 1);
    /* no blocks */
    CHECK(0 != gr_gpu_launch(stream, GR_KERNEL_copy, 0, &(struct gr_gpu_args) {.launch = 1}));
    gr_gpu_stream_close(stream);
    gr_gpu_host_unpin(gpu, page);
    gr_gpu_host_free(gpu, host);
    gr_gpu_free(gpu, at);
}

static void contexts_stay(void)
{
    struct gr_gpus *gpus = open_gpus();
    CUcontext own, popped;

    app_start();
    call_everything(gpus); /* with none */
    CHECK(NULL == app_current());
    app_use(1);
    own = app_context(0);
    call_everything(gpus); /* with one of the application's over another device's */
    CHECK(own == app_current());
    CHECK_INT(gr_gpus_current(gpus), 0);
    APP(cuCtxPopCurrent, &popped);
    CHECK_INT(gr_gpus_current(gpus), 1);
    app_use(0);
    CHECK_INT(gr_gpus_current(gpus), 0);
    call_everything(gpus); /* with the very one that is used */
    CHECK(get_gpu(gpus, 0)->context == app_current());
    gr_gpus_close(gpus);
    APP(cuCtxPopCurrent, &popped);
    CHECK(NULL == app_current());
}

/* ---- making ready ---- */

static struct gr_cuda real;
static int calls, fail_at;

/* Replace a function of the table by one that counts its calls and fails at number fail_at. */
#define COUNTED(name, params, args)                                            \
    static CUresult CUDAAPI counted_##name params                              \
    {                                                                          \
        return ++calls == fail_at ? CUDA_ERROR_OUT_OF_MEMORY : real.name args; \
    }
#define COUNT(gpus, name) ((gpus)->cuda.name = counted_##name)

COUNTED(cuDevicePrimaryCtxRetain, (CUcontext * c, CUdevice d), (c, d))
COUNTED(cuLibraryLoadData,
        (CUlibrary * l, const void *p, CUjit_option *o, void **v, unsigned int n,
         CUlibraryOption *q, void **w, unsigned int m),
        (l, p, o, v, n, q, w, m))
COUNTED(cuLibraryUnload, (CUlibrary l), (l))
COUNTED(cuDevicePrimaryCtxRelease, (CUdevice d), (d))
COUNTED(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * m), (m))
COUNTED(cuCtxGetCurrent, (CUcontext * c), (c))
COUNTED(cuCtxPushCurrent, (CUcontext c), (c))
COUNTED(cuCtxPopCurrent, (CUcontext * c), (c))
COUNTED(cuDevicePrimaryCtxGetState, (CUdevice d, unsigned int *f, int *a), (d, f, a))
COUNTED(cuStreamDestroy, (CUstream s), (s))
COUNTED(cuStreamQuery, (CUstream s), (s))
COUNTED(cuEventDestroy, (CUevent e), (e))
COUNTED(cuMemFree, (CUdeviceptr p), (p))
COUNTED(cuLibraryGetKernel, (CUkernel * k, CUlibrary l, const char *n), (k, l, n))
COUNTED(cuKernelGetFunction, (CUfunction * f, CUkernel k), (f, k))
COUNTED(cuFuncLoad, (CUfunction f), (f))
COUNTED(cuFuncGetAttribute, (int *v, CUfunction_attribute a, CUfunction f), (v, a, f))
/* The functions of all kernels of a device, each of which is asked for twice. */
static void take_kernels(struct gr_gpu *gpu, CUfunction *functions)
{
    CUfunction again;
    int k, j;

    for (k = 0; k < GR_NKERNELS; k++) {
        CHECK_INT(gr_cuda_kernel(gpu, GR_ENTRY_CHANNELS, (enum gr_kernel) k, &functions[k]), 0);
        CHECK_INT(gr_cuda_kernel(gpu, GR_ENTRY_CHANNELS, (enum gr_kernel) k, &again), 0);
        CHECK(again == functions[k]);
        for (j = 0; j < k; j++) {
            CHECK(functions[k] != functions[j]);
        }
    }
}

static void kernels_are_loaded_when_asked_for(void)
{
    CUfunction functions[GR_NKERNELS];
    struct gr_gpu *gpu;

    real = gpus->cuda;
    CHECK(NULL != real.cuFuncLoad);
    COUNT(gpus, cuFuncLoad);
    gpu = get_gpu(gpus, 0);
    CHECK_INT(calls, 1); /* whether there is code for the device */
    app_use(0);
    fail_at = 2;
    CHECK_INT(gr_cuda_kernel(gpu, GR_ENTRY_CHANNELS, 0, functions), GR_ERR_GPU_SPACE);
    fail_at = calls = 0;
    take_kernels(gpu, functions);
    CHECK_INT(calls, GR_NKERNELS - 1); /* once */
    (void) get_gpu(gpus, 0);
    CHECK_INT(calls, GR_NKERNELS - 1);
    gpus->cuda.cuFuncLoad = NULL; /* as before CUDA 12.4 */
    COUNT(gpus, cuFuncGetAttribute);
    calls = 0;
    gpu = get_gpu(gpus, 1);
    app_use(1);
    take_kernels(gpu, functions);
    CHECK_INT(calls, GR_NKERNELS);
}

/* Other ranks may have completed the call that a stream is asked about. */
static void a_query_that_fails_once_is_made_again(void)
{
    struct gr_gpu_stream *stream;

    real = gpus->cuda;
    COUNT(gpus, cuStreamQuery);
    CHECK_INT(gr_gpu_stream_open(get_gpu(gpus, 0), &stream), 0);
    calls = 0;
    fail_at = 1;
    CHECK_INT(gr_gpu_stream_done(stream), 1);
    CHECK_INT(calls, 2);
    fail_at = calls = 0;
    gr_gpu_stream_close(stream);
}

/* ---- brackets ---- */

/* What the start of a call tells the driver. */
static void begin_a_call(struct gr_gpu_stream *stream, gr_gpu_ptr at, void *host)
{
    CHECK_INT(gr_gpu_stream_follow(stream), 0);
    CHECK_INT(gr_gpu_stream_note(stream), 0);
    CHECK(0 <= gr_gpu_stream_noted(stream));
    CHECK_INT(gr_gpu_stream_copy(stream, at, (gr_gpu_ptr) (uintptr_t) host, 4096), 0);
}

/*
 * In a bracket the context is made current once: the state, the context before, a push and a pop, and
 * the mode of captures there and back. Also where another device's work comes in between.
 */
static void a_bracket_makes_a_context_current_once(void)
{
    struct gr_gpu_stream *stream;
    struct gr_gpu *gpu;
    CUcontext own;
    gr_gpu_ptr at;
    void *host;

    gpu = get_gpu(gpus, 0);
    CHECK_INT(gr_gpu_stream_open(gpu, &stream), 0);
    CHECK_INT(gr_gpu_alloc(gpu, 4096, &at), 0);
    host = gr_gpu_host_alloc(gpu, 4096);
    CHECK(NULL != host);
    (void) get_gpu(gpus, 1);
    app_use(1);
    own = app_context(0);
    real = gpus->cuda;
    COUNT(gpus, cuThreadExchangeStreamCaptureMode);
    COUNT(gpus, cuCtxGetCurrent);
    COUNT(gpus, cuCtxPushCurrent);
    COUNT(gpus, cuCtxPopCurrent);
    COUNT(gpus, cuDevicePrimaryCtxGetState);
    calls = 0;
    CHECK_INT(gr_gpu_bracket_open(gpu), 0);
    CHECK(gpu->context == app_current());
    begin_a_call(stream, at, host);
    gr_gpu_bracket_close(gpu);
    CHECK_INT(calls, 6);
    CHECK(own == app_current());
    CHECK_INT(gr_gpu_bracket_open(gpu), 0);
    CHECK_INT(gr_gpu_wait_default(get_gpu(gpus, 1)), 0);
    CHECK(gpu->context == app_current());
    begin_a_call(stream, at, host);
    gr_gpu_bracket_close(gpu);
    CHECK(own == app_current());
    fail_at = calls + 4; /* the push */
    CHECK(0 > gr_gpu_bracket_open(gpu));
    CHECK(own == app_current());
    fail_at = 0;
    begin_a_call(stream, at, host); /* each by itself again */
    CHECK(own == app_current());
    gpus->cuda = real;
    gr_gpu_stream_close(stream);
    gr_gpu_host_free(gpu, host);
    gr_gpu_free(gpu, at);
}

/* A device with its kernels; NULL: *error. */
static struct gr_gpu *make_ready(struct gr_gpus *gpus, int *error)
{
    struct gr_gpu *gpu = gr_gpu_get(gpus, 0, error);

    *error = NULL == gpu ? *error : gr_gpu_load_kernels(gpu);
    return 0 == *error ? gpu : NULL;
}

/*
 * Whatever fails: no device, the code and the words, no context left behind, and the next try
 * works.
 */
static void making_ready_fails(void)
{
    int step;

    app_start();
    for (step = 0; step < 5; step++) {
        static const char *const words[] = {"cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY",
                                            "cuLibraryLoadData", "cuLibraryGetKernel",
                                            "cuKernelGetFunction", "cuFuncLoad"};
        struct gr_gpus *gpus = open_gpus();
        unsigned int flags;
        int error = 0, active;

        real = gpus->cuda;
        if (0 == step) {
            COUNT(gpus, cuDevicePrimaryCtxRetain);
        } else if (1 == step) {
            COUNT(gpus, cuLibraryLoadData);
        } else if (2 == step) {
            COUNT(gpus, cuLibraryGetKernel);
        } else if (3 == step) {
            COUNT(gpus, cuKernelGetFunction);
        } else {
            COUNT(gpus, cuFuncLoad);
        }
        calls = 0;
        fail_at = 1;
        CHECK(NULL == make_ready(gpus, &error));
        CHECK_INT(error, GR_ERR_GPU_SPACE);
        CHECK(NULL != strstr(gr_gpu_error(), words[step]));
        CHECK(NULL == app_current());
        (void) get_gpu(gpus, 0);
        gr_gpus_close(gpus);
        APP(cuDevicePrimaryCtxGetState, 0, &flags, &active);
        CHECK_INT(active, 0);
    }
}

/* No memory for a context: the message names the variable that makes contexts larger, if it is set. */
static void no_context_for_its_queues(void)
{
    static const char *const queues[] = {NULL, "32"};
    int k, error;

    for (k = 0; k < 2; k++) {
        struct gr_gpus *gpus = open_gpus();

        real = gpus->cuda;
        COUNT(gpus, cuDevicePrimaryCtxRetain);
        calls = 0;
        fail_at = 1;
        if (NULL != queues[k]) {
            setenv("CUDA_DEVICE_MAX_CONNECTIONS", queues[k], 1);
        }
        CHECK(NULL == gr_gpu_get(gpus, 0, &error));
        CHECK_INT(error, GR_ERR_GPU_SPACE);
        CHECK(NULL != strstr(gr_gpu_error(), "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY"));
        CHECK((NULL != queues[k]) == (NULL != strstr(gr_gpu_error(), "MAX_CONNECTIONS is 32")));
        gr_gpus_close(gpus);
    }
}

/* A driver older than the toolkit of the kernels: copies work, and the error says both versions. */
static void an_older_driver_copies(void)
{
    enum { BYTES = 1000 };
    unsigned char out[BYTES];
    struct gr_gpu *gpu;
    char words[64];
    int error;
    void *at;

    app_use(0);
    at = app_memory(APP_DEVICE, BYTES);
    app_fill(at, 7, BYTES);
    gpu = gr_gpu_get(gpus, 0, &error);
    CHECK(NULL != gpu);
    real = gpus->cuda;
    COUNT(gpus, cuLibraryLoadData);
    if (gr_cuda_image_toolkit < 13000) { /* of the version of the row's driver */
        CHECK_INT(gr_gpu_load_kernels(gpu), 0);
        CHECK_INT(calls, 1);
    } else {
        snprintf(words, sizeof(words), "the driver is of CUDA 12.8, but the kernels need %d.0",
                 gr_cuda_image_toolkit / 1000);
        CHECK_INT(gr_gpu_load_kernels(gpu), GR_ERR_NODRIVER);
        CHECK(0 == strcmp(gr_gpu_error(), words));
        CHECK_INT(calls, 0);
    }
    CHECK_INT(gr_gpu_copy(gpu, out, at, BYTES), 0);
    CHECK(7 == out[0] && 7 == out[BYTES - 1]);
}

static void a_block_fits_each_multiprocessor(void)
{
    int error;

    CHECK_INT(gr_gpu_resident_blocks(gr_gpu_get(gpus, 0, &error)), 0);
    CHECK_INT(gr_gpu_resident_blocks(get_gpu(gpus, 0)), 7);
}

/* As it is where an image has to be compiled: all threads come while one is at it. */
static CUresult CUDAAPI load_slowly(CUlibrary *l, const void *p, CUjit_option *o, void **v,
                                    unsigned int n, CUlibraryOption *q, void **w, unsigned int m)
{
    usleep(50000);
    return counted_cuLibraryLoadData(l, p, o, v, n, q, w, m);
}

/* Calls ask for the current context's order whether or not the device is ready. */
static void *get_in_a_thread(void *gpus)
{
    CHECK_INT(gr_gpus_wait_current(gpus, 0), 0);
    return get_gpu(gpus, 0);
}

static void one_device_for_all_threads(void)
{
    pthread_t threads[4];
    const struct gr_gpu *first;
    void *gpu[4];
    int k, error;

    real = gpus->cuda;
    gpus->cuda.cuLibraryLoadData = load_slowly;
    for (k = 0; k < 4; k++) {
        CHECK_INT(pthread_create(&threads[k], NULL, get_in_a_thread, gpus), 0);
    }
    for (k = 0; k < 4; k++) {
        pthread_join(threads[k], &gpu[k]);
        CHECK(gpu[k] == gpu[0]);
    }
    CHECK_INT(calls, 1);
    first = gpu[0];
    CHECK(gpus == first->gpus && 0 == first->ordinal);
    CHECK(NULL == gr_gpu_get(gpus, -1, &error));
    CHECK_INT(error, GR_ERR_NODEVICE);
    CHECK(NULL == gr_gpu_get(gpus, gr_gpus_count(gpus), &error));
}

/* ---- out of memory ---- */

static void the_device_is_full(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    gr_gpu_ptr all, more;

    CHECK_INT(gr_gpu_alloc(gpu, (size_t) 3 << 20, &all), 0);
    CHECK_INT(gr_gpu_alloc(gpu, (size_t) 2 << 20, &more), GR_ERR_GPU_SPACE);
    CHECK(0 == strcmp(gr_gpu_error(), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"));
    CHECK_INT(more, 0);
    gr_gpu_free(gpu, all);
    CHECK_INT(gr_gpu_alloc(gpu, (size_t) 3 << 20, &all), 0);
    CHECK_INT(all % 256, 0);
}

static void pinned_memory_is_clean_and_at_one_address(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    unsigned char *host = gr_gpu_host_alloc(gpu, 10000), copy[10000];
    int k;

    CHECK(NULL != host);
    for (k = 0; k < 10000; k++) {
        CHECK_INT(host[k], 0);
    }
    host[9999] = 7;
    app_use(1); /* another device, another context */
    APP(cuMemcpyDtoH, copy, gr_cuda_ptr(host), 10000);
    CHECK_INT(copy[9999], 7);
    gr_gpu_host_free(gpu, host);
    gr_gpu_host_free(gpu, NULL);
    gr_gpu_free(gpu, 0);
}

/* ---- endings ---- */

/*
 * What was made in a context that the application resets is gone and must not be touched; the
 * context's successor is not ours to take from. numbered: whether the driver tells contexts apart.
 */
static void reset(int again, int numbered)
{
    struct gr_gpus *gpus = open_gpus();
    struct gr_gpu *gpu;
    struct gr_gpu_stream *stream;
    unsigned int flags;
    CUdevice device;
    gr_gpu_ptr at;
    int active;

    if (!numbered) {
        gpus->cuda.cuCtxGetId = NULL;
    }
    gpu = get_gpu(gpus, 0);
    CHECK_INT(gr_gpu_stream_open(gpu, &stream), 0);
    CHECK_INT(gr_gpu_alloc(gpu, 4096, &at), 0);
    app_start();
    APP(cuDeviceGet, &device, 0);
    APP(cuDevicePrimaryCtxReset, device);
    if (again) {
        app_use(0);
    }
    CHECK(again || 0 > gr_gpu_stream_done(stream)); /* a new one may have the old one's handle */
    real = gpus->cuda;
    COUNT(gpus, cuLibraryUnload);
    COUNT(gpus, cuDevicePrimaryCtxRelease);
    COUNT(gpus, cuStreamDestroy);
    COUNT(gpus, cuEventDestroy);
    COUNT(gpus, cuMemFree);
    gr_gpu_stream_close(stream);
    gr_gpu_free(gpu, at);
    gr_gpus_close(gpus);
    CHECK_INT(calls, 0);
    APP(cuDevicePrimaryCtxGetState, device, &flags, &active);
    CHECK_INT(active, again);
    if (again) {
        (void) app_memory(APP_DEVICE, 4096);
    }
}

static void the_context_was_reset(void)
{
    reset(0, 1);
    calls = 0;
    reset(0, 0);
}

static void the_context_was_reset_and_used_again(void)
{
    reset(1, 1);
}

static struct gr_gpus *left_open;
static struct gr_gpu_stream *left_stream;

static void close_late(void)
{
    gr_gpu_stream_close(left_stream);
    gr_gpus_close(left_open);
}

/* Closed by a function that runs at exit after the driver's own. */
static void closing_after_the_driver(void)
{
    CHECK_INT(atexit(close_late), 0);
    left_open = open_gpus();
    CHECK_INT(gr_gpu_stream_open(get_gpu(left_open, 0), &left_stream), 0);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        ROW(contexts_stay, "FAKECUDA_DEVICES=2"),
        GPU_ROW(kernels_are_loaded_when_asked_for, "FAKECUDA_DEVICES=2"),
        GPU_ROW(a_query_that_fails_once_is_made_again, NULL),
        GPU_ROW(a_bracket_makes_a_context_current_once, "FAKECUDA_DEVICES=2"),
        ROW(making_ready_fails, NULL),
        ROW(no_context_for_its_queues, NULL),
        GPU_ROW(an_older_driver_copies, "FAKECUDA_VERSION=12080"),
        GPU_ROW(a_block_fits_each_multiprocessor, "FAKECUDA_SMS=7"),
        GPU_ROW(one_device_for_all_threads, NULL),
        GPU_ROW(the_device_is_full, "FAKECUDA_MEM=4"),
        GPU_ROW(pinned_memory_is_clean_and_at_one_address, "FAKECUDA_DEVICES=2"),
        ROW(the_context_was_reset, NULL),
        ROW(the_context_was_reset_and_used_again, NULL),
        ROW(closing_after_the_driver, NULL),
    };

    return RUN_ROWS(rows, argc, argv);
}
