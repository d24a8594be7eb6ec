/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of the CUDA driver, in the component's table of them: each one is a kind of its
 * own, by its name, and all of them together are the kind `driver`.
 *
 * All their arguments are integers and pointers, at most MOST of them. A stand-in takes that many
 * words and hands them on; words that the caller did not pass are not looked at. The calling
 * conventions of Linux on 64 bits make that right.
 */
#include "inject.h"

#include "cuda/driver.h"

#include <stdint.h>
#include <string.h>

typedef uintptr_t word;
/* 11: cuLaunchKernel */
typedef CUresult (*forwarded)(word, word, word, word, word, word, word, word, word, word, word);

static struct {
#define REAL_FIELD(name, version, need) forwarded name;
    GR_CUDA_FUNCTIONS(REAL_FIELD)
#undef REAL_FIELD
} real;

static CUresult error_of(const char *name)
{
    return NULL != strstr(name, "Alloc") ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
}

/* Of the kind `driver`, which counts the calls of all functions. */
static bool driver_due(const void *caller)
{
    static struct fault_kind any = {.name = "driver"};

    return fault_due(&any, caller);
}

#define STAND_IN(name, version, need)                                                            \
    static CUresult fault_##name(word a, word b, word c, word d, word e, word f, word g, word h, \
                                 word i, word j, word k)                                         \
    {                                                                                            \
        bool due = driver_due(__builtin_return_address(0));                                      \
                                                                                                 \
        return FAULT_DUE(#name) || due ? error_of(#name)                                         \
                                       : real.name(a, b, c, d, e, f, g, h, i, j, k);             \
    }
GR_CUDA_FUNCTIONS(STAND_IN)
#undef STAND_IN

int __real_gr_cuda_load(const char *library, struct gr_cuda *cuda);
int __wrap_gr_cuda_load(const char *library, struct gr_cuda *cuda);

int __wrap_gr_cuda_load(const char *library, struct gr_cuda *cuda)
{
    int rc = __real_gr_cuda_load(library, cuda);
    forwarded at;

#define PUT_BEFORE(name, version, need)              \
    if (rc >= 0 && NULL != cuda->name) {             \
        memcpy(&real.name, &cuda->name, sizeof(at)); \
        at = fault_##name;                           \
        memcpy(&cuda->name, &at, sizeof(at));        \
    }
    GR_CUDA_FUNCTIONS(PUT_BEFORE)
#undef PUT_BEFORE
    return rc;
}
