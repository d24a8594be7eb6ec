/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: order of streams and events, and asynchronous calls. Most run with FAKECUDA_DELAY. */
#include "cases.h"

#include <pthread.h>
#include <time.h>

/* Holds a stream up until the host opens the gate. */
struct gate {
    _Atomic int open, reached;
};
static void CUDA_CB pass(void *data)
{
    struct gate *g = data;

    g->reached = 1;
    while (!g->open) {
        usleep(100);
    }
}
static void hold(CUstream stream, struct gate *g)
{
    g->open = g->reached = 0;
    OK(cuLaunchHostFunc(stream, pass, g));
}

static void set_async(CUdeviceptr at, unsigned value, CUstream stream)
{
    OK(cuMemsetD32Async(at, value, 1, stream));
}

/* Work on blocking streams comes after the legacy stream's, and the other way round. */
static void legacy_order(void)
{
    CUdeviceptr at = (begin(0), zeros(8));
    CUstream a = new_stream(CU_STREAM_DEFAULT), b = new_stream(CU_STREAM_DEFAULT);
    struct gate g;

    hold(a, &g);
    set_async(at, 1, a);
    set_async(at, 2, NULL);
    set_async(at, 3, b);
    usleep(20000);
    IS(ERROR_NOT_READY, cuStreamQuery(b));
    CHECK(0 == (uint32_t) word_at(at));
    g.open = 1;
    OK(cuStreamSynchronize(b));
    CHECK(3 == (uint32_t) word_at(at));
    OK(cuStreamQuery(a));
    hold(a, &g);
    IS(ERROR_NOT_READY, cuStreamQuery(a));
    OK(cuStreamQuery(b));
    g.open = 1;
    OK(cuStreamSynchronize(NULL)); /* is behind a */
    OK(cuStreamQuery(a));
}

/* A non-blocking stream does not wait for the legacy one. */
static void non_blocking(void)
{
    CUdeviceptr at = (begin(0), zeros(8));
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING);
    struct gate g;

    hold(CU_STREAM_LEGACY, &g);
    set_async(at, 5, s);
    OK(cuStreamSynchronize(s));
    CHECK(5 == (uint32_t) word_at(at));
    IS(ERROR_NOT_READY, cuStreamQuery(NULL));
    g.open = 1;
    OK(cuCtxSynchronize());
    OK(cuStreamQuery(NULL));
}

/*
 * What a program forgets to order: a memset on one stream, a copy on another. FAKECUDA_DELAY shows
 * it, sooner or later.
 */
static void missing_order(void)
{
    CUdeviceptr at = (begin(0), zeros(8));
    CUstream a = new_stream(CU_STREAM_NON_BLOCKING), b = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event;
    uint32_t *seen, unordered = 0;

    OK(cuMemHostAlloc((void **) &seen, 64, 0));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (uint32_t i = 1; i <= 40 || 0 == unordered; i++) {
        const int ordered = 0 == i % 2;

        set_async(at, i, a);
        OK(cuEventRecord(event, a));
        if (ordered) {
            OK(cuStreamWaitEvent(b, event, 0));
        }
        OK(cuMemcpyDtoHAsync(seen, at, 4, b));
        OK(cuStreamSynchronize(b));
        CHECK(!ordered || i == *seen);
        unordered += i != *seen;
        OK(cuStreamSynchronize(a));
    }
}

/* How often a cuMemset, or a copy from device to device, returned before it was done. */
static int early_ones(CUdeviceptr at, CUdeviceptr other, unsigned value)
{
    int early;

    OK(cuMemsetD32(at, value, 1));
    early = value != (uint32_t) word_at(at);
    OK(cuMemcpyDtoD(other, at, 8));
    early += value != (uint32_t) word_at(other);
    OK(cuCtxSynchronize());
    return early;
}

/* They do so sooner or later, but not when told not to: for an allocation, or in a context. */
static void sync_memops(void)
{
    CUdeviceptr at = (begin(0), zeros(8)), other = zeros(8);
    unsigned set = 1, value = 1, end, flags;
    int early;

    for (early = 0; 0 == early; value++) {
        early = early_ones(at, other, value);
    }
    IS(ERROR_INVALID_VALUE, cuCtxSetFlags(CU_CTX_FLAGS_MASK + 1));
    OK(cuCtxSetFlags(CU_CTX_SYNC_MEMOPS));
    OK(cuCtxGetFlags(&flags));
    CHECK(CU_CTX_SYNC_MEMOPS == flags);
    for (end = value + 10; value < end; value++) {
        CHECK(0 == early_ones(at, other, value));
    }
    OK(cuCtxSetFlags(0));
    for (early = 0; 0 == early; value++) {
        early = early_ones(at, other, value);
    }
    OK(cuPointerSetAttribute(&set, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    for (end = value + 10; value < end; value++) {
        CHECK(0 == early_ones(at, other, value));
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

/* FAKECUDA_RATE=5: 1 MiB over the bus takes 210 ms and lands at the end, one at a time each way. */
static void slow_bus(void)
{
    const size_t bytes = 1 << 20;
    CUdeviceptr at = (begin(0), zeros(bytes)), other = zeros(bytes);
    CUstream s[3] = {new_stream(CU_STREAM_NON_BLOCKING), new_stream(CU_STREAM_NON_BLOCKING),
                     new_stream(CU_STREAM_NON_BLOCKING)};
    unsigned char *host[3];
    CUevent mark;
    double start;
    int landed;

    for (int i = 0; i < 3; i++) {
        OK(cuMemHostAlloc((void **) &host[i], bytes, 0));
        memset(host[i], 1 + i, bytes);
    }
    OK(cuEventCreate(&mark, CU_EVENT_DISABLE_TIMING));
    start = now();
    OK(cuMemcpyDtoHAsync(host[0], at, bytes, s[0]));
    OK(cuEventRecord(mark, s[0]));
    OK(cuMemcpyDtoHAsync(host[1], at, bytes, s[1]));
    OK(cuMemcpyHtoDAsync(other, host[2], bytes, s[2]));
    landed = 1 != host[0][0] || 1 != host[0][bytes - 1] || CUDA_SUCCESS == cuEventQuery(mark);
    CHECK(!landed || now() - start > 0.2);
    OK(cuEventSynchronize(mark));
    CHECK(now() - start > 0.2 && 0 == host[0][0] && 0 == host[0][bytes - 1]);
    OK(cuStreamSynchronize(s[1]));
    OK(cuStreamSynchronize(s[2]));
    CHECK(now() - start > 0.41 && 0 == host[1][0]);
}

/* Bytes in pageable memory are taken when the call is made; pinned ones when the copy runs. */
static void staged(void)
{
    CUdeviceptr at = (begin(0), zeros(16));
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING);
    uint32_t pageable = 1, *pinned;
    struct gate g;

    OK(cuMemHostAlloc((void **) &pinned, 64, 0));
    *pinned = 1;
    hold(s, &g);
    OK(cuMemcpyHtoDAsync(at, &pageable, 4, s));
    OK(cuMemcpyHtoDAsync(at + 8, pinned, 4, s));
    pageable = *pinned = 2;
    g.open = 1;
    OK(cuStreamSynchronize(s));
    CHECK(1 == (uint32_t) word_at(at) && 2 == (uint32_t) word_at(at + 8));
}

static void events(void)
{
    CUcontext c = begin(0);
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING), t = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent first, last, untimed;
    struct gate g, h;
    float ms;

    (void) c;
    OK(cuEventCreate(&first, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&last, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(first)); /* never recorded: done */
    IS(ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, first, last));
    OK(cuEventRecord(first, s));
    hold(s, &g);
    OK(cuEventRecord(last, s));
    OK(cuEventSynchronize(first));
    IS(ERROR_NOT_READY, cuEventQuery(last));
    IS(ERROR_NOT_READY, cuEventElapsedTime(&ms, first, last));
    OK(cuStreamWaitEvent(t, last, 0));
    hold(t, &h);
    h.open = 1;
    usleep(20000);
    CHECK(0 == h.reached);
    g.open = 1;
    OK(cuStreamSynchronize(t));
    OK(cuEventElapsedTime(&ms, first, last));
    CHECK(ms >= 15 && ms < 600000);
    OK(cuEventRecord(untimed, s));
    IS(ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, first, untimed));
    OK(cuEventDestroy(untimed));
    IS(ERROR_INVALID_HANDLE, cuEventRecord(untimed, s));
    OK(cuStreamDestroy(t));
    IS(ERROR_INVALID_HANDLE, cuStreamSynchronize(t));
    IS(ERROR_INVALID_HANDLE, cuEventRecord(first, t));
}

static void values(void)
{
    CUdeviceptr at = (begin(0), zeros(16));
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING);

    OK(cuStreamWaitValue64(s, at, 5, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue64(s, at + 8, 77, 0));
    set_word(at, 4);
    usleep(20000);
    IS(ERROR_NOT_READY, cuStreamQuery(s));
    CHECK(0 == word_at(at + 8));
    set_word(at, 6);
    OK(cuStreamSynchronize(s));
    CHECK(77 == word_at(at + 8));
    IS(ERROR_INVALID_VALUE, cuStreamWaitValue64(s, at + 4, 5, CU_STREAM_WAIT_VALUE_GEQ));
}

static void *other_thread(void *stop)
{
    struct gate g;

    begin(0);
    hold(CU_STREAM_PER_THREAD, &g);
    *(_Atomic int *) stop = 1;
    usleep(20000);
    g.open = 1;
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return NULL;
}

static void per_thread(void)
{
    _Atomic int held = 0;
    pthread_t thread;

    begin(0);
    pthread_create(&thread, NULL, other_thread, (void *) &held);
    while (!held) {
        usleep(100);
    }
    OK(cuStreamQuery(CU_STREAM_PER_THREAD)); /* one's own is empty */
    pthread_join(thread, NULL);
}

/*
 * FAKECUDA_SYNC_ALLOC: an allocation waits for the kernel that waits for us. mode 1: the first use
 * of a kernel.
 */
static void allocate_beside_kernel(int mode)
{
    CUdeviceptr words = (begin(0), zeros(16)), at, seen = words + 8;
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING), t = new_stream(CU_STREAM_NON_BLOCKING);
    uint64_t one = 1;
    void *args[] = {&words, &one, &seen};
    CUfunction f = kernel("nothing");

    OK(cuFuncLoad(kernel("wait_for")));
    if (2 == mode) {
        OK(cuFuncLoad(f));
    }
    OK(cuLaunchKernel(kernel("wait_for"), 1, 1, 1, 32, 1, 1, 0, s, args, NULL));
    if (0 == mode) {
        OK(cuMemAlloc(&at, 8));
    } else {
        OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, t, NULL, NULL));
        OK(cuStreamSynchronize(t));
    }
    set_word(words, 1);
    OK(cuStreamSynchronize(s));
}
static void alloc_beside_kernel(void)
{
    allocate_beside_kernel(0);
}
static void first_launch_beside_kernel(void)
{
    allocate_beside_kernel(1);
}
static void loaded_launch_beside_kernel(void)
{
    allocate_beside_kernel(2);
}

const struct test_case stream_cases[] = {
    {"legacy_order", legacy_order},
    {"non_blocking", non_blocking},
    {"missing_order", missing_order},
    {"sync_memops", sync_memops},
    {"slow_bus", slow_bus},
    {"staged", staged},
    {"events", events},
    {"values", values},
    {"per_thread", per_thread},
    {"alloc_beside_kernel", alloc_beside_kernel},
    {"first_launch_beside_kernel", first_launch_beside_kernel},
    {"loaded_launch_beside_kernel", loaded_launch_beside_kernel},
    {NULL, NULL},
};
