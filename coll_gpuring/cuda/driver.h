/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The component's whole dependence on CUDA at run time: one library, loaded by name, and the table
 * of those of its functions that are used. For the executor's own cuda files.
 */
#ifndef GR_CUDA_DRIVER_H
#define GR_CUDA_DRIVER_H

#include "base/errors.h"

#include <cuda.h>

#include <stddef.h>

/* The version of CUDA that libraries of kernels (cuLibraryLoadData) came with. */
#define GR_CUDA_LEAST 12000

/* X(function, version of its interface, NEEDED or OPTIONAL) */
#define GR_CUDA_FUNCTIONS(X)                                     \
    X(cuInit, 2000, NEEDED)                                      \
    X(cuGetErrorName, 6000, NEEDED)                              \
    X(cuDeviceGet, 2000, NEEDED)                                 \
    X(cuDeviceGetCount, 2000, NEEDED)                            \
    X(cuDeviceGetAttribute, 2000, NEEDED)                        \
    X(cuDeviceGetUuid, 11040, NEEDED)                            \
    X(cuDeviceCanAccessPeer, 4000, NEEDED)                       \
    X(cuDevicePrimaryCtxRetain, 7000, NEEDED)                    \
    X(cuDevicePrimaryCtxRelease, 11000, NEEDED)                  \
    X(cuDevicePrimaryCtxGetState, 7000, NEEDED)                  \
    X(cuCtxGetCurrent, 4000, NEEDED)                             \
    X(cuCtxPushCurrent, 4000, NEEDED)                            \
    X(cuCtxPopCurrent, 4000, NEEDED)                             \
    X(cuCtxGetDevice, 2000, NEEDED)                              \
    X(cuCtxGetId, 12000, OPTIONAL)                               \
    X(cuCtxEnablePeerAccess, 4000, NEEDED)                       \
    X(cuCtxGetStreamPriorityRange, 5050, NEEDED)                 \
    X(cuFlushGPUDirectRDMAWrites, 11030, OPTIONAL)               \
    X(cuMemAlloc, 3020, NEEDED)                                  \
    X(cuMemFree, 3020, NEEDED)                                   \
    X(cuMemGetAddressRange, 3020, NEEDED)                        \
    X(cuMemHostAlloc, 2020, NEEDED)                              \
    X(cuMemFreeHost, 2000, NEEDED)                               \
    X(cuMemHostRegister, 6050, NEEDED)                           \
    X(cuMemHostUnregister, 4000, NEEDED)                         \
    X(cuMemHostGetDevicePointer, 3020, NEEDED)                   \
    X(cuMemcpyAsync, 4000, NEEDED)                               \
    X(cuMemcpy2DAsync, 3020, NEEDED)                             \
    X(cuMemsetD8Async, 3020, NEEDED)                             \
    X(cuPointerGetAttribute, 4000, NEEDED)                       \
    X(cuPointerGetAttributes, 7000, NEEDED)                      \
    X(cuPointerSetAttribute, 6000, NEEDED)                       \
    X(cuIpcGetMemHandle, 4010, NEEDED)                           \
    X(cuIpcOpenMemHandle, 11000, NEEDED)                         \
    X(cuIpcCloseMemHandle, 4010, NEEDED)                         \
    X(cuStreamCreateWithPriority, 5050, NEEDED)                  \
    X(cuStreamDestroy, 4000, NEEDED)                             \
    X(cuStreamSynchronize, 2000, NEEDED)                         \
    X(cuStreamQuery, 2000, NEEDED)                               \
    X(cuStreamWaitEvent, 3020, NEEDED)                           \
    X(cuStreamIsCapturing, 10000, NEEDED)                        \
    X(cuThreadExchangeStreamCaptureMode, 10010, NEEDED)          \
    X(cuLaunchHostFunc, 10000, NEEDED)                           \
    X(cuEventCreate, 2000, NEEDED)                               \
    X(cuEventDestroy, 4000, NEEDED)                              \
    X(cuEventQuery, 2000, NEEDED)                                \
    X(cuEventRecord, 2000, NEEDED)                               \
    X(cuLibraryLoadData, 12000, NEEDED)                          \
    X(cuLibraryUnload, 12000, NEEDED)                            \
    X(cuLibraryGetKernel, 12000, NEEDED)                         \
    X(cuKernelGetFunction, 12000, NEEDED)                        \
    X(cuFuncGetAttribute, 2020, NEEDED)                          \
    X(cuFuncLoad, 12040, OPTIONAL)                               \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, NEEDED) \
    X(cuLaunchKernel, 4000, NEEDED)

/* A field per function; NULL only where it is OPTIONAL and the driver lacks it. */
struct gr_cuda {
#define GR_CUDA_FIELD(name, version, need) __typeof__(&name) name;
    GR_CUDA_FUNCTIONS(GR_CUDA_FIELD)
#undef GR_CUDA_FIELD
};

/*
 * Load the library (NULL: libcuda.so.1) and fill the table; calls no cuInit. 0 or GR_ERR_NODRIVER,
 * and why.
 */
int gr_cuda_load(const char *library, struct gr_cuda *cuda);

/* Keep words about an error of this thread, for gr_gpu_error(). */
void gr_cuda_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * 0 when result is CUDA_SUCCESS; or keep the words and return GR_ERR_GPU_SPACE (out of memory) or
 * GR_ERR_CUDA.
 */
int gr_cuda_check(const struct gr_cuda *cuda, const char *function, CUresult result);

/* Call a function of the table and check it. */
#define GR_CUDA(cuda, name, ...) gr_cuda_check(cuda, #name, (cuda)->name(__VA_ARGS__))

#endif
