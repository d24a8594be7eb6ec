/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of the runtime that the other files do not define: a line that names the function,
 * once in a process, and cudaErrorNotSupported. No header of CUDA here: one signature stands for
 * all.
 */
#include <atomic>
#include <cstdio>
#include <unistd.h>

constexpr int NOT_SUPPORTED = 801; /* cudaErrorNotSupported */

static int refuse(const char *name, std::atomic<bool> &said)
{
    if (!said.exchange(true)) {
        fprintf(stderr, "fakecudart: pid %d %s is not supported: cudaErrorNotSupported\n",
                (int) getpid(), name);
    }
    return NOT_SUPPORTED;
}

#define NAME(name)                                                     \
    extern "C" __attribute__((weak, visibility("default"))) int name() \
    {                                                                  \
        static std::atomic<bool> said;                                 \
        return refuse(#name, said);                                    \
    }
#include "functions.inc"
/* of code that nvcc adds to programs with variables on devices, or to parts of programs */
NAME(__cudaRegisterVar)
NAME(__cudaRegisterManagedVar)
NAME(__cudaRegisterHostVar)
NAME(__cudaRegisterUnifiedTable)
