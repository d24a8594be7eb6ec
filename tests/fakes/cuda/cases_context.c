/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: start, devices, contexts, libraries, symbols. */
#include "cases.h"

#include <dlfcn.h>
#include <pthread.h>

static void *look_from_another_thread(void *unused)
{
    CUcontext c;

    (void) unused;
    OK(cuCtxGetCurrent(&c));
    CHECK(NULL == c);
    return NULL;
}

static void contexts(void)
{
    CUcontext primary, again, own, c;
    CUdevice device;
    CUdeviceptr at;
    unsigned flags;
    int active;
    pthread_t thread;

    IS(ERROR_NOT_INITIALIZED, cuDeviceGetCount(&active));
    IS(ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&c));
    IS(ERROR_NOT_INITIALIZED, cuMemAlloc(&at, 8));
    OK(cuInit(0));
    IS(ERROR_INVALID_CONTEXT, cuMemAlloc(&at, 8));
    IS(ERROR_INVALID_CONTEXT, cuCtxGetDevice(&device));
    IS(ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&c));
    IS(ERROR_INVALID_CONTEXT, cuStreamSynchronize(NULL));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(0 == active);
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    CHECK(primary == again);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK(1 == active);
    OK(cuCtxPushCurrent(primary));
    OK(cuMemAlloc(&at, 8));
    OK(cuCtxCreate(&own, NULL, 0, 1));
    OK(cuCtxGetDevice(&device));
    CHECK(1 == device && own != primary);
    pthread_create(&thread, NULL, look_from_another_thread, NULL);
    pthread_join(thread, NULL);
    OK(cuCtxDestroy(own));
    OK(cuCtxGetCurrent(&c));
    CHECK(primary == c);
    OK(cuCtxSetCurrent(own));
    IS(ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&at, 8));
    OK(cuCtxSetCurrent(primary));
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuMemAlloc(&at, 8));
    OK(cuDevicePrimaryCtxRelease(0));
    IS(ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&at, 8));
    IS(ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
    /* went with it */
    IS(ERROR_INVALID_VALUE, cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
}

/* Two devices; the options show the second one only. */
static void devices_hidden(void)
{
    CUuuid uuid;
    char bus[32];
    int n, sms, bus_number;
    CUdevice d;

    OK(cuInit(0));
    OK(cuDeviceGetCount(&n));
    CHECK(1 == n);
    IS(ERROR_INVALID_DEVICE, cuDeviceGet(&d, 1));
    OK(cuDeviceGet(&d, 0));
    OK(cuDeviceGetUuid(&uuid, d));
    CHECK(2 == uuid.bytes[15]);
    OK(cuDeviceGetPCIBusId(bus, sizeof(bus), d));
    CHECK(0 == strcmp("0000:11:00.0", bus));
    OK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d));
    OK(cuDeviceGetAttribute(&bus_number, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, d));
    CHECK(7 == sms && 0x11 == bus_number);
}

static void no_device(void)
{
    IS(ERROR_NO_DEVICE, cuInit(0));
}

/* Four devices, neighbours in pairs. */
static void peers(void)
{
    CUcontext c[4];
    int can;

    for (int i = 3; i >= 0; i--) {
        c[i] = begin(i);
    }
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    CHECK(1 == can);
    OK(cuDeviceCanAccessPeer(&can, 1, 2));
    CHECK(0 == can);
    OK(cuCtxEnablePeerAccess(c[1], 0));
    IS(ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(c[1], 0));
    IS(ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(c[2], 0));
    OK(cuCtxDisablePeerAccess(c[1]));
    IS(ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(c[1]));
}

static void libraries(void)
{
    struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t bytes;
    } image = {0xBA55ED50, 1, 16, 16};
    CUlibrary l, bad;
    CUkernel k;
    CUfunction f;
    CUfunctionLoadingState state;
    CUmodule m;
    int value;

    begin(0);
    image.magic++;
    IS(ERROR_INVALID_IMAGE, cuModuleLoadFatBinary(&m, &image));
    IS(ERROR_INVALID_IMAGE, cuLibraryLoadData(&bad, &image, NULL, NULL, 0, NULL, NULL, 0));
    IS(ERROR_INVALID_IMAGE, cuLibraryLoadData(&bad, NULL, NULL, NULL, 0, NULL, NULL, 0));
    image.magic--;
    image.bytes = 0;
    IS(ERROR_INVALID_IMAGE, cuLibraryLoadData(&bad, &image, NULL, NULL, 0, NULL, NULL, 0));
    image.bytes = 16;
    OK(cuModuleLoadFatBinary(&m, &image));
    OK(cuModuleGetFunction(&f, m, "nothing"));
    OK(cuModuleUnload(m));
    OK(cuLibraryLoadData(&l, &image, NULL, NULL, 0, NULL, NULL, 0));
    IS(ERROR_NOT_FOUND, cuLibraryGetKernel(&k, l, "no_such_kernel"));
    OK(cuLibraryGetKernel(&k, l, "nothing"));
    OK(cuKernelGetFunction(&f, k));
    OK(cuFuncIsLoaded(&state, f));
    CHECK(CU_FUNCTION_LOADING_STATE_UNLOADED == state);
    OK(cuFuncLoad(f));
    OK(cuFuncIsLoaded(&state, f));
    CHECK(CU_FUNCTION_LOADING_STATE_LOADED == state);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    CHECK(1024 == value);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 544, 0));
    CHECK(1 == value);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 512, 0));
    CHECK(2 == value);
    OK(cuLibraryUnload(l));
    IS(ERROR_INVALID_HANDLE, cuFuncLoad(f));
    IS(ERROR_INVALID_HANDLE, cuLibraryUnload(l));
}

static void symbols(void)
{
    CUdriverProcAddressQueryResult result;
    const char *text;
    void *f;
    int version;

    OK(cuDriverGetVersion(&version));
    CHECK(12040 == version);
    OK(cuGetProcAddress("cuMemAlloc", &f, 12000, 0, &result));
    CHECK(f == dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") && CU_GET_PROC_ADDRESS_SUCCESS == result);
    OK(cuGetProcAddress("cuCtxCreate", &f, 12000, 0, &result));
    CHECK(f == dlsym(RTLD_DEFAULT, "cuCtxCreate_v3"));
    OK(cuGetProcAddress("cuCtxCreate", &f, 11030, 0, &result));
    CHECK(f == dlsym(RTLD_DEFAULT, "cuCtxCreate_v2"));
    /* what this driver does not know yet */
    OK(cuGetProcAddress("cuCtxCreate", &f, 13000, 0, &result));
    CHECK(f == dlsym(RTLD_DEFAULT, "cuCtxCreate_v3"));
    IS(ERROR_NOT_FOUND, cuGetProcAddress("cuGreenCtxStreamCreate", &f, 13000, 0, &result));
    CHECK(NULL == f && CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND == result);
    /* what it knows, and the caller does not */
    IS(ERROR_NOT_FOUND, cuGetProcAddress("cuMemAllocAsync", &f, 11010, 0, &result));
    CHECK(NULL == f && CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT == result);
    IS(ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchFunction", &f, 12000, 0, &result));
    CHECK(NULL == f && CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND == result);
    OK(cuGetProcAddress("cuMemcpyHtoD", &f, 12000, 0, &result));
    CHECK(f == dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2"));
    OK(cuGetProcAddress("cuMemcpyHtoD", &f, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                        &result));
    CHECK(f == dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2_ptds"));
    OK(cuGetProcAddress("cuMemAlloc", &f, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                        &result));
    CHECK(f == dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
    OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    CHECK(0 == strcmp("CUDA_ERROR_OUT_OF_MEMORY", text));
    OK(cuGetErrorString(CUDA_ERROR_DEINITIALIZED, &text));
    CHECK(0 == strcmp("driver shutting down", text));
    IS(ERROR_INVALID_VALUE, cuGetErrorName((CUresult) 12345, &text));
}

static void ask_at_exit(void)
{
    CUcontext c;

    if (CUDA_ERROR_DEINITIALIZED != cuCtxGetCurrent(&c)) {
        _exit(1);
    }
    _exit(42); /* shows that it came to this */
}

static void at_exit(void)
{
    atexit(ask_at_exit);
    begin(0);
}

/* What the log shows: only device questions, no context. */
static void host_only(void)
{
    int n;

    OK(cuInit(0));
    OK(cuDeviceGetCount(&n));
}

static void uses_device(void)
{
    begin(0);
    zeros(4096);
}

const struct test_case context_cases[] = {
    {"contexts", contexts}, {"devices_hidden", devices_hidden}, {"no_device", no_device},
    {"peers", peers},       {"libraries", libraries},           {"symbols", symbols},
    {"at_exit", at_exit},   {"host_only", host_only},           {"uses_device", uses_device},
    {NULL, NULL},
};
