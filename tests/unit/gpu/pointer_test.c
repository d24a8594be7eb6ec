/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classification of memory (cuda/pointer.h): every kind, reused addresses, and the number of driver
 * calls.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "device_app.h"

#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/pointer.h"

#include <pthread.h>

enum { BYTES = 8192 };

/*
 * Look at a pointer twice, the second time from what is known, and at another place of the same
 * memory.
 */
static void expect(struct gr_gpus *gpus, const void *at, enum gr_memory memory, int device,
                   int primary)
{
    int round;

    for (round = 0; round < 3; round++) {
        const unsigned char *place = (const unsigned char *) at + (2 == round ? BYTES - 1 : 0);
        struct gr_pointer p = gr_pointer_find(gpus, place);

        if (p.memory != memory || p.device != device || (device >= 0 && p.primary != primary)) {
            fprintf(stderr, "# look %d: memory %d device %d primary %d, not %d %d %d\n", round,
                    p.memory, p.device, p.primary, memory, device, primary);
            _exit(1);
        }
        CHECK_INT(p.at, GR_MEMORY_HOST == memory ? 0 : gr_cuda_ptr(place));
    }
}

static void every_kind(void)
{
    static const enum gr_memory expected[APP_KINDS] = {
        [APP_PLAIN] = GR_MEMORY_HOST,      [APP_STACKED] = GR_MEMORY_HOST,
        [APP_PINNED] = GR_MEMORY_PINNED,   [APP_REGISTERED] = GR_MEMORY_PINNED,
        [APP_MANAGED] = GR_MEMORY_MANAGED, [APP_DEVICE] = GR_MEMORY_DEVICE,
        [APP_POOL] = GR_MEMORY_DEVICE,     [APP_VMM] = GR_MEMORY_DEVICE,
    };
    int kind, device;

    for (device = 0; device < 2; device++) {
        app_use(device);
        for (kind = 0; kind < APP_KINDS; kind++) {
            void *at = app_memory(kind, BYTES);
            int where = GR_MEMORY_HOST == expected[kind] || GR_MEMORY_PINNED == expected[kind]
                            ? -1
                            : device;

            fprintf(stderr, "# %s on %d\n", app_memory_names[kind], device);
            expect(gpus, at, expected[kind], APP_VMM == kind ? 0 : where, 1);
            APP(cuCtxSetCurrent, NULL); /* what is current plays no part */
            expect(gpus, at, expected[kind], APP_VMM == kind ? 0 : where, 1);
            app_use(device);
        }
    }
    expect(gpus, every_kind, GR_MEMORY_HOST, -1, 0);
    CHECK_INT(gr_pointer_find(gpus, NULL).memory, GR_MEMORY_HOST);
    CHECK_INT(gr_pointer_find(NULL, gpus).memory, GR_MEMORY_HOST);
}

static void contexts_of_the_application(void)
{
    void *alone, *beside, *managed;

    (void) app_context(0);
    alone = app_memory(APP_DEVICE, BYTES);
    expect(gpus, alone, GR_MEMORY_DEVICE, 0, 0); /* there is no primary context yet */
    app_use(0);
    expect(gpus, app_memory(APP_DEVICE, BYTES), GR_MEMORY_DEVICE, 0, 1);
    (void) app_context(0);
    beside = app_memory(APP_DEVICE, BYTES);
    managed = app_memory(APP_MANAGED, BYTES);
    expect(gpus, beside, GR_MEMORY_DEVICE, 0, 0);
    expect(gpus, managed, GR_MEMORY_MANAGED, 0, 0);
    expect(gpus, alone, GR_MEMORY_DEVICE, 0, 0);
}

static CUresult CUDAAPI never_retain(CUcontext *context, CUdevice device)
{
    (void) context;
    (void) device;
    CHECK(!"a context was retained that was not active");
    return CUDA_SUCCESS;
}

/* No retain of ours may bring a context to life, nor keep one alive. */
static void looking_changes_no_context(void)
{
    unsigned int flags;
    CUcontext own;
    void *at;
    int active;

    own = app_context(0);
    at = app_memory(APP_DEVICE, BYTES);
    gpus->cuda.cuDevicePrimaryCtxRetain = never_retain;
    expect(gpus, at, GR_MEMORY_DEVICE, 0, 0);
    gpus->cuda.cuDevicePrimaryCtxRetain = app.cuDevicePrimaryCtxRetain;
    APP(cuDevicePrimaryCtxGetState, 0, &flags, &active);
    CHECK_INT(active, 0);
    app_use(0);
    at = app_memory(APP_DEVICE, BYTES);
    expect(gpus, at, GR_MEMORY_DEVICE, 0, 1);
    APP(cuDevicePrimaryCtxRelease, 0);
    APP(cuDevicePrimaryCtxGetState, 0, &flags, &active);
    CHECK_INT(active, 0);
    APP(cuCtxDestroy, own);
    expect(gpus, at, GR_MEMORY_HOST, -1, 0); /* went with its context */
}

/* ---- addresses that are used again ---- */

static CUdeviceptr alloc_at(CUdeviceptr wanted, size_t bytes)
{
    CUdeviceptr at;

    APP(cuMemAlloc, &at, bytes);
    CHECK_INT(at, wanted); /* or the driver under test shows nothing */
    return at;
}

static void an_address_is_used_again(void)
{
    CUdeviceptr at;
    unsigned int sync = 0;

    app_use(0);
    APP(cuMemAlloc, &at, BYTES);
    expect(gpus, (void *) (uintptr_t) at, GR_MEMORY_DEVICE, 0, 1);
    APP(cuMemFree, at);
    expect(gpus, (void *) (uintptr_t) at, GR_MEMORY_HOST, -1, 0);
    app_use(1);
    (void) alloc_at(at, BYTES);
    expect(gpus, (void *) (uintptr_t) at, GR_MEMORY_DEVICE, 1, 1);
    APP(cuMemFree, at);
    (void) app_context(0);
    (void) alloc_at(at, BYTES); /* nobody looked in between */
    expect(gpus, (void *) (uintptr_t) at, GR_MEMORY_DEVICE, 0, 0);
    APP(cuPointerGetAttribute, &sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at);
    CHECK_INT(sync, 1);
}

/* Part of a range that was known belongs to nobody by now, part to another device. */
static void a_range_is_divided(void)
{
    CUdeviceptr whole, part;

    app_use(0);
    APP(cuMemAlloc, &whole, BYTES);
    CHECK_INT(gr_pointer_find(gpus, (void *) (uintptr_t) whole).device, 0);
    APP(cuMemFree, whole);
    app_use(1);
    APP(cuMemAlloc, &part, BYTES - 2048);
    CHECK(part > whole && part < whole + BYTES); /* or the driver under test shows nothing */
    CHECK_INT(gr_pointer_find(gpus, (void *) (uintptr_t) whole).memory, GR_MEMORY_HOST);
    CHECK_INT(gr_pointer_find(gpus, (void *) (uintptr_t) part).device, 1);
}

/* ---- what it costs, and what is set ---- */

static struct gr_cuda real;
static int whole_questions, ids, marks, exchanges, errors;

static CUresult CUDAAPI ask_all(unsigned int n, CUpointer_attribute *names, void **values,
                                CUdeviceptr at)
{
    CUresult result = real.cuPointerGetAttributes(n, names, values, at);

    whole_questions++;
    errors += CUDA_SUCCESS != result;
    return result;
}

static CUresult CUDAAPI ask_one(void *value, CUpointer_attribute name, CUdeviceptr at)
{
    CUresult result = real.cuPointerGetAttribute(value, name, at);

    CHECK_INT(name, CU_POINTER_ATTRIBUTE_BUFFER_ID);
    ids++;
    errors += CUDA_SUCCESS != result;
    return result;
}

static CUresult CUDAAPI mark(const void *value, CUpointer_attribute name, CUdeviceptr at)
{
    CHECK_INT(name, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
    CUresult result = real.cuPointerSetAttribute(value, name, at);

    marks++;
    errors += CUDA_SUCCESS != result;
    return result;
}

static CUresult CUDAAPI exchange(CUstreamCaptureMode *mode)
{
    exchanges++;
    return real.cuThreadExchangeStreamCaptureMode(mode);
}

static void count_calls(void)
{
    real = gpus->cuda;
    gpus->cuda.cuPointerGetAttributes = ask_all;
    gpus->cuda.cuPointerGetAttribute = ask_one;
    gpus->cuda.cuPointerSetAttribute = mark;
    gpus->cuda.cuThreadExchangeStreamCaptureMode = exchange;
}

static void counted(int all, int one, int marked)
{
    CHECK_INT(whole_questions, all);
    CHECK_INT(ids, one);
    CHECK_INT(marks, marked);
    whole_questions = ids = marks = 0;
}

static void what_a_look_costs(void)
{
    unsigned char *device, *second, *managed, *pool, host;
    unsigned int sync = 0;

    count_calls();
    app_use(0);
    device = app_memory(APP_DEVICE, BYTES);
    second = app_memory(APP_DEVICE, BYTES);
    managed = app_memory(APP_MANAGED, BYTES);
    pool = app_memory(APP_POOL, BYTES);
    APP(cuPointerGetAttribute, &sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, gr_cuda_ptr(device));
    CHECK_INT(sync, 0);
    (void) gr_pointer_find(gpus, device + 5);
    counted(1, 0, 1);
    APP(cuPointerGetAttribute, &sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, gr_cuda_ptr(device));
    CHECK_INT(sync, 1);
    (void) gr_pointer_find(gpus, second);
    counted(1, 0, 1);
    CHECK_INT(gr_pointer_find(gpus, device).at, gr_cuda_ptr(device));
    CHECK_INT(gr_pointer_find(gpus, device + BYTES - 1).at, gr_cuda_ptr(device + BYTES - 1));
    (void) gr_pointer_find(gpus, second + 1);
    counted(0, 3, 0);
    CHECK_INT(exchanges, 4); /* the thread's capture mode: only where memory is new */
    (void) gr_pointer_find(gpus, managed);
    (void) gr_pointer_find(gpus, managed + 1);
    counted(1, 1, 0);
    CHECK_INT(exchanges, 6);
    (void) gr_pointer_find(gpus, pool); /* never remembered, and cannot be marked */
    (void) gr_pointer_find(gpus, pool);
    counted(2, 0, 0);
    (void) gr_pointer_find(gpus, &host);
    (void) gr_pointer_find(gpus, &host);
    counted(2, 0, 0);
    CHECK_INT(exchanges, 6);
}

static unsigned is_marked(CUdeviceptr at)
{
    unsigned sync = 2;

    APP(cuPointerGetAttribute, &sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at);
    return sync;
}

static CUdeviceptr alloc_marked(size_t bytes)
{
    unsigned yes = 1;
    CUdeviceptr at;

    APP(cuMemAlloc, &at, bytes);
    APP(cuPointerSetAttribute, &yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at);
    return at;
}

/*
 * SYNC_MEMOPS is cleared where it was set here, and nowhere else: not where it was set before, nor
 * in an allocation at addresses that were used again. Allocations that were freed take no room, and
 * no call of the driver's fails for them: compute-sanitizer would report it.
 */
static void marks_are_taken_off(void)
{
    enum { MANY = 300 };
    CUdeviceptr ours, theirs, again;
    int k;

    gpus = open_gpus();
    count_calls();
    app_start();
    app_use(0);
    APP(cuMemAlloc, &ours, BYTES);
    theirs = alloc_marked(BYTES);
    for (k = 0; k < MANY; k++) {
        APP(cuMemAlloc, &again, BYTES);
        (void) gr_pointer_find(gpus, (void *) (uintptr_t) again);
        APP(cuMemFree, again);
    }
    CHECK(gpus->nmarked <= gpus->marked_room && gpus->marked_room < MANY / 2);
    CHECK_INT(alloc_marked(BYTES), again); /* or the driver under test shows nothing */
    (void) gr_pointer_find(gpus, (void *) (uintptr_t) ours);
    (void) gr_pointer_find(gpus, (void *) (uintptr_t) theirs);
    CHECK(1 == is_marked(ours) && 1 == is_marked(theirs) && 1 == is_marked(again));
    gr_gpus_close(gpus);
    CHECK_INT(errors, 0);
    CHECK_INT(is_marked(ours), 0);
    CHECK(1 == is_marked(theirs) && 1 == is_marked(again));
}

/* More allocations than are remembered: still right; and the last sixteen cost little. */
static void many_allocations(void)
{
    enum { MANY = 40, FEW = 16 };
    unsigned char *at[MANY];
    int k, round;

    count_calls();
    for (k = 0; k < MANY; k++) {
        app_use(k % 2);
        at[k] = app_memory(APP_DEVICE, BYTES);
    }
    for (round = 0; round < 3; round++) {
        for (k = 0; k < MANY; k++) {
            struct gr_pointer p = gr_pointer_find(gpus, at[k] + 100);

            CHECK_INT(p.device, k % 2);
            CHECK_INT(p.at, gr_cuda_ptr(at[k] + 100));
        }
    }
    counted(3 * MANY, 0, MANY);
    for (k = MANY - FEW; k < MANY; k++) {
        CHECK_INT(gr_pointer_find(gpus, at[k]).device, k % 2);
    }
    counted(0, FEW, 0);
}

static void *look_in_a_thread(void *arg)
{
    void **at = arg;

    expect(at[0], at[1], GR_MEMORY_DEVICE, 0, 1);
    return NULL;
}

/*
 * Each thread remembers for itself; a driver that was opened later knows nothing of what an earlier
 * one was told.
 */
static void threads_and_successors(void)
{
    pthread_t thread;
    void *at[2];

    gpus = open_gpus();
    count_calls();
    app_start();
    app_use(0);
    at[0] = gpus;
    at[1] = app_memory(APP_DEVICE, BYTES);
    expect(gpus, at[1], GR_MEMORY_DEVICE, 0, 1);
    counted(1, 2, 1);
    CHECK_INT(pthread_create(&thread, NULL, look_in_a_thread, at), 0);
    pthread_join(thread, NULL);
    counted(1, 2, 0); /* it is marked already */
    gr_gpus_close(gpus);
    counted(1, 0, 1); /* the allocation exists, and its mark is taken off */
    gpus = open_gpus();
    count_calls();
    expect(gpus, at[1], GR_MEMORY_DEVICE, 0, 1);
    counted(1, 2, 1);
    gr_gpus_close(gpus);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        GPU_ROW(every_kind, "FAKECUDA_DEVICES=2"),
        GPU_ROW(contexts_of_the_application, NULL),
        GPU_ROW(looking_changes_no_context, NULL),
        GPU_ROW(an_address_is_used_again, "FAKECUDA_DEVICES=2 FAKECUDA_REUSE=1"),
        GPU_ROW(a_range_is_divided, "FAKECUDA_DEVICES=2 FAKECUDA_REUSE=1"),
        GPU_ROW(what_a_look_costs, NULL),
        ROW(marks_are_taken_off, "FAKECUDA_REUSE=1"),
        GPU_ROW(many_allocations, "FAKECUDA_DEVICES=2"),
        ROW(threads_and_successors, NULL),
    };

    return RUN_ROWS(rows, argc, argv);
}
