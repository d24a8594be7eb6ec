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
    {"staged", staged},
    {"events", events},
    {"alloc_beside_kernel", alloc_beside_kernel},
    {"first_launch_beside_kernel", first_launch_beside_kernel},
    {"loaded_launch_beside_kernel", loaded_launch_beside_kernel},
    {NULL, NULL},
};
