/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: callbacks that call the driver, and memory that another device has no access to. */
#include "cases.h"

static void CUDA_CB call_driver(void *result)
{
    CUdeviceptr at;

    *(CUresult *) result = cuMemAlloc(&at, 8);
}

static void callbacks(void)
{
    CUstream s = (begin(0), new_stream(CU_STREAM_NON_BLOCKING));
    CUresult inside = CUDA_SUCCESS;

    OK(cuLaunchHostFunc(s, call_driver, &inside));
    OK(cuStreamSynchronize(s));
    CHECK(CUDA_ERROR_NOT_PERMITTED == inside);
}

/* Memory keeps what is in it while it is mapped elsewhere; access is given to each device. */
static void mapped_again(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc access = {.location = prop.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    unsigned long long flags;
    size_t bytes = 2 << 20;
    CUdeviceptr at;

    begin(0);
    OK(cuMemCreate(&handle, bytes, &prop, 0));
    OK(cuMemAddressReserve(&at, 2 * bytes, 0, 0, 0));
    OK(cuMemMap(at, bytes, 0, handle, 0));
    OK(cuMemSetAccess(at, bytes, &access, 1));
    set_word(at, 5);
    OK(cuMemUnmap(at, bytes));
    OK(cuMemMap(at + bytes, bytes, 0, handle, 0));
    OK(cuMemSetAccess(at + bytes, bytes, &access, 1));
    CHECK(5 == word_at(at + bytes));
    access.location.id = 1;
    OK(cuMemGetAccess(&flags, &access.location, at + bytes));
    CHECK(CU_MEM_ACCESS_FLAGS_PROT_NONE == flags);
    begin(1);
    fprintf(stderr, "so far so good\n");
    if (NULL != getenv("GIVE_ACCESS")) {
        OK(cuMemSetAccess(at + bytes, bytes, &access, 1));
    }
    at += bytes;
    launch("load_word", 1, 1, NULL, (void *[]) {&at});
}

/* Pool memory is for other devices when the pool says so, not by cuCtxEnablePeerAccess. */
static void pool_access(void)
{
    CUcontext owner = begin(0), user;
    CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemAccess_flags flags;
    CUmemoryPool pool;
    CUdeviceptr at;

    OK(cuMemAllocAsync(&at, 64, NULL));
    OK(cuMemsetD8Async(at, 0, 64, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    user = begin(1);
    CHECK(user != owner);
    OK(cuCtxEnablePeerAccess(owner, 0));
    OK(cuMemPoolGetAccess(&flags, pool, &access.location));
    CHECK(CU_MEM_ACCESS_FLAGS_PROT_NONE == flags);
    fprintf(stderr, "so far so good\n");
    if (NULL != getenv("GIVE_ACCESS")) {
        OK(cuMemPoolSetAccess(pool, &access, 1));
        OK(cuMemPoolGetAccess(&flags, pool, &access.location));
        CHECK(CU_MEM_ACCESS_FLAGS_PROT_READWRITE == flags);
    }
    launch("load_word", 1, 1, NULL, (void *[]) {&at});
}

const struct test_case api_cases[] = {
    {"callbacks", callbacks},
    {"mapped_again", mapped_again},
    {"pool_access", pool_access},
    {NULL, NULL},
};
