/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels: one for each row of kernels.h, and one that copies. A launch has one block per
 * channel (loop.cuh). Kernels access only the memory that struct gr_gpu_args points to.
 */
#include "exec/gpu/kernels/loop.cuh"

#define GR_KERNEL(name, Mover)                                      \
    extern "C" __global__ void __launch_bounds__(GR_GPU_THREADS, 1) \
        gr_kernel_##name(GP_PARAM struct gr_gpu_args args)          \
    {                                                               \
        gr_run_channel<Mover>(&args);                               \
    }                                                               \
    GP_EXPORT(gr_kernel_##name)

#define GR_KERNEL_OF(type, op)                                              \
    typedef gr_mover_of<gr_type_##type, gr_op_##op> gr_mover_##type##_##op; \
    GR_KERNEL(type##_##op, gr_mover_##type##_##op)

GR_KERNELS(GR_KERNEL_OF)
GR_KERNEL(copy, gr_mover_copy)
