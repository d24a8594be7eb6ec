/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of the driver that the other files do not define: a line that names the function,
 * once in a process, and NOT_SUPPORTED. No header of CUDA here: one signature stands for all.
 */
#include "options.h"

#include <atomic>

constexpr int NOT_SUPPORTED = 801; /* CUDA_ERROR_NOT_SUPPORTED */

static int refuse(const char *name, std::atomic<bool> &said)
{
    if (!said.exchange(true)) {
        fake::complain("%s is not supported: CUDA_ERROR_NOT_SUPPORTED", name);
    }
    return NOT_SUPPORTED;
}

#define NAME(name, since, stream, symbol)                                \
    extern "C" __attribute__((weak, visibility("default"))) int symbol() \
    {                                                                    \
        static std::atomic<bool> said;                                   \
        return refuse(#symbol, said);                                    \
    }
#include "names.inc"
