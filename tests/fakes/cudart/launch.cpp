/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program's kernels. The code that nvcc adds to a program (crt/host_runtime.h)
 * registers its images before main(); an image is loaded when something of it is first used.
 */
#include "cudart.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cudart
{

struct image {
    const void *data;
    CUlibrary library;
    bool tried;
    CUresult status; /* of loading it */
};

/* What a function of the host stands for: a kernel of an image. */
struct symbol {
    image *of;
    std::string name;
    CUkernel kernel;
};

static std::mutex &mutex()
{
    static std::mutex *m = new std::mutex;
    return *m;
}
static std::map<const void *, symbol> &symbols()
{
    static auto *all = new std::map<const void *, symbol>;
    return *all;
}

/* With the mutex held. */
static CUresult load(image *i)
{
    if (!i->tried) {
        i->tried = true;
        i->status =
            CU(cuLibraryLoadData, &i->library, i->data, nullptr, nullptr, 0, nullptr, nullptr, 0);
    }
    return i->status;
}

CUresult kernel_of(const void *function, CUkernel *kernel)
{
    TRY(driver_ready());
    std::lock_guard<std::mutex> lock(mutex());
    auto s = symbols().find(function);
    NEED(symbols().end() != s, cudaErrorInvalidDeviceFunction);
    if (nullptr == s->second.kernel) {
        TRY(load(s->second.of));
        CUresult status = CU(cuLibraryGetKernel, &s->second.kernel, s->second.of->library,
                             s->second.name.c_str());
        NEED(CUDA_ERROR_NOT_FOUND != status, cudaErrorInvalidDeviceFunction);
        TRY(status);
    }
    *kernel = s->second.kernel;
    return CUDA_SUCCESS;
}

static CUresult launch(CUkernel kernel, dim3 grid, dim3 block, void **args, size_t shared,
                       CUstream s)
{
    CUfunction f;

    /* it was not found, and the caller was told so */
    NEED(nullptr != kernel,
         (cudaSuccess != last_error(false) ? last_error(false) : cudaErrorInvalidDeviceFunction));
    TRY(CU(cuKernelGetFunction, &f, kernel));
    return CU(cuLaunchKernel, f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
              (unsigned) shared, s, args, nullptr);
}

/* What <<<...>>> says, until the function that it calls takes it. */
struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};
static thread_local std::vector<configuration> configurations;

} /* namespace cudart */

using namespace cudart;

#define EXPORTED extern "C" __attribute__((visibility("default")))

/* ---- what nvcc's code calls ---- */

EXPORTED void **__cudaRegisterFatBinary(void *data)
{
    return (void **) new image {data, nullptr, false, CUDA_SUCCESS};
}
EXPORTED void __cudaRegisterFatBinaryEnd(void **)
{
}
EXPORTED char __cudaInitModule(void **)
{
    return 1;
}
/* At the program's end: the driver has gone already, or goes next. */
EXPORTED void __cudaUnregisterFatBinary(void **handle)
{
    std::lock_guard<std::mutex> lock(mutex());

    for (auto s = symbols().begin(); symbols().end() != s;) {
        s = (image *) handle == s->second.of ? symbols().erase(s) : std::next(s);
    }
}
EXPORTED void __cudaRegisterFunction(void **handle, const char *function, char *, const char *name,
                                     int, uint3 *, uint3 *, dim3 *, dim3 *, int *)
{
    std::lock_guard<std::mutex> lock(mutex());
    symbols()[function] = symbol {(image *) handle, name, nullptr};
}

EXPORTED unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                              cudaStream_t stream)
{
    configurations.push_back(configuration {grid, block, shared, stream});
    return 0;
}
EXPORTED cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                                void *stream)
{
    if (configurations.empty()) {
        return result((CUresult) cudaErrorMissingConfiguration);
    }
    const configuration c = configurations.back();
    configurations.pop_back();
    *grid = c.grid;
    *block = c.block;
    *shared = c.shared;
    *(cudaStream_t *) stream = c.stream;
    return cudaSuccess;
}
FUNCTION(__cudaGetKernel, (cudaKernel_t * kernel, const void *function),
         return kernel_of(function, (CUkernel *) kernel);)
STREAM_FUNCTION(__cudaLaunchKernel, _ptsz,
                (cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                 cudaStream_t s),
                return launch((CUkernel) kernel, grid, block, args, shared, STREAM(s));)

/* ---- launches ---- */

STREAM_FUNCTION(cudaLaunchKernel, _ptsz,
                (const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                 cudaStream_t s),
                CUkernel k;
                TRY(kernel_of(function, &k));
                return launch(k, grid, block, args, shared, STREAM(s));)
