/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loading the CUDA driver (driver.h). cuGetProcAddress gets the interface version that this code
 * was written for, so later drivers return compatible functions.
 */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WITH_VALUE(name) #name
/* The exported name of a function: cuda.h renames some functions to a later version. */
#define EXPORTED(name) WITH_VALUE(name)

enum need { NEEDED, OPTIONAL };

typedef __typeof__(&cuGetProcAddress) get_address_fn;
typedef __typeof__(&cuDriverGetVersion) get_version_fn;

_Thread_local char gr_cuda_message[256];

void gr_gpu_error_set(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(gr_cuda_message, sizeof(gr_cuda_message), format, args);
    va_end(args);
}

int gr_cuda_check(const struct gr_cuda *cuda, const char *function, CUresult result)
{
    const char *name = NULL;

    if (CUDA_SUCCESS == result) {
        return 0;
    }
    if (CUDA_SUCCESS == cuda->cuGetErrorName(result, &name) && NULL != name) {
        gr_gpu_error_set("%s: %s", function, name);
    } else {
        gr_gpu_error_set("%s: error %d", function, (int) result);
    }
    return CUDA_ERROR_OUT_OF_MEMORY == result ? GR_ERR_GPU_SPACE : GR_ERR_CUDA;
}

/* A function of the library, or NULL. void *: ISO C has no cast from it to a function pointer. */
static void *look_up(void *library, get_address_fn get_address, const char *name,
                     const char *exported, int version)
{
    void *at = NULL;

    if (NULL == get_address ||
        CUDA_SUCCESS != get_address(name, &at, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL)) {
        at = NULL;
    }
    return NULL == at ? dlsym(library, exported) : at;
}

/* Refuse a driver that is too old, with a message that has its version. */
static int check_version(void *library, const char *name)
{
    void *at = dlsym(library, "cuDriverGetVersion");
    get_version_fn get_version;
    int version = 0;

    if (NULL == at) {
        gr_gpu_error_set("%s: no CUDA driver", name);
        return GR_ERR_NODRIVER;
    }
    memcpy(&get_version, &at, sizeof(get_version));
    if (CUDA_SUCCESS != get_version(&version) || version < GR_CUDA_LEAST) {
        gr_gpu_error_set("%s: the driver is of CUDA %d.%d, older than %d.%d", name, version / 1000,
                         version % 1000 / 10, GR_CUDA_LEAST / 1000, GR_CUDA_LEAST % 1000 / 10);
        return GR_ERR_NODRIVER;
    }
    return 0;
}

int gr_cuda_load(const char *library, struct gr_cuda *cuda)
{
    const char *name = NULL == library ? "libcuda.so.1" : library;
    /* never closed, since the driver runs threads */
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL), *at;
    get_address_fn get_address = NULL;

    if (NULL == handle) {
        gr_gpu_error_set("%s", dlerror());
        return GR_ERR_NODRIVER;
    }
    if (check_version(handle, name) < 0) {
        return GR_ERR_NODRIVER;
    }
    at = dlsym(handle, EXPORTED(cuGetProcAddress));
    memcpy(&get_address, &at, sizeof(get_address));
#define LOOK_UP(function, version, need)                                       \
    at = look_up(handle, get_address, #function, EXPORTED(function), version); \
    if (NULL == at && NEEDED == need) {                                        \
        gr_gpu_error_set("%s: no %s", name, #function);                        \
        return GR_ERR_NODRIVER;                                                \
    }                                                                          \
    memcpy(&cuda->function, &at, sizeof(at));
    GR_CUDA_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return 0;
}
