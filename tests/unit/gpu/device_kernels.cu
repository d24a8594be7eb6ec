/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that only say that they are through, under the names of the real ones: for the fake
 * driver.
 */
#include "cuda_emu.h"

#include "exec/gpu/args.h"
#include "exec/gpu/kernels.h"

#define KERNEL(name)                                                                       \
    extern "C" __global__ void __launch_bounds__(GR_GPU_THREADS, 1)                        \
        gr_kernel_##name(GP_PARAM struct gr_gpu_args a)                                    \
    {                                                                                      \
        if (0 == threadIdx.x) {                                                            \
            struct gr_gpu_report *report = (struct gr_gpu_report *) a.report + blockIdx.x; \
                                                                                           \
            gp_st_release(&report->word, gr_gpu_report_word(a.launch, GR_GPU_DONE, 0));    \
        }                                                                                  \
    }                                                                                      \
    GP_EXPORT(gr_kernel_##name)
#define KERNEL_OF(type, op) KERNEL(type##_##op)

GR_KERNELS(KERNEL_OF)
KERNEL(copy)
