/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of attributes.h. */
#include "attributes.h"

#include <stdio.h>

#if GR_HAVE_CUDA
#include <cuda.h>
#include <dlfcn.h>

/* Those that gpuring's kernels, links, order and costs depend on. */
static const struct {
    const char *name;
    CUdevice_attribute which;
} rows[] = {
    {"compute capability, major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {"compute capability, minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {"multiprocessors", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {"threads per multiprocessor", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {"blocks per multiprocessor", CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
    {"registers per multiprocessor", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
    {"shared memory per block, opt-in", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {"L2 cache, bytes", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {"clock, kHz", CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
    {"memory clock, kHz", CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
    {"memory bus, bits", CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    {"copy engines", CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    {"compute mode", CU_DEVICE_ATTRIBUTE_COMPUTE_MODE},
#if CUDA_VERSION >= 12040
    {"MPS", CU_DEVICE_ATTRIBUTE_MPS_ENABLED},
#endif
    {"unified addressing", CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
    {"managed memory", CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
    {"concurrent managed access", CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
    {"pageable memory access", CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
    {"host native atomics", CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED},
    {"stream memory operations", CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS},
    {"IPC events", CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED},
    {"virtual memory management", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
    {"memory as file descriptors", CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED},
#if CUDA_VERSION >= 12010
    {"multicast objects", CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED},
#endif
    {"GPUDirect RDMA", CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED},
    {"GPUDirect RDMA flush options", CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS},
    {"DMA-BUF", CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED},
};

typedef CUresult (*version_fn)(int *version);
typedef CUresult (*attribute_fn)(int *value, CUdevice_attribute which, CUdevice device);
typedef CUresult (*device_fn)(CUdevice *device, int ordinal);

static void print_number(const char *name, CUresult result, int value)
{
    if (CUDA_SUCCESS == result) {
        printf("%-32s %d\n", name, value);
    } else {
        printf("%-32s -\n", name);
    }
}

int attributes_print(const struct gr_gpus *gpus, const struct gr_gpu *gpu)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    version_fn get_version;
    attribute_fn get_attribute;
    device_fn get_device;
    CUdevice device;
    CUresult result;
    int value = 0;

    if (NULL == library) {
        return -1;
    }
    get_version = (version_fn) dlsym(library, "cuDriverGetVersion");
    get_attribute = (attribute_fn) dlsym(library, "cuDeviceGetAttribute");
    get_device = (device_fn) dlsym(library, "cuDeviceGet");
    if (NULL == get_version || NULL == get_attribute || NULL == get_device ||
        CUDA_SUCCESS != get_device(&device, gpu->ordinal)) {
        dlclose(library);
        return -1;
    }
    printf("%-32s %s\n", "model", gpu->model);
    result = get_version(&value);
    print_number("driver's CUDA version", result, value);
    print_number("toolkit of the kernels", CUDA_SUCCESS, CUDA_VERSION);
    print_number("devices", CUDA_SUCCESS, gr_gpus_count(gpus));
    print_number("NUMA node", CUDA_SUCCESS, gpu->numa);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        result = get_attribute(&value, rows[i].which, device);
        print_number(rows[i].name, result, value);
    }
    dlclose(library);
    return 0;
}
#else
int attributes_print(const struct gr_gpus *gpus, const struct gr_gpu *gpu)
{
    (void) gpus;
    (void) gpu;
    return -1;
}
#endif
