/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver, devices, contexts and errors. */
#include "cudart.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <mutex>

namespace cudart
{

constexpr int MAX_DEVICES = 64;

static thread_local int device;
static thread_local cudaError_t last;
static std::mutex contexts_mutex;
static std::atomic<CUcontext> contexts[MAX_DEVICES]; /* primary ones that are retained */

void *driver_function(const char *symbol)
{
    static void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return nullptr == driver ? nullptr : dlsym(driver, symbol);
}

static CUresult start_driver()
{
    int version = 0;

    /* a driver runs programs of its own major version, and of older ones */
    NEED(CUDA_SUCCESS == CU(cuDriverGetVersion, &version) &&
             version / 1000 >= CUDART_VERSION / 1000,
         cudaErrorInsufficientDriver);
    return CU(cuInit, 0);
}

CUresult driver_ready()
{
    static const CUresult status = start_driver();
    return status;
}

static CUresult use_device(int number)
{
    std::lock_guard<std::mutex> lock(contexts_mutex);
    CUcontext c = contexts[number];

    if (nullptr == c) {
        TRY(CU(cuDevicePrimaryCtxRetain, &c, number));
        contexts[number] = c;
    }
    return CU(cuCtxSetCurrent, c);
}

/* Whether it is a primary context that cudaDeviceReset has taken away. */
static bool is_reset(CUcontext c)
{
    unsigned flags;
    int active;
    CUcontext retained = contexts[device];

    return nullptr == retained && nullptr != c &&
           CUDA_SUCCESS == CU(cuDevicePrimaryCtxGetState, device, &flags, &active) && 0 == active;
}

CUresult ready()
{
    CUcontext c = nullptr;

    TRY(driver_ready());
    TRY(CU(cuCtxGetCurrent, &c));
    return nullptr == c || is_reset(c) ? use_device(device) : CUDA_SUCCESS;
}

int chosen_device()
{
    return device;
}

cudaError_t result(CUresult status)
{
    if (CUDA_SUCCESS != status) {
        last = (cudaError_t) status;
    }
    return (cudaError_t) status;
}

cudaError_t last_error(bool clear)
{
    cudaError_t e = last;

    last = clear ? cudaSuccess : last;
    return e;
}

static CUresult check_device(int number)
{
    int n = 0;

    TRY(driver_ready());
    TRY(CU(cuDeviceGetCount, &n));
    return number >= 0 && number < n && number < MAX_DEVICES ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_DEVICE;
}

static const struct {
    int code;
    const char *name;
} errors[] = {
#define ERROR(name, code) {code, #name},
#include "errors.inc"
#undef ERROR
};

} /* namespace cudart */

using namespace cudart;

/* ---- errors ---- */

extern "C" __attribute__((visibility("default"))) cudaError_t cudaGetLastError()
{
    return last_error(true);
}
extern "C" __attribute__((visibility("default"))) cudaError_t cudaPeekAtLastError()
{
    return last_error(false);
}
extern "C" __attribute__((visibility("default"))) const char *cudaGetErrorName(cudaError_t error)
{
    for (const auto &e : errors) {
        if (e.code == (int) error) {
            return e.name;
        }
    }
    return "unrecognized error code";
}
extern "C" __attribute__((visibility("default"))) const char *cudaGetErrorString(cudaError_t error)
{
    const char *words = nullptr;

    return CUDA_SUCCESS == CU(cuGetErrorString, (CUresult) error, &words) && nullptr != words
               ? words
               : cudaGetErrorName(error);
}

/* ---- devices ---- */

FUNCTION(cudaGetDeviceCount, (int *count), NEED(nullptr != count, cudaErrorInvalidValue);
         *count = 0; TRY(driver_ready()); return CU(cuDeviceGetCount, count);)
FUNCTION(cudaSetDevice, (int number), TRY(check_device(number)); device = number;
         return use_device(number);)
static CUresult current_device(int *number)
{
    NEED(nullptr != number, cudaErrorInvalidValue);
    TRY(driver_ready());
    if (CUDA_SUCCESS != CU(cuCtxGetDevice, number)) {
        *number = device;
    }
    return CUDA_SUCCESS;
}
FUNCTION(cudaGetDevice, (int *number), return current_device(number);)
DEVICE_FUNCTION(cudaDeviceSynchronize, (), return CU(cuCtxSynchronize, );)
static CUresult reset()
{
    std::lock_guard<std::mutex> lock(contexts_mutex);

    contexts[device] = nullptr;
    return CU(cuDevicePrimaryCtxReset, device);
}
FUNCTION(cudaDeviceReset, (), TRY(driver_ready()); return reset();)
