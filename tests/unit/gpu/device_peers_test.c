/* SPDX-License-Identifier: BSD-3-Clause */
/* Several devices (cuda/pointer.h): access to memory, and their ids. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "cuda/device.h"
#include "cuda/pointer.h"
#include "device_app.h"

static void peers(const char *reach)
{
    int a, b;

    for (a = 0; a < 4; a++) {
        for (b = 0; b < 4; b++) {
            CHECK_INT(gr_gpu_can_access(get_gpu(gpus, a), b), a == b || '1' == reach[4 * a + b]);
            /* again */
            CHECK_INT(gr_gpu_can_access(get_gpu(gpus, a), b), a == b || '1' == reach[4 * a + b]);
        }
        CHECK_INT(gr_gpu_can_access(get_gpu(gpus, a), 4), 0);
        CHECK_INT(gr_gpu_can_access(get_gpu(gpus, a), -1), 0);
    }
    APP(cuCtxSetCurrent, get_gpu(gpus, 0)->context);
    /* enabled: once more is refused */
    CHECK_INT(app.cuCtxEnablePeerAccess(get_gpu(gpus, 1)->context, 0),
              '1' == reach[1] ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                              : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

static void all_reach_all(void)
{
    peers("1111111111111111");
}

static void none_reaches_another(void)
{
    peers("0000000000000000");
}

/* Nor does the question cost a context there. */
static void who_cannot_be_reached_gets_no_context(void)
{
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    unsigned int flags;
    int active;

    CHECK_INT(gr_gpu_can_access(gpu, 1), 0);
    APP(cuDevicePrimaryCtxGetState, gpus->slots[1].device, &flags, &active);
    CHECK_INT(active, 0);
}

static void pairs_reach_each_other(void)
{
    peers("0100100000010010");
}

static void the_application_enabled_it(void)
{
    app_use(0);
    APP(cuCtxEnablePeerAccess, get_gpu(gpus, 1)->context, 0);
    CHECK_INT(gr_gpu_can_access(get_gpu(gpus, 0), 1), 1);
}

/* ---- memory with rights of its own ---- */

#define NONE CU_MEM_ACCESS_FLAGS_PROT_NONE
#define ALL CU_MEM_ACCESS_FLAGS_PROT_READWRITE
static const size_t MAPPING = (size_t) 2 << 20;

static CUmemAccessDesc right_of(int device, CUmemAccess_flags flags)
{
    CUmemLocation where = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    CUmemAccessDesc right = {where, flags};

    return right;
}

/* Two mappings in a row of memory of device 0; no device has access. */
static CUdeviceptr map_twice(void)
{
    CUmemLocation where = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUmemAllocationProp what = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = where};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    int k;

    APP(cuMemAddressReserve, &at, 2 * MAPPING, 0, 0, 0);
    for (k = 0; k < 2; k++) {
        APP(cuMemCreate, &handle, MAPPING, &what, 0);
        APP(cuMemMap, at + k * MAPPING, MAPPING, 0, handle, 0);
    }
    return at;
}

static void set_right(CUdeviceptr at, int device, CUmemAccess_flags flags)
{
    CUmemAccessDesc right = right_of(device, flags);

    APP(cuMemSetAccess, at, MAPPING, &right, 1);
}

static int can_use(struct gr_gpu *gpu, CUdeviceptr at, size_t bytes)
{
    struct gr_pointer p = gr_pointer_find(gpu->gpus, (void *) (uintptr_t) at);

    CHECK(GR_MEMORY_DEVICE == p.memory && 0 == p.device && p.primary);
    return gr_gpu_can_use(gpu, &p, bytes);
}

/*
 * All mappings that a buffer touches must have given the device access, whichever device they lie
 * on. Rights count as they are now.
 */
static void mappings_have_rights(void)
{
    struct gr_gpu *owner = get_gpu(gpus, 0), *other = get_gpu(gpus, 1);
    CUdeviceptr at;

    CHECK_INT(gr_gpu_can_access(other, 0), 1); /* which is not for mappings */
    at = map_twice();
    CHECK_INT(can_use(owner, at, 8), 0);
    set_right(at, 0, ALL);
    CHECK_INT(can_use(owner, at, MAPPING), 1);
    CHECK_INT(can_use(owner, at, MAPPING + 1), 0);
    CHECK_INT(can_use(other, at, 8), 0);
    set_right(at, 1, ALL);
    CHECK_INT(can_use(other, at + 8, MAPPING - 8), 1);
    CHECK_INT(can_use(other, at + 8, MAPPING), 0);
    set_right(at + MAPPING, 1, ALL);
    CHECK_INT(can_use(other, at, 2 * MAPPING), 1);
    CHECK_INT(can_use(other, at, 2 * MAPPING + 1), 0); /* nothing is mapped there */
    set_right(at, 1, NONE);
    CHECK_INT(can_use(other, at, 8), 0);
    CHECK_INT(can_use(other, at + MAPPING, 8), 1);
}

static void pools_have_rights(void)
{
    struct gr_gpu *owner = get_gpu(gpus, 0), *other = get_gpu(gpus, 1);
    CUmemAccessDesc right = right_of(1, ALL);
    CUmemoryPool pool;
    CUdeviceptr at;

    app_use(0);
    at = gr_cuda_ptr(app_memory(APP_POOL, 64));
    CHECK_INT(gr_gpu_can_access(other, 0), 1); /* which is not for pools */
    CHECK(can_use(owner, at, 64) && !can_use(other, at, 64));
    APP(cuDeviceGetDefaultMemPool, &pool, 0);
    APP(cuMemPoolSetAccess, pool, &right, 1);
    CHECK(can_use(owner, at, 64) && can_use(other, at, 64));
    right.flags = NONE;
    APP(cuMemPoolSetAccess, pool, &right, 1);
    CHECK(can_use(owner, at, 64) && !can_use(other, at, 64));
}

static CUresult CUDAAPI fail_mapping(unsigned long long *flags, const CUmemLocation *where,
                                     CUdeviceptr at)
{
    (void) where;
    (void) at;
    *flags = ALL; /* not to be believed */
    return CUDA_ERROR_UNKNOWN;
}

static CUresult CUDAAPI fail_pool(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *where)
{
    (void) pool;
    (void) where;
    *flags = ALL;
    return CUDA_ERROR_UNKNOWN;
}

/* What the driver cannot say is not used: it is staged. */
static void no_answer_means_no(void)
{
    struct gr_gpu *owner = get_gpu(gpus, 0), *other = get_gpu(gpus, 1);
    CUdeviceptr mapped, pooled;

    app_use(0);
    mapped = map_twice();
    set_right(mapped, 0, ALL);
    pooled = gr_cuda_ptr(app_memory(APP_POOL, 64));
    gpus->cuda.cuMemGetAccess = fail_mapping;
    gpus->cuda.cuMemPoolGetAccess = fail_pool;
    CHECK(!can_use(owner, mapped, 8) && !can_use(other, pooled, 8) && can_use(owner, pooled, 8));
}

/* Peer access is enabled where it is what gives access. */
static void contexts_have_peers(void)
{
    struct gr_gpu *owner = get_gpu(gpus, 0), *other = get_gpu(gpus, 1);
    CUdeviceptr at;

    app_use(0);
    at = gr_cuda_ptr(app_memory(APP_DEVICE, 64));
    CHECK(can_use(owner, at, 64) && can_use(other, at, 64));
    APP(cuCtxSetCurrent, other->context);
    CHECK_INT(app.cuCtxEnablePeerAccess(owner->context, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
}

static void report_ids(int fd)
{
    struct gr_gpus *gpus = open_gpus();
    struct gr_gpu_id id = get_gpu(gpus, 0)->id;

    CHECK_INT(write(fd, &id, sizeof(id)), sizeof(id));
}

/* The same device is known by the same id wherever it is seen, and by whatever number. */
static void devices_have_names(void)
{
    struct gr_gpu_id ids[3], other;
    struct gr_gpus *gpus;
    int fds[2], k;
    pid_t pid;

    CHECK_INT(pipe(fds), 0);
    pid = fork();
    if (0 == pid) {
        setenv("CUDA_VISIBLE_DEVICES", "2", 1);
        report_ids(fds[1]);
        _exit(0);
    }
    CHECK_INT(read(fds[0], &other, sizeof(other)), sizeof(other));
    CHECK_INT(child_status(pid), 0);
    gpus = open_gpus();
    for (k = 0; k < 3; k++) {
        ids[k] = get_gpu(gpus, k)->id;
        CHECK_INT(0 == memcmp(&ids[k], &other, sizeof(other)), 2 == k);
    }
    CHECK(0 != memcmp(ids[0].uuid, ids[1].uuid, sizeof(ids[0].uuid)) && ids[0].bus != ids[1].bus);
    gr_gpus_close(gpus);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        GPU_ROW(all_reach_all, "FAKECUDA_DEVICES=4 FAKECUDA_PEER=all"),
        GPU_ROW(none_reaches_another, "FAKECUDA_DEVICES=4 FAKECUDA_PEER=none"),
        GPU_ROW(who_cannot_be_reached_gets_no_context, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=none"),
        GPU_ROW(pairs_reach_each_other, "FAKECUDA_DEVICES=4 FAKECUDA_PEER=pairs"),
        GPU_ROW(the_application_enabled_it, "FAKECUDA_DEVICES=2"),
        GPU_ROW(mappings_have_rights, "FAKECUDA_DEVICES=2"),
        GPU_ROW(pools_have_rights, "FAKECUDA_DEVICES=2"),
        GPU_ROW(no_answer_means_no, "FAKECUDA_DEVICES=2"),
        GPU_ROW(contexts_have_peers, "FAKECUDA_DEVICES=2"),
        ROW(devices_have_names, "FAKECUDA_DEVICES=3"),
    };

    return RUN_ROWS(rows, argc, argv);
}
