/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache of users' buffers (link/ipc_cache.h) inside one process: handles, what they cost, and
 * buffers of the own process. Mappings are the business of gpu_share_map_test.c and
 * gpu_share_process_test.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "cuda/device.h"
#include "cuda/driver.h"
#include "gpu_share_fixture.h"
#include "usage.h"

/* Of most rows. */
static struct sharer s;

static void in_sharer(void (*body)(void))
{
    s = open_sharer(0, 0, 8, 8);
    body();
    close_sharer(&s);
}

#define SHARER_ROW(body, environment) ROW_IN(in_sharer, body, environment)

/* ---- calls of the driver ---- */

static struct gr_cuda real;
static int questions, ids, others, handles, errors;

static CUresult CUDAAPI ask_all(unsigned int n, CUpointer_attribute *names, void **values,
                                CUdeviceptr at)
{
    CUresult result = real.cuPointerGetAttributes(n, names, values, at);

    questions++;
    errors += CUDA_SUCCESS != result;
    return result;
}

static CUresult CUDAAPI ask_one(void *value, CUpointer_attribute name, CUdeviceptr at)
{
    CUresult result = real.cuPointerGetAttribute(value, name, at);

    (*(CU_POINTER_ATTRIBUTE_BUFFER_ID == name ? &ids : &questions))++;
    errors += CUDA_SUCCESS != result;
    return result;
}

static CUresult CUDAAPI get_current(CUcontext *context)
{
    others++;
    return real.cuCtxGetCurrent(context);
}

static CUresult CUDAAPI get_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
    others++;
    return real.cuMemGetAddressRange(base, bytes, at);
}

static CUresult CUDAAPI get_handle(CUipcMemHandle *handle, CUdeviceptr at)
{
    handles++;
    return real.cuIpcGetMemHandle(handle, at);
}

static void count_calls(struct gr_gpus *gpus)
{
    real = gpus->cuda;
    gpus->cuda.cuPointerGetAttributes = ask_all;
    gpus->cuda.cuPointerGetAttribute = ask_one;
    gpus->cuda.cuCtxGetCurrent = get_current;
    gpus->cuda.cuMemGetAddressRange = get_range;
    gpus->cuda.cuIpcGetMemHandle = get_handle;
}

/*
 * So many handles were asked for since the last time, and where there were none nothing but so many
 * buffer ids.
 */
static void counted(int nhandles, int nids)
{
    CHECK_INT(handles, nhandles);
    CHECK(nhandles > 0 || (0 == questions && 0 == others && ids == nids));
    questions = ids = others = handles = 0;
}

/* ---- handles ---- */

static void not_shared(struct gr_ipc_cache *share, const void *buffer, size_t bytes,
                       const char *what)
{
    static const struct gr_ipc_handle none;
    struct gr_ipc_handle t = gr_ipc_cache_export(share, buffer, bytes);
    struct gr_ipc_mapped shared;

    if (gr_ipc_handle_valid(&t) || 0 != memcmp(&t, &none, sizeof(t))) {
        fprintf(stderr, "# shared: %s\n", what);
        _exit(1);
    }
    CHECK_INT(gr_ipc_cache_map(share, &t, &shared), GR_ERR_PEER);
}

static void what_is_not_shared(void)
{
    unsigned char *at = device_memory(BYTES);
    int kind, round;

    count_calls(s.gpus);
    for (round = 0; round < 2; round++) {
        for (kind = 0; kind < APP_KINDS; kind++) {
            if (APP_DEVICE != kind) {
                not_shared(s.share, app_memory(kind, BYTES), BYTES, app_memory_names[kind]);
            }
        }
    }
    not_shared(s.share, NULL, 0, "NULL");
    CHECK_INT(handles, 0); /* the driver was not even asked for one */
    not_shared(s.share, at, BYTES + 1, "more than there is");
    not_shared(s.share, at + 1, BYTES, "more than there is");
    not_shared(s.share, at, (size_t) -1, "more than there is");
    CHECK_USAGE(s.share, 1, 0, 0); /* its allocation was found */
    (void) handle_of(s.share, at, BYTES);
    app_use(1);
    not_shared(s.share, device_memory(BYTES), BYTES, "another device");
    (void) app_context(0);
    not_shared(s.share, device_memory(BYTES), BYTES, "another context");
    app_use(0);
    free_memory(at);
    not_shared(s.share, at, BYTES, "freed");
    CHECK_USAGE(s.share, 1, 0, 0);
}

static void no_ipc(void)
{
    not_shared(s.share, device_memory(BYTES), BYTES, "a driver without IPC");
    CHECK_USAGE(s.share, 0, 0, 0);
}

static CUresult CUDAAPI no_handle(CUipcMemHandle *handle, CUdeviceptr at)
{
    (void) handle;
    (void) at;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Not kept: the next time it may go well. */
static void the_handle_fails(void)
{
    __typeof__(&no_handle) right = s.gpus->cuda.cuIpcGetMemHandle;
    void *at = device_memory(BYTES);

    s.gpus->cuda.cuIpcGetMemHandle = no_handle;
    not_shared(s.share, at, BYTES, "without a handle");
    CHECK_USAGE(s.share, 0, 0, 0);
    s.gpus->cuda.cuIpcGetMemHandle = right;
    (void) handle_of(s.share, at, BYTES);
}

static void buffers_of_one_allocation(void)
{
    struct sharer s = open_sharer(3, 0, 8, 8);
    unsigned char *at = device_memory(BYTES), *other = device_memory(BYTES);
    struct gr_ipc_handle whole = handle_of(s.share, at, BYTES),
                         part = handle_of(s.share, at + 5000, 100), end, t;

    CHECK_INT(whole.offset, 0);
    CHECK_INT(whole.of.bytes, BYTES);
    CHECK_INT(part.offset, 5000);
    part.offset = 0;
    CHECK(0 == memcmp(&whole, &part, sizeof(whole)));
    end = handle_of(s.share, at + BYTES - 1, 1);
    CHECK_INT(end.of.id, whole.of.id);
    (void) handle_of(s.share, at + BYTES - 1, 0);
    CHECK_USAGE(s.share, 1, 0, 0);
    t = handle_of(s.share, other, 10);
    CHECK(t.of.id != whole.of.id && t.of.base != whole.of.base &&
          0 != memcmp(t.ipc, whole.ipc, sizeof(t.ipc)));
    CHECK_INT(t.of.process, whole.of.process);
    CHECK_INT(t.owner.job, 1);
    CHECK_INT(t.owner.vpid, 3);
    CHECK(0 == memcmp(&t.gpu, &(struct gr_gpu_id[]) {s.gpu->id}[0], sizeof(t.gpu)));
    CHECK_USAGE(s.share, 2, 0, 0);
    close_sharer(&s);
}

/* Freed, and given to another at once: in its place, behind its begin, before its begin. */
static void an_address_is_used_again(void)
{
    static const size_t sizes[] = {BYTES, BYTES, BYTES - 1024, BYTES - 3000, BYTES};
    struct gr_ipc_handle before;
    size_t k;

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        unsigned char *at = device_memory(sizes[k]);
        struct gr_ipc_handle t = handle_of(s.share, at + 4000, sizes[k] - 4000);

        CHECK_INT(t.of.bytes, sizes[k]);
        CHECK_INT(t.offset, 4000);
        if (k > 0) { /* or the driver under test shows nothing */
            CHECK(t.of.base < before.of.base + before.of.bytes &&
                  before.of.base < t.of.base + t.of.bytes);
            CHECK(t.of.id != before.of.id && 0 != memcmp(t.ipc, before.ipc, sizeof(t.ipc)));
        }
        before = t;
        free_memory(at);
    }
}

/* ---- what it costs ---- */

static void what_an_export_costs(void)
{
    unsigned char *at[8];
    int k, round;

    count_calls(s.gpus);
    for (k = 0; k < 8; k++) {
        at[k] = device_memory(BYTES);
        (void) handle_of(s.share, at[k], BYTES);
        counted(1, 0);
    }
    for (round = 0; round < 5; round++) {
        for (k = 0; k < 8; k++) {
            (void) handle_of(s.share, at[k] + 10 * round, 100);
        }
    }
    counted(0, 40);
}

/* Those not used for the longest time make room. */
static void exports_are_bounded(void)
{
    struct sharer s = open_sharer(0, 0, 4, 8);
    unsigned char *at[10];
    int k, round;

    count_calls(s.gpus);
    for (k = 0; k < 10; k++) {
        at[k] = device_memory(BYTES);
    }
    for (round = 0; round < 3; round++) {
        for (k = 0; k < 10; k++) {
            (void) handle_of(s.share, at[k], BYTES);
            CHECK(ipc_cache_usage(s.share).exports <= 4);
        }
    }
    counted(30, 0);
    (void) handle_of(s.share, at[6], BYTES);
    counted(0, 1);
    (void) handle_of(s.share, at[0], BYTES); /* takes the place of 7, not of 6 */
    counted(1, 0);
    for (k = 0; k < 3; k++) {
        (void) handle_of(s.share, at[(int[]) {6, 8, 9}[k]], BYTES);
    }
    counted(0, 3);
    (void) handle_of(s.share, at[7], BYTES);
    counted(1, 0);
    CHECK_USAGE(s.share, 4, 0, 0);
    close_sharer(&s);
}

/* ---- what was freed ---- */

/*
 * Memory that was exported and freed is named once, in the next call, also where its addresses are
 * another allocation's by then.
 */
static void what_was_freed_is_named(void)
{
    unsigned char *at[3];
    uint64_t names[3];
    int k;

    count_calls(s.gpus);
    CHECK_INT(gr_ipc_cache_begin_call(s.share), 0);
    for (k = 0; k < 3; k++) {
        struct gr_ipc_handle t;

        at[k] = device_memory(BYTES);
        t = handle_of(s.share, at[k], BYTES);
        names[k] = gr_ipc_name(&t.of);
    }
    CHECK_INT(gr_ipc_cache_begin_call(s.share), 0);
    free_memory(at[1]);
    CHECK_INT(gr_ipc_cache_begin_call(s.share), names[1]);
    CHECK_INT(gr_ipc_cache_begin_call(s.share), 0);
    CHECK_USAGE(s.share, 2, 0, 0);
    free_memory(at[0]);
    free_memory(at[2]);
    CHECK(at[2] == device_memory(BYTES)); /* or the driver under test shows nothing */
    CHECK_INT(gr_ipc_cache_begin_call(s.share), names[0] | names[2]);
    CHECK_USAGE(s.share, 0, 0, 0);
    CHECK_INT(errors, 0); /* of the driver's, which tools report */
}

/* A full cache names what makes room: nobody looks any more whether that is freed. */
static void what_makes_room_is_named(void)
{
    struct sharer s = open_sharer(0, 0, 2, 8);
    uint64_t first = 0;
    int k;

    for (k = 0; k < 3; k++) {
        struct gr_ipc_handle t = handle_of(s.share, device_memory(BYTES), BYTES);

        first = 0 == k ? gr_ipc_name(&t.of) : first;
    }
    CHECK_INT(gr_ipc_cache_begin_call(s.share), first);
    CHECK_INT(gr_ipc_cache_begin_call(s.share), 0);
    close_sharer(&s);
}

/* Each is looked at in the sixteen calls after it was exported, and then in turn. */
static void what_a_call_costs(void)
{
    enum { N = 3 };
    void *at[N];
    int k;

    for (k = 0; k < N; k++) {
        at[k] = device_memory(BYTES);
        (void) handle_of(s.share, at[k], BYTES);
    }
    count_calls(s.gpus);
    for (k = 0; k < GR_IPC_RECENT; k++) {
        CHECK_INT(gr_ipc_cache_begin_call(s.share), 0);
    }
    CHECK_INT(questions, N * GR_IPC_RECENT);
    questions = 0;
    for (k = 0; k < 10 * N; k++) {
        CHECK_INT(gr_ipc_cache_begin_call(s.share), 0);
    }
    CHECK_INT(questions, 10 * N);
    CHECK_INT(ids + others + handles, 0);
    free_memory(at[1]);
    for (k = 0; k < N && 0 == gr_ipc_cache_begin_call(s.share); k++) {
    }
    CHECK(k < N);
}

/* A cache that keeps nothing is slow, and right. */
static void nothing_is_kept(void)
{
    struct sharer s = open_sharer(0, 0, 0, 0);
    void *at = device_memory(BYTES);

    count_calls(s.gpus);
    (void) handle_of(s.share, at, BYTES);
    (void) handle_of(s.share, at, BYTES);
    counted(2, 0);
    CHECK_USAGE(s.share, 0, 0, 0);
    close_sharer(&s);
}

/* ---- of this process ---- */

static void within_the_process(void)
{
    struct gr_gpu *second = get_gpu(s.gpus, 1);
    struct gr_ipc_cache *other = gr_ipc_cache_open(second, (struct gr_peer_id) {1, 1}, 8, 0);
    unsigned char *at = device_memory(BYTES);
    struct gr_ipc_handle t = handle_of(s.share, at + 100, 50);
    struct gr_ipc_mapped here = map_handle(s.share, &t), there = map_handle(other, &t);

    CHECK_INT(here.at, gr_cuda_ptr(at) + 100);
    CHECK_INT(there.at, gr_cuda_ptr(at) + 100);
    fill(second, there.at, 9, 50);
    CHECK(holds(s.gpu, here.at, 9, 50));
    CHECK_USAGE(s.share, 1, 0, 0);
    CHECK_USAGE(other, 0, 0, 0);
    gr_ipc_cache_unmap(s.share, &here);
    gr_ipc_cache_unmap(other, &there);
    free_memory(at);
    not_mapped(s.share, &t);
    at = device_memory(BYTES);
    CHECK_INT(gr_cuda_ptr(at), t.of.base); /* or the driver under test shows nothing */
    not_mapped(s.share, &t);
    gr_ipc_cache_close(other);
}

static void devices_that_are_apart(void)
{
    struct gr_ipc_cache *other =
        gr_ipc_cache_open(get_gpu(s.gpus, 1), (struct gr_peer_id) {1, 1}, 8, 8);
    struct gr_ipc_handle t = handle_of(s.share, device_memory(BYTES), BYTES);

    (void) map_handle(s.share, &t);
    not_mapped(other, &t);
    gr_ipc_cache_close(other);
}

/* ---- contexts ---- */

/* The application's own, the primary one, none. */
static void contexts_are_left_alone(void)
{
    void *at[3] = {device_memory(BYTES), device_memory(BYTES), device_memory(BYTES)};
    CUcontext before = app_context(0);
    int k;

    for (k = 0; k < 3; k++) {
        struct gr_ipc_handle t = handle_of(s.share, at[k], BYTES);
        struct gr_ipc_mapped m = map_handle(s.share, &t);

        CHECK(before == app_current());
        t.of.process++;
        not_mapped(s.share, &t); /* the driver opens no handle of its own process */
        gr_ipc_cache_unmap(s.share, &m);
        gr_ipc_cache_trim(s.share);
        CHECK(before == app_current());
        if (NULL != before) {
            APP(cuCtxPopCurrent, &before);
            before = app_current();
        }
    }
    CHECK(NULL == before);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        SHARER_ROW(what_is_not_shared, "FAKECUDA_DEVICES=2"),
        SHARER_ROW(no_ipc, "FAKECUDA_IPC=none"),
        SHARER_ROW(the_handle_fails, NULL),
        ROW(buffers_of_one_allocation, NULL),
        SHARER_ROW(an_address_is_used_again, "FAKECUDA_REUSE=1"),
        SHARER_ROW(what_an_export_costs, NULL),
        ROW(exports_are_bounded, NULL),
        SHARER_ROW(what_was_freed_is_named, "FAKECUDA_REUSE=1"),
        ROW(what_makes_room_is_named, NULL),
        SHARER_ROW(what_a_call_costs, NULL),
        ROW(nothing_is_kept, NULL),
        SHARER_ROW(within_the_process, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=all FAKECUDA_REUSE=1"),
        SHARER_ROW(devices_that_are_apart, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=none"),
        SHARER_ROW(contexts_are_left_alone, NULL),
    };

    return RUN_ROWS(rows, argc, argv);
}
