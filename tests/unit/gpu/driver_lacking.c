/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library in front of the driver (LIBCUDA) that hides one function: cuGetProcAddress does not
 * find the function named by LACKING. cuGetErrorName can be found by its symbol as well.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

/* The driver's own function of that name. */
static void *driver(const char *name)
{
    return dlsym(dlopen(getenv("LIBCUDA"), RTLD_NOW), name);
}

API CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    CUresult (*forward)(int *);
    void *at = driver("cuDriverGetVersion");

    memcpy(&forward, &at, sizeof(at));
    return forward(version);
}

API CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
    CUresult (*forward)(CUresult, const char **);
    void *at = driver("cuGetErrorName");

    memcpy(&forward, &at, sizeof(at));
    return forward(error, name);
}

API CUresult CUDAAPI cuGetProcAddress_v2(const char *name, void **found, int version,
                                         cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    CUresult (*forward)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
    void *at = driver("cuGetProcAddress_v2");

    if (0 == strcmp(name, getenv("LACKING"))) {
        *found = NULL;
        return CUDA_ERROR_NOT_FOUND;
    }
    memcpy(&forward, &at, sizeof(at));
    return forward(name, found, version, flags, status);
}
