/* SPDX-License-Identifier: BSD-3-Clause */
/* An application beside the component (device_app.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* strsep */
#endif
#include "cuda/device.h"
#include "device_app.h"

#include <dlfcn.h>

#define WITH_VALUE(name) #name
#define EXPORTED(name) WITH_VALUE(name)

struct app app;

const char *const app_memory_names[APP_KINDS] = {"plain",   "stack",  "pinned", "registered",
                                                 "managed", "device", "pool",   "vmm"};

void app_start(void)
{
    void *library = dlopen(getenv("LIBCUDA"), RTLD_NOW), *at;

    if (NULL == library) {
        fprintf(stderr, "# %s\n", dlerror());
        _exit(1);
    }
#define LOOK_UP(name)                    \
    at = dlsym(library, EXPORTED(name)); \
    memcpy(&app.name, &at, sizeof(at));
    APP_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    at = dlsym(library, "cuCtxCreate_v2");
    memcpy(&app.create_context, &at, sizeof(at));
    APP(cuInit, 0);
}

void app_must(const char *name, CUresult result)
{
    if (CUDA_SUCCESS != result) {
        fprintf(stderr, "# the application's %s: error %d\n", name, (int) result);
        _exit(1);
    }
}

void app_use(int ordinal)
{
    CUdevice device;
    CUcontext context;

    APP(cuDeviceGet, &device, ordinal);
    APP(cuDevicePrimaryCtxRetain, &context, device);
    APP(cuCtxSetCurrent, context);
}

CUcontext app_current(void)
{
    CUcontext context;

    APP(cuCtxGetCurrent, &context);
    return context;
}

CUcontext app_context(int ordinal)
{
    CUdevice device;
    CUcontext context;

    APP(cuDeviceGet, &device, ordinal);
    APP(create_context, &context, 0, device);
    return context;
}

/* ---- memory ---- */

static void *registered(size_t bytes)
{
    void *at = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

    CHECK(NULL != at);
    APP(cuMemHostRegister, at, (bytes + 4095) / 4096 * 4096, 0);
    return at;
}

static CUdeviceptr mapped(size_t bytes)
{
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUmemAllocationProp what = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
    CUmemAccessDesc access = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    size_t grain = (size_t) 2 << 20, whole = (bytes + grain - 1) / grain * grain;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;

    APP(cuMemCreate, &handle, whole, &what, 0);
    APP(cuMemAddressReserve, &at, whole, 0, 0, 0);
    APP(cuMemMap, at, whole, 0, handle, 0);
    APP(cuMemSetAccess, at, whole, &access, 1);
    return at;
}

void *app_memory(enum app_memory kind, size_t bytes)
{
    static _Thread_local unsigned char stacked[APP_BYTES];
    static void *plain[8];
    static int nplain;
    CUdeviceptr device = 0;
    void *at = NULL;

    CHECK(bytes <= APP_BYTES);
    switch (kind) {
    case APP_PLAIN:
        CHECK(nplain < 8);
        at = plain[nplain++] = malloc(bytes);
        break;
    case APP_STACKED:
        at = stacked;
        break;
    case APP_PINNED:
        APP(cuMemHostAlloc, &at, bytes, 0);
        break;
    case APP_REGISTERED:
        at = registered(bytes);
        break;
    case APP_MANAGED:
        APP(cuMemAllocManaged, &device, bytes, CU_MEM_ATTACH_GLOBAL);
        break;
    case APP_DEVICE:
        APP(cuMemAlloc, &device, bytes);
        break;
    case APP_POOL:
        APP(cuMemAllocAsync, &device, bytes, NULL);
        APP(cuStreamSynchronize, NULL);
        break;
    default:
        device = mapped(bytes);
    }
    return NULL == at ? (void *) (uintptr_t) device : at;
}

void app_fill(void *at, int byte, size_t bytes)
{
    unsigned char data[APP_BYTES];

    memset(data, byte, bytes);
    APP(cuMemcpy, gr_cuda_ptr(at), gr_cuda_ptr(data), bytes);
    APP(cuStreamSynchronize, NULL);
}

int app_holds(const void *at, int byte, size_t bytes)
{
    unsigned char data[APP_BYTES];
    size_t k;

    memset(data, ~byte, bytes);
    APP(cuMemcpy, gr_cuda_ptr(data), gr_cuda_ptr(at), bytes);
    APP(cuStreamSynchronize, NULL);
    for (k = 0; k < bytes && (unsigned char) byte == data[k]; k++) {
    }
    return k == bytes;
}

/* ---- the component's side ---- */

struct gr_gpus *open_gpus(void)
{
    int error;
    struct gr_gpus *gpus = gr_gpus_open(getenv("LIBCUDA"), &error);

    if (NULL == gpus) {
        fprintf(stderr, "# gr_gpus_open: %d, %s\n", error, gr_gpu_error());
        _exit(1);
    }
    return gpus;
}

struct gr_gpu *get_gpu(struct gr_gpus *gpus, int ordinal)
{
    int error;
    struct gr_gpu *gpu = gr_gpu_get(gpus, ordinal, &error);

    error = NULL == gpu ? error : gr_gpu_load_kernels(gpu);
    if (0 != error) {
        fprintf(stderr, "# gr_gpu_get: %d, %s\n", error, gr_gpu_error());
        _exit(1);
    }
    return gpu;
}

struct gr_gpus *gpus;

void app_around(void (*body)(void))
{
    gpus = open_gpus();
    app_start();
    body();
    gr_gpus_close(gpus);
}
