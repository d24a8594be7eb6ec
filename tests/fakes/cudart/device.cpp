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

static int attribute(int number, CUdevice_attribute name)
{
    int value = 0;

    (void) CU(cuDeviceGetAttribute, &value, name, number);
    return value;
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

/* ---- versions ---- */

FUNCTION(cudaRuntimeGetVersion, (int *version), NEED(nullptr != version, cudaErrorInvalidValue);
         *version = CUDART_VERSION; return CUDA_SUCCESS;)
FUNCTION(cudaDriverGetVersion, (int *version), NEED(nullptr != version, cudaErrorInvalidValue);
         *version = 0; (void) CU(cuDriverGetVersion, version); return CUDA_SUCCESS;)

/* ---- devices ---- */

FUNCTION(cudaGetDeviceCount, (int *count), NEED(nullptr != count, cudaErrorInvalidValue);
         *count = 0; TRY(driver_ready()); return CU(cuDeviceGetCount, count);)
FUNCTION(cudaSetDevice, (int number), TRY(check_device(number)); device = number;
         return use_device(number);)
FUNCTION(cudaInitDevice, (int number, unsigned, unsigned), TRY(check_device(number)); CUcontext c;
         TRY(CU(cuCtxGetCurrent, &c)); TRY(use_device(number)); return CU(cuCtxSetCurrent, c);)
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
FUNCTION(cudaSetDeviceFlags, (unsigned flags), TRY(driver_ready());
         return CU(cuDevicePrimaryCtxSetFlags, device, flags);)
DEVICE_FUNCTION(cudaGetDeviceFlags, (unsigned *flags), return CU(cuCtxGetFlags, flags);)
FUNCTION(cudaDeviceGetAttribute, (int *value, cudaDeviceAttr name, int number),
         TRY(check_device(number));
         return CU(cuDeviceGetAttribute, value, (CUdevice_attribute) name, number);)
FUNCTION(cudaDeviceGetPCIBusId, (char *id, int bytes, int number), TRY(check_device(number));
         return CU(cuDeviceGetPCIBusId, id, bytes, number);)
FUNCTION(cudaDeviceGetByPCIBusId, (int *number, const char *id), TRY(driver_ready());
         return CU(cuDeviceGetByPCIBusId, number, id);)
FUNCTION(cudaDeviceCanAccessPeer, (int *can, int number, int peer), TRY(check_device(number));
         TRY(check_device(peer)); return CU(cuDeviceCanAccessPeer, can, number, peer);)
FUNCTION(cudaDeviceGetP2PAttribute, (int *value, cudaDeviceP2PAttr name, int number, int peer),
         TRY(check_device(number));
         TRY(check_device(peer));
         return CU(cuDeviceGetP2PAttribute, value, (CUdevice_P2PAttribute) name, number, peer);)
DEVICE_FUNCTION(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
                return CU(cuCtxGetStreamPriorityRange, least, greatest);)
DEVICE_FUNCTION(cudaMemGetInfo, (size_t * idle, size_t *total),
                return CU(cuMemGetInfo, idle, total);)
FUNCTION(cudaProfilerStart, (), return CUDA_SUCCESS;)
FUNCTION(cudaProfilerStop, (), return CUDA_SUCCESS;)
FUNCTION(cudaDeviceSetCacheConfig, (cudaFuncCache), return CUDA_SUCCESS;)

static CUcontext primary_of(int number)
{
    CUcontext before = nullptr, c = nullptr;

    (void) CU(cuCtxGetCurrent, &before);
    if (CUDA_SUCCESS == use_device(number)) {
        (void) CU(cuCtxGetCurrent, &c);
    }
    (void) CU(cuCtxSetCurrent, before);
    return c;
}
DEVICE_FUNCTION(cudaDeviceEnablePeerAccess, (int peer, unsigned flags), TRY(check_device(peer));
                return CU(cuCtxEnablePeerAccess, primary_of(peer), flags);)
DEVICE_FUNCTION(cudaDeviceDisablePeerAccess, (int peer), TRY(check_device(peer));
                return CU(cuCtxDisablePeerAccess, primary_of(peer));)

static CUresult properties(cudaDeviceProp *p, int number)
{
    NEED(nullptr != p, cudaErrorInvalidValue);
    TRY(check_device(number));
    memset(p, 0, sizeof(*p));
    TRY(CU(cuDeviceGetName, p->name, (int) sizeof(p->name), number));
    TRY(CU(cuDeviceGetUuid, (CUuuid *) &p->uuid, number));
    TRY(CU(cuDeviceTotalMem, &p->totalGlobalMem, number));
    const struct {
        int *at;
        CUdevice_attribute name;
    } fields[] = {
        {&p->regsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
        {&p->warpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
        {&p->maxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
        {&p->maxThreadsDim[0], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
        {&p->maxThreadsDim[1], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
        {&p->maxThreadsDim[2], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
        {&p->maxGridSize[0], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
        {&p->maxGridSize[1], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
        {&p->maxGridSize[2], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
        {&p->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {&p->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {&p->multiProcessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
        {&p->integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED},
        {&p->canMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
        {&p->concurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
        {&p->pciBusID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID},
        {&p->asyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
        {&p->unifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
        {&p->memoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
        {&p->l2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
        {&p->maxThreadsPerMultiProcessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
        {&p->streamPrioritiesSupported, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED},
        {&p->regsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
        {&p->managedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
        {&p->concurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
        {&p->pageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
        {&p->canUseHostPointerForRegisteredMem,
         CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM},
        {&p->cooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
        {&p->maxBlocksPerMultiProcessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
        {&p->memoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
    };
    for (const auto &f : fields) {
        *f.at = attribute(number, f.name);
    }
    p->sharedMemPerBlock =
        (size_t) attribute(number, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    p->sharedMemPerMultiprocessor =
        (size_t) attribute(number, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    p->memoryPoolSupportedHandleTypes =
        (unsigned) attribute(number, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES);
    return CUDA_SUCCESS;
}
FUNCTION(cudaGetDeviceProperties, (cudaDeviceProp * p, int number), return properties(p, number);)

/* ---- the driver's functions, for programs that ask the runtime for them ---- */

static CUresult entry_point(const char *name, void **at, unsigned version, unsigned long long flags,
                            cudaDriverEntryPointQueryResult *found)
{
    CUdriverProcAddressQueryResult how = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

    TRY(driver_ready());
    CUresult status = CU(cuGetProcAddress, name, at, (int) version, flags, &how);
    if (nullptr != found) { /* the answer is there, and no error */
        *found = (cudaDriverEntryPointQueryResult) how;
        return CUDA_ERROR_NOT_FOUND == status ? CUDA_SUCCESS : status;
    }
    return status;
}
FUNCTION(cudaGetDriverEntryPointByVersion,
         (const char *name, void **at, unsigned version, unsigned long long flags,
          cudaDriverEntryPointQueryResult *found),
         return entry_point(name, at, version, flags, found);)
FUNCTION(cudaGetDriverEntryPointByVersion_ptsz,
         (const char *name, void **at, unsigned version, unsigned long long flags,
          cudaDriverEntryPointQueryResult *found),
         NEED(cudaEnableDefault == flags, entry_point(name, at, version, flags, found));
         return entry_point(name, at, version, cudaEnablePerThreadDefaultStream, found);)
