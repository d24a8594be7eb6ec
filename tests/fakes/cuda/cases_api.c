/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: functions that are not there, callbacks, what is said of managed and mapped memory. */
#include "cases.h"

#include <dlfcn.h>

/* Each has a name and an address; a call says which it was, once. */
static void unsupported(void)
{
    CUdriverProcAddressQueryResult result;
    CUgreenCtx green;
    CUarray array;
    void *f;

    begin(0);
    IS(ERROR_NOT_SUPPORTED, cuGreenCtxCreate(&green, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    IS(ERROR_NOT_SUPPORTED, cuGreenCtxCreate(&green, NULL, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    IS(ERROR_NOT_SUPPORTED, cuArrayCreate(&array, NULL));
    OK(cuGetProcAddress("cuMulticastCreate", &f, 12010, 0, &result));
    CHECK(f == dlsym(RTLD_DEFAULT, "cuMulticastCreate") && CU_GET_PROC_ADDRESS_SUCCESS == result);
}

/* NVIDIA's runtime asks for these; this driver has none, and says what to do. */
static void no_tables(void)
{
    static const CUuuid id = {{1, 2, 3}};
    const void *table = &id;

    IS(ERROR_NOT_FOUND, cuGetExportTable(&table, &id));
    CHECK(NULL == table);
}

static CUresult inside[3];

static void CUDA_CB call_driver(CUstream stream, CUresult status, void *data)
{
    CUdeviceptr at;

    CHECK(CUDA_SUCCESS == status && *(CUstream *) data == stream);
    inside[0] = cuMemAlloc(&at, 8);
    inside[1] = cuStreamQuery(stream);
}
static void CUDA_CB call_driver_too(void *data)
{
    inside[2] = cuEventRecord(*(CUevent *) data, NULL);
}

/* A callback runs in its stream's order, and must not call the driver. */
static void callbacks(void)
{
    CUdeviceptr at = (begin(0), zeros(8));
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING);
    CUstreamCaptureStatus status;
    CUevent event;
    CUgraph graph;

    OK(cuEventCreate(&event, 0));
    OK(cuMemsetD8Async(at, 1, 8, s));
    OK(cuStreamAddCallback(s, call_driver, &s, 0));
    OK(cuLaunchHostFunc(s, call_driver_too, &event));
    OK(cuStreamSynchronize(s));
    for (int i = 0; i < 3; i++) {
        CHECK(CUDA_ERROR_NOT_PERMITTED == inside[i]);
    }
    OK(cuMemFree(at));
    IS(ERROR_INVALID_VALUE, cuStreamAddCallback(s, call_driver, &s, 1));
    IS(ERROR_INVALID_VALUE, cuStreamAddCallback(s, NULL, &s, 0));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    IS(ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamAddCallback(s, call_driver, &s, 0));
    OK(cuStreamIsCapturing(s, &status));
    CHECK(CU_STREAM_CAPTURE_STATUS_INVALIDATED == status);
    IS(ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
}

static int asked(CUdeviceptr at, size_t bytes, CUmem_range_attribute name)
{
    int value = 77;

    OK(cuMemRangeGetAttribute(&value, sizeof(value), name, at, bytes));
    return value;
}

static void managed_ranges(void)
{
    CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    CUmemLocation other = {CU_MEM_LOCATION_TYPE_DEVICE, 9};
    CUmem_range_attribute names[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                     CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE};
    int a, b, by[2];
    void *out[] = {&a, &b};
    size_t sizes[] = {4, 4};
    CUdeviceptr at, plain = (begin(0), zeros(8));

    OK(cuMemAllocManaged(&at, 8192, CU_MEM_ATTACH_GLOBAL));
    CHECK(CU_DEVICE_INVALID == asked(at, 8, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION));
    CHECK(CU_DEVICE_INVALID == asked(at, 8, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION));
    OK(cuMemPrefetchAsync(at, 8192, device, 0, NULL));
    OK(cuStreamSynchronize(NULL));
    CHECK(0 == asked(at, 8, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION));
    OK(cuMemPrefetchAsync(at, 8192, host, 0, NULL));
    OK(cuStreamSynchronize(NULL));
    CHECK(CU_DEVICE_CPU == asked(at, 8, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION));
    IS(ERROR_INVALID_DEVICE, cuMemPrefetchAsync(at, 8192, other, 0, NULL));
    OK(cuMemAdvise(at, 8192, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    OK(cuMemAdvise(at, 8192, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    OK(cuMemRangeGetAttributes(out, sizes, names, 2, at, 8192));
    CHECK(1 == a && CU_MEM_LOCATION_TYPE_DEVICE == b);
    OK(cuMemRangeGetAttribute(by, sizeof(by), CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, at, 8));
    CHECK(CU_DEVICE_INVALID == by[0] && CU_DEVICE_INVALID == by[1]);
    IS(ERROR_INVALID_VALUE,
       cuMemRangeGetAttribute(&a, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, at, 8));
    IS(ERROR_INVALID_VALUE,
       cuMemRangeGetAttribute(&a, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, at, 8193));
    IS(ERROR_INVALID_VALUE,
       cuMemRangeGetAttribute(&a, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, plain, 8));
    IS(ERROR_INVALID_VALUE, cuMemPrefetchAsync(plain, 8, device, 0, NULL));
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
    int fd;

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
    IS(ERROR_INVALID_VALUE,
       cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
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
    {"unsupported", unsupported},
    {"no_tables", no_tables},
    {"callbacks", callbacks},
    {"managed_ranges", managed_ranges},
    {"mapped_again", mapped_again},
    {"pool_access", pool_access},
    {NULL, NULL},
};
