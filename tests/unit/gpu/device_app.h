/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An application beside the component: it calls the driver itself, and owns memory of every kind.
 */
#ifndef GR_TESTS_DEVICE_APP_H
#define GR_TESTS_DEVICE_APP_H

#include "device_rows.h"

#include "cuda/context.h"

/* X(function): those that the application calls */
#define APP_FUNCTIONS(X)          \
    X(cuInit)                     \
    X(cuDeviceGet)                \
    X(cuDevicePrimaryCtxRetain)   \
    X(cuDevicePrimaryCtxReset)    \
    X(cuDevicePrimaryCtxGetState) \
    X(cuDevicePrimaryCtxRelease)  \
    X(cuCtxSetCurrent)            \
    X(cuCtxGetCurrent)            \
    X(cuCtxPushCurrent)           \
    X(cuCtxPopCurrent)            \
    X(cuCtxDestroy)               \
    X(cuCtxSynchronize)           \
    X(cuCtxEnablePeerAccess)      \
    X(cuMemAlloc)                 \
    X(cuMemFree)                  \
    X(cuMemHostAlloc)             \
    X(cuMemFreeHost)              \
    X(cuMemHostRegister)          \
    X(cuMemHostUnregister)        \
    X(cuMemAllocManaged)          \
    X(cuMemAllocAsync)            \
    X(cuMemFreeAsync)             \
    X(cuMemAddressReserve)        \
    X(cuMemCreate)                \
    X(cuMemMap)                   \
    X(cuMemSetAccess)             \
    X(cuMemPoolSetAccess)         \
    X(cuDeviceGetDefaultMemPool)  \
    X(cuMemcpyDtoH)               \
    X(cuMemcpyHtoD)               \
    X(cuMemcpy)                   \
    X(cuMemsetD8)                 \
    X(cuMemsetD8Async)            \
    X(cuPointerGetAttribute)      \
    X(cuPointerSetAttribute)      \
    X(cuStreamCreate)             \
    X(cuStreamSynchronize)        \
    X(cuLaunchHostFunc)           \
    X(cuStreamBeginCapture)       \
    X(cuStreamEndCapture)         \
    X(cuThreadExchangeStreamCaptureMode)

struct app {
#define APP_FIELD(name) __typeof__(&name) name;
    APP_FUNCTIONS(APP_FIELD)
#undef APP_FIELD
    /* headers of different toolkits give it different arguments */
    CUresult (*create_context)(CUcontext *, unsigned int, CUdevice);
};

extern struct app app;

/* Load the driver under test and call cuInit. */
void app_start(void);

/* A driver call that must succeed. */
#define APP(name, ...) \
    app_must(#name, NULL == app.name ? CUDA_ERROR_NOT_FOUND : app.name(__VA_ARGS__))
void app_must(const char *name, CUresult result);

/*
 * Make the primary context of a device current, as the runtime API does; a context of the
 * application's own.
 */
void app_use(int ordinal);
CUcontext app_context(int ordinal);
CUcontext app_current(void);

/* The kinds of memory that buffers come in. */
enum app_memory {
    APP_PLAIN,
    APP_STACKED,
    APP_PINNED,
    APP_REGISTERED,
    APP_MANAGED,
    APP_DEVICE,
    APP_POOL,
    APP_VMM,
    APP_KINDS
};
extern const char *const app_memory_names[APP_KINDS];

/*
 * Memory of a kind in the current context (device 0 for VMM); never freed by this. At most
 * APP_BYTES.
 */
enum { APP_BYTES = 65536 };
void *app_memory(enum app_memory kind, size_t bytes);

/* Fill and look at any memory, by the driver. */
void app_fill(void *at, int byte, size_t bytes);
int app_holds(const void *at, int byte, size_t bytes);

/* Open the component's side. */
struct gr_gpus *open_gpus(void);
struct gr_gpu *get_gpu(struct gr_gpus *gpus, int ordinal);

/* A row between an open and a close of the component's side, beside an application. */
extern struct gr_gpus *gpus;
void app_around(void (*body)(void));
#define GPU_ROW(body, environment) ROW_IN(app_around, body, environment)

#endif
