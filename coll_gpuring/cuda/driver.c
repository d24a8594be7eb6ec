/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of driver.h. Functions are asked of cuGetProcAddress by the version of the interface
 * that this was written for, so that a driver of a later series gives the same ones.
 */
#include "cuda/driver.h"

#include "cuda/device.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WITH_VALUE(name) #name
/* The name that the library exports: headers rename some functions to a later version. */
#define EXPORTED(name) WITH_VALUE(name)

enum need { NEEDED, OPTIONAL };

typedef __typeof__(&cuGetProcAddress) finder;
typedef __typeof__(&cuDriverGetVersion) teller;

static _Thread_local char words[256];

const char *gr_gpu_error(void)
{
    return '\0' == words[0] ? "no error" : words;
}

void gr_cuda_say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
}

int gr_cuda_check(const struct gr_cuda *cuda, const char *function, CUresult result)
{
    const char *name = NULL;

    if (CUDA_SUCCESS == result) {
        return 0;
    }
    if (CUDA_SUCCESS == cuda->cuGetErrorName(result, &name) && NULL != name) {
        gr_cuda_say("%s: %s", function, name);
    } else {
        gr_cuda_say("%s: error %d", function, (int) result);
    }
    return CUDA_ERROR_OUT_OF_MEMORY == result ? GR_ERR_GPU_SPACE : GR_ERR_CUDA;
}

/*
 * A function of the library, or NULL. POSIX says that dlsym() may return functions; C has no cast
 * for it.
 */
static void *look_up(void *library, finder find, const char *name, const char *exported,
                     int version)
{
    void *at = NULL;

    if (NULL == find ||
        CUDA_SUCCESS != find(name, &at, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL)) {
        at = NULL;
    }
    return NULL == at ? dlsym(library, exported) : at;
}

/* A library without the functions that we need is too old: its version says it best. */
static int check_version(void *library, const char *name)
{
    void *at = dlsym(library, "cuDriverGetVersion");
    teller tell;
    int version = 0;

    if (NULL == at) {
        gr_cuda_say("%s: no CUDA driver", name);
        return GR_ERR_NODRIVER;
    }
    memcpy(&tell, &at, sizeof(tell));
    if (CUDA_SUCCESS != tell(&version) || version < GR_CUDA_LEAST) {
        gr_cuda_say("%s: the driver is of CUDA %d.%d, older than %d.%d", name, version / 1000,
                    version % 1000 / 10, GR_CUDA_LEAST / 1000, GR_CUDA_LEAST % 1000 / 10);
        return GR_ERR_NODRIVER;
    }
    return 0;
}

int gr_cuda_load(const char *library, struct gr_cuda *cuda)
{
    const char *name = NULL == library ? "libcuda.so.1" : library;
    /* never closed: the driver has threads of its own */
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL), *at;
    finder find = NULL;

    if (NULL == handle) {
        gr_cuda_say("%s", dlerror());
        return GR_ERR_NODRIVER;
    }
    if (check_version(handle, name) < 0) {
        return GR_ERR_NODRIVER;
    }
    at = dlsym(handle, EXPORTED(cuGetProcAddress));
    memcpy(&find, &at, sizeof(find));
#define LOOK_UP(function, version, need)                                \
    at = look_up(handle, find, #function, EXPORTED(function), version); \
    if (NULL == at && NEEDED == need) {                                 \
        gr_cuda_say("%s: no %s", name, #function);                      \
        return GR_ERR_NODRIVER;                                         \
    }                                                                   \
    memcpy(&cuda->function, &at, sizeof(at));
    GR_CUDA_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return 0;
}
