/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver's functions that gpuring uses, resolved at run time. There is no other dependence
 * on CUDA. Internal to cuda/.
 */
#ifndef GR_CUDA_DRIVER_H
#define GR_CUDA_DRIVER_H

#include "base/errors.h"

#include <cuda.h>

/*
 * The oldest supported driver: CUDA 12.0, which introduced cuLibraryLoadData. Kernels need the major
 * version of the toolkit that compiled them (image.c).
 */
#define GR_CUDA_LEAST 12000

/* X(function, interface version, NEEDED or OPTIONAL) for each function. */
#define GR_CUDA_FUNCTIONS(X)                            \
    X(cuInit, 2000, NEEDED)                             \
    X(cuDriverGetVersion, 2020, NEEDED)                 \
    X(cuGetErrorName, 6000, NEEDED)                     \
    X(cuDeviceGet, 2000, NEEDED)                        \
    X(cuDeviceGetCount, 2000, NEEDED)                   \
    X(cuDeviceGetAttribute, 2000, NEEDED)               \
    X(cuDeviceGetName, 2000, NEEDED)                    \
    X(cuDeviceGetUuid, 11040, NEEDED)                   \
    X(cuDeviceCanAccessPeer, 4000, NEEDED)              \
    X(cuDevicePrimaryCtxRetain, 7000, NEEDED)           \
    X(cuDevicePrimaryCtxRelease, 11000, NEEDED)         \
    X(cuDevicePrimaryCtxGetState, 7000, NEEDED)         \
    X(cuCtxGetCurrent, 4000, NEEDED)                    \
    X(cuCtxPushCurrent, 4000, NEEDED)                   \
    X(cuCtxPopCurrent, 4000, NEEDED)                    \
    X(cuCtxGetDevice, 2000, NEEDED)                     \
    X(cuCtxGetId, 12000, OPTIONAL)                      \
    X(cuCtxEnablePeerAccess, 4000, NEEDED)              \
    X(cuCtxGetStreamPriorityRange, 5050, NEEDED)        \
    X(cuFlushGPUDirectRDMAWrites, 11030, OPTIONAL)      \
    X(cuMemAlloc, 3020, NEEDED)                         \
    X(cuMemFree, 3020, NEEDED)                          \
    X(cuMemGetAddressRange, 3020, NEEDED)               \
    X(cuMemGetAccess, 10020, NEEDED)                    \
    X(cuMemPoolGetAccess, 11020, NEEDED)                \
    X(cuMemHostAlloc, 2020, NEEDED)                     \
    X(cuMemFreeHost, 2000, NEEDED)                      \
    X(cuMemHostRegister, 6050, NEEDED)                  \
    X(cuMemHostUnregister, 4000, NEEDED)                \
    X(cuMemHostGetDevicePointer, 3020, NEEDED)          \
    X(cuMemcpyAsync, 4000, NEEDED)                      \
    X(cuMemcpy2DAsync, 3020, NEEDED)                    \
    X(cuMemsetD8Async, 3020, NEEDED)                    \
    X(cuPointerGetAttribute, 4000, NEEDED)              \
    X(cuPointerGetAttributes, 7000, NEEDED)             \
    X(cuPointerSetAttribute, 6000, NEEDED)              \
    X(cuIpcGetMemHandle, 4010, NEEDED)                  \
    X(cuIpcOpenMemHandle, 11000, NEEDED)                \
    X(cuIpcCloseMemHandle, 4010, NEEDED)                \
    X(cuStreamCreateWithPriority, 5050, NEEDED)         \
    X(cuStreamDestroy, 4000, NEEDED)                    \
    X(cuStreamSynchronize, 2000, NEEDED)                \
    X(cuStreamQuery, 2000, NEEDED)                      \
    X(cuStreamWaitEvent, 3020, NEEDED)                  \
    X(cuStreamIsCapturing, 10000, NEEDED)               \
    X(cuThreadExchangeStreamCaptureMode, 10010, NEEDED) \
    X(cuLaunchHostFunc, 10000, NEEDED)                  \
    X(cuEventCreate, 2000, NEEDED)                      \
    X(cuEventDestroy, 4000, NEEDED)                     \
    X(cuEventQuery, 2000, NEEDED)                       \
    X(cuEventRecord, 2000, NEEDED)                      \
    X(cuLibraryLoadData, 12000, NEEDED)                 \
    X(cuLibraryUnload, 12000, NEEDED)                   \
    X(cuLibraryGetKernel, 12000, NEEDED)                \
    X(cuKernelGetFunction, 12000, NEEDED)               \
    X(cuFuncGetAttribute, 2020, NEEDED)                 \
    X(cuFuncLoad, 12040, OPTIONAL)                      \
    X(cuLaunchKernel, 4000, NEEDED)

/* One pointer for each function; NULL: OPTIONAL, and the driver lacks it. */
struct gr_cuda {
#define GR_CUDA_FIELD(name, version, need) __typeof__(&name) name;
    GR_CUDA_FUNCTIONS(GR_CUDA_FIELD)
#undef GR_CUDA_FIELD
};

/*
 * Load the driver and resolve its functions. library: file name; NULL: libcuda.so.1. Does not call
 * cuInit. Returns 0, or GR_ERR_NODRIVER with a message set.
 */
int gr_cuda_load(const char *library, struct gr_cuda *cuda);

/* This thread's message of its last error; "": there was none. */
extern _Thread_local char gr_cuda_message[256];

/* Set this thread's message. */
void gr_gpu_error_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Convert a result of the driver to an error code: 0, GR_ERR_GPU_SPACE (out of memory) or
 * GR_ERR_CUDA. Sets the message on error.
 */
int gr_cuda_check(const struct gr_cuda *cuda, const char *function, CUresult result);

/* Call a function of the driver and check its result. */
#define GR_CUDA(cuda, name, ...) gr_cuda_check(cuda, #name, (cuda)->name(__VA_ARGS__))

#endif
