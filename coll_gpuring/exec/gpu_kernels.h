/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of kernels: one per type and operation that is combined on a device, and one that copies bytes.
 *
 *      GR_KERNELS(X)     X(type, op) for each; the kernel's name is gr_kernel_<type>_<op>
 *      gr_kernel_copy    elements of any size, as bytes (elem_bytes 1)
 */
#ifndef GR_EXEC_GPU_KERNELS_H
#define GR_EXEC_GPU_KERNELS_H

#define GR_KERNELS_OF(X, type) X(type, sum) X(type, prod) X(type, min) X(type, max)

/* Sums and products of signed and unsigned integers are the same bits. */
#define GR_KERNELS(X)                                                                                                 \
    GR_KERNELS_OF(X, f16) GR_KERNELS_OF(X, bf16) GR_KERNELS_OF(X, f32) GR_KERNELS_OF(X, f64)                          \
    GR_KERNELS_OF(X, i8) GR_KERNELS_OF(X, i16) GR_KERNELS_OF(X, i32) GR_KERNELS_OF(X, i64)                            \
    X(u8, min) X(u8, max) X(u16, min) X(u16, max) X(u32, min) X(u32, max) X(u64, min) X(u64, max)

enum gr_kernel {
#define GR_KERNEL_ID(type, op) GR_KERNEL_##type##_##op,
    GR_KERNELS(GR_KERNEL_ID)
#undef GR_KERNEL_ID
    GR_KERNEL_copy,
    GR_NKERNELS
};

/* Threads of a block: one warp looks after steps and counters, the others move data. */
#define GR_GPU_THREADS 544

#endif
