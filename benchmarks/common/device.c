/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of device.h.
 *
 * Copies go over the legacy default stream, as an application's cudaMemcpy does, and are waited
 * for: a small copy to a device may return before the data are there.
 */
#include "device.h"
#include "cli.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int device_local_rank(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_RANK");

    return NULL != text ? atoi(text) : 0;
}

#if GR_HAVE_CUDA
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

/*
 * The functions in use. cuda.h has macros that turn some names into those of their present version,
 * cuMemAlloc into cuMemAlloc_v2: here, where the table is read, and in the names that the library
 * is asked for.
 */
#define FUNCTIONS(X)             \
    X(cuInit)                    \
    X(cuGetErrorName)            \
    X(cuDeviceGetCount)          \
    X(cuDeviceGet)               \
    X(cuDeviceGetUuid)           \
    X(cuDevicePrimaryCtxRetain)  \
    X(cuDevicePrimaryCtxRelease) \
    X(cuCtxSetCurrent)           \
    X(cuMemAlloc)                \
    X(cuMemAllocManaged)         \
    X(cuMemFree)                 \
    X(cuMemHostAlloc)            \
    X(cuMemFreeHost)             \
    X(cuMemsetD8)                \
    X(cuMemcpyHtoD)              \
    X(cuMemcpyDtoH)              \
    X(cuMemcpyDtoD)              \
    X(cuStreamSynchronize)       \
    X(cuIpcGetMemHandle)         \
    X(cuIpcOpenMemHandle)        \
    X(cuIpcCloseMemHandle)

#define MEMBER(name) __typeof__(&name) name;
static struct {
    FUNCTIONS(MEMBER)
} driver;

#define TEXT(name) #name
#define ROW(name) {TEXT(name), offsetof(__typeof__(driver), name)},
static const struct {
    const char *name;
    size_t at;
} functions[] = {FUNCTIONS(ROW)};

static CUdevice device;
static CUcontext context; /* NULL: not open */

static const char *error_name(CUresult result)
{
    const char *name = NULL;

    driver.cuGetErrorName(result, &name);
    return NULL != name ? name : "an unknown error";
}

/* Ends the process after an error that is not expected, or a kernel's, which breaks the context. */
static void must(CUresult result, const char *what)
{
    if (CUDA_SUCCESS != result) {
        fprintf(stderr, "device buffers: %s: %s\n", what, error_name(result));
        _Exit(EXIT_USAGE);
    }
}

static int complain(char *error, const char *why)
{
    snprintf(error, DEVICE_ERROR_CHARS, "needs a CUDA driver and a device: %s", why);
    return -1;
}

static int load(char *error)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (NULL == library) {
        return complain(error, dlerror());
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(library, functions[i].name);
        if (NULL == function) {
            return complain(error, dlerror());
        }
        memcpy((char *) &driver + functions[i].at, &function, sizeof function);
    }
    return 0;
}

static int refuse(char *error, const char *what, CUresult result)
{
    char why[128];

    snprintf(why, sizeof why, "%s: %s", what, error_name(result));
    return complain(error, why);
}

int device_open(int number, char *error)
{
    int devices = 0;
    CUresult result;

    error[0] = '\0';
    if (0 != load(error)) {
        return -1;
    }
    if (CUDA_SUCCESS != (result = driver.cuInit(0))) {
        return refuse(error, "cuInit", result);
    }
    result = driver.cuDeviceGetCount(&devices);
    if (CUDA_SUCCESS != result || 0 == devices) {
        return refuse(error, "cuDeviceGetCount",
                      CUDA_SUCCESS != result ? result : CUDA_ERROR_NO_DEVICE);
    }
    must(driver.cuDeviceGet(&device, number % devices), "cuDeviceGet");
    if (CUDA_SUCCESS != (result = driver.cuDevicePrimaryCtxRetain(&context, device))) {
        context = NULL;
        return refuse(error, "cuDevicePrimaryCtxRetain", result);
    }
    must(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    return number % devices;
}

_Static_assert(sizeof(CUuuid) == DEVICE_ID_BYTES, "device.h has the size of an identity");

void device_identity(unsigned char id[DEVICE_ID_BYTES])
{
    CUuuid uuid;

    must(driver.cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
    memcpy(id, &uuid, sizeof uuid);
}

void device_close(void)
{
    if (NULL != context) {
        driver.cuDevicePrimaryCtxRelease(device);
        context = NULL;
    }
}

static CUdeviceptr address(const void *buffer)
{
    return (CUdeviceptr) (uintptr_t) buffer;
}

/* NULL: out of memory. */
static void *allocated(CUresult result, void *at, const char *what)
{
    if (CUDA_ERROR_OUT_OF_MEMORY == result) {
        return NULL;
    }
    must(result, what);
    return at;
}

static void *cuda_alloc(size_t bytes)
{
    CUdeviceptr at = 0;
    CUresult result = driver.cuMemAlloc(&at, bytes);

    return allocated(result, (void *) (uintptr_t) at, "cuMemAlloc");
}

static void *managed_alloc(size_t bytes)
{
    CUdeviceptr at = 0;
    CUresult result = driver.cuMemAllocManaged(&at, bytes, CU_MEM_ATTACH_GLOBAL);

    return allocated(result, (void *) (uintptr_t) at, "cuMemAllocManaged");
}

static void *pinned_alloc(size_t bytes)
{
    void *at = NULL;
    CUresult result = driver.cuMemHostAlloc(&at, bytes, CU_MEMHOSTALLOC_PORTABLE);

    return allocated(result, at, "cuMemHostAlloc");
}

static void pinned_release(void *buffer)
{
    if (NULL != buffer) {
        must(driver.cuMemFreeHost(buffer), "cuMemFreeHost");
    }
}

static void cuda_release(void *buffer)
{
    if (NULL != buffer) {
        must(driver.cuMemFree(address(buffer)), "cuMemFree");
    }
}

static void cuda_set(void *buffer, int byte, size_t bytes)
{
    must(driver.cuMemsetD8(address(buffer), (unsigned char) byte, bytes), "cuMemsetD8");
    must(driver.cuStreamSynchronize(NULL), "cuStreamSynchronize");
}

static void cuda_write(void *buffer, const void *from, size_t bytes)
{
    must(driver.cuMemcpyHtoD(address(buffer), from, bytes), "cuMemcpyHtoD");
    must(driver.cuStreamSynchronize(NULL), "cuStreamSynchronize");
}

static const void *cuda_view(const void *buffer, void *bounce, size_t bytes)
{
    must(driver.cuMemcpyDtoH(bounce, address(buffer), bytes), "cuMemcpyDtoH");
    return bounce;
}

const struct memory memory_cuda = {"cuda",   cuda_alloc, cuda_release,
                                   cuda_set, cuda_write, cuda_view};
const struct memory memory_managed = {"managed", managed_alloc, cuda_release,
                                      cuda_set,  cuda_write,    cuda_view};
const struct memory memory_pinned = {"pinned",        pinned_alloc,      pinned_release,
                                     memory_host_set, memory_host_write, memory_host_view};

_Static_assert(sizeof(CUipcMemHandle) == DEVICE_HANDLE_BYTES, "device.h has the size of a handle");

int device_export(const void *buffer, unsigned char handle[DEVICE_HANDLE_BYTES])
{
    CUipcMemHandle h;

    if (CUDA_SUCCESS != driver.cuIpcGetMemHandle(&h, address(buffer))) {
        return -1;
    }
    memcpy(handle, &h, sizeof h);
    return 0;
}

void *device_import(const unsigned char handle[DEVICE_HANDLE_BYTES])
{
    CUipcMemHandle h;
    CUdeviceptr at = 0;

    memcpy(&h, handle, sizeof h);
    if (CUDA_SUCCESS != driver.cuIpcOpenMemHandle(&at, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)) {
        return NULL;
    }
    return (void *) (uintptr_t) at;
}

void device_forget(void *buffer)
{
    must(driver.cuIpcCloseMemHandle(address(buffer)), "cuIpcCloseMemHandle");
}

void device_copy(void *to, const void *from, size_t bytes, int times)
{
    for (int i = 0; i < times; i++) {
        must(driver.cuMemcpyDtoD(address(to), address(from), bytes), "cuMemcpyDtoD");
    }
    must(driver.cuStreamSynchronize(NULL), "cuStreamSynchronize");
}

#else /* no CUDA toolkit: device_open refuses before the rest is used */

#pragma GCC diagnostic ignored "-Wunused-parameter"

int device_open(int number, char *error)
{
    snprintf(
        error, DEVICE_ERROR_CHARS,
        "is not in this version: built without device buffers (configure found no CUDA toolkit)");
    return -1;
}

void device_identity(unsigned char id[DEVICE_ID_BYTES])
{
}

void device_close(void)
{
}

const struct memory memory_cuda = {.name = "cuda"}, memory_managed = {.name = "managed"},
                    memory_pinned = {.name = "pinned"};

int device_export(const void *buffer, unsigned char handle[DEVICE_HANDLE_BYTES])
{
    return -1;
}

void *device_import(const unsigned char handle[DEVICE_HANDLE_BYTES])
{
    return NULL;
}

void device_forget(void *buffer)
{
}

void device_copy(void *to, const void *from, size_t bytes, int times)
{
}

#endif
