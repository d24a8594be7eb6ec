/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels: two for each row of kernels.h, and two that copy. gr_kernel_... runs a rank's
 * channels, a block of threads for each (loop.cuh). gr_leader_... does a call of all ranks of a
 * device (leader.cuh). Kernels access only the memory that their argument points to.
 */
#include "exec/gpu/kernels/leader.cuh"
#include "exec/gpu/kernels/loop.cuh"
#include "exec/gpu/kernels/move.cuh"

#define GR_KERNEL(name, Mover, Leaders)                             \
    extern "C" __global__ void __launch_bounds__(GR_GPU_THREADS, 1) \
        gr_kernel_##name(GP_PARAM struct gr_gpu_args args)          \
    {                                                               \
        gr_run_channel<Mover>(&args);                               \
    }                                                               \
    GP_EXPORT(gr_kernel_##name)                                     \
    extern "C" __global__ void __launch_bounds__(GR_GPU_THREADS, 1) \
        gr_leader_##name(GP_PARAM struct gr_leader_args args)       \
    {                                                               \
        gr_lead<Leaders>(&args);                                    \
    }                                                               \
    GP_EXPORT(gr_leader_##name)

#define GR_KERNEL_OF(type, op)                                                                 \
    typedef gr_mover_of<gr_type_##type, gr_op_##op, GR_RINGS> gr_mover_##type##_##op;          \
    typedef gr_mover_of<gr_type_##type, gr_op_##op, GR_LEADERS> gr_leader_mover_##type##_##op; \
    GR_KERNEL(type##_##op, gr_mover_##type##_##op, gr_leader_mover_##type##_##op)

typedef gr_mover_of<gr_type_bits, gr_op_bor, GR_COPIES> gr_mover_copy;

GR_KERNELS(GR_KERNEL_OF)
GR_KERNEL(copy, gr_mover_copy, gr_mover_copy)
