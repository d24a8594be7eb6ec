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
    {"contexts", contexts},       {"peers", peers}, {"at_exit", at_exit}, {"host_only", host_only},
    {"uses_device", uses_device}, {NULL, NULL},
};
