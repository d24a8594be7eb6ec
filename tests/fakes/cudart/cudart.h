/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CUDA runtime (libcudart.so) over the driver API, for programs on the fake driver. As NVIDIA's,
 * it loads the driver at the first call that needs it, works on devices' primary contexts, and
 * loads a program's kernels when one of them is first used.
 */
#ifndef FAKECUDART_H
#define FAKECUDART_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#define FAKECUDART_TEXT_(x) #x
#define FAKECUDART_TEXT(x) FAKECUDART_TEXT_(x)

/* Call a function of the driver by the name and version that cuda.h means by it. */
#define CU(name, ...) FAKECUDART_CALL(name, FAKECUDART_TEXT(name), __VA_ARGS__)
/* The same; own: the form for the per-thread default stream. */
#define CU_DS(own, name, ...)                                                  \
    ((own) ? FAKECUDART_CALL(name, FAKECUDART_TEXT(name) "_ptds", __VA_ARGS__) \
           : FAKECUDART_CALL(name, FAKECUDART_TEXT(name), __VA_ARGS__))
#define FAKECUDART_CALL(name, symbol, ...)                                               \
    ([&]() -> CUresult {                                                                 \
        static const auto function_ = (decltype(&name)) cudart::driver_function(symbol); \
        return nullptr == function_ ? CUDA_ERROR_NOT_FOUND : function_(__VA_ARGS__);     \
    }())

#define NEED(condition, error)       \
    do {                             \
        if (!(condition)) {          \
            return (CUresult) error; \
        }                            \
    } while (0)
#define TRY(call)                               \
    do {                                        \
        CUresult status_ = (call);              \
        NEED(CUDA_SUCCESS == status_, status_); \
    } while (0)

/*
 * A function of the runtime: parameters, and a body that returns CUresult, whose numbers
 * cudaError_t shares. DEVICE_FUNCTION: begins by making a context current, if none is.
 */
#define FUNCTION(name, parameters, ...)                                           \
    extern "C" __attribute__((visibility("default"))) cudaError_t name parameters \
    {                                                                             \
        return cudart::result([&]() -> CUresult { __VA_ARGS__ }());               \
    }
#define DEVICE_FUNCTION(name, parameters, ...) \
    FUNCTION(name, parameters, TRY(cudart::ready()); __VA_ARGS__)
/* Two forms: own says whether stream 0 is the thread's; suffix: _ptds or _ptsz. */
#define STREAM_FUNCTION(name, suffix, parameters, ...)                                 \
    DEVICE_FUNCTION(name, parameters, const bool own = false; (void) own; __VA_ARGS__) \
    DEVICE_FUNCTION(name##suffix, parameters, const bool own = true; (void) own; __VA_ARGS__)
#define STREAM(handle) cudart::stream_of(own, handle)

namespace cudart
{

/* A function of libcuda.so.1, which is loaded first; NULL. */
void *driver_function(const char *symbol);
/* The driver is there, new enough, and initialized. */
CUresult driver_ready();
/* The same, and the calling thread has a context. */
CUresult ready();
/* The device that the calling thread chose. */
int chosen_device();
/* Keep an error for cudaGetLastError. */
cudaError_t result(CUresult status);
cudaError_t last_error(bool clear);
/* The kernel that a function of the host stands for. */
CUresult kernel_of(const void *function, CUkernel *kernel);

static inline CUstream stream_of(bool own, cudaStream_t handle)
{
    return own && nullptr == handle ? CU_STREAM_PER_THREAD : (CUstream) handle;
}

} /* namespace cudart */

#endif
