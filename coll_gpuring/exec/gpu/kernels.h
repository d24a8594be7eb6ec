/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of kernels: one for each type and operation that devices support, and one that copies.
 *
 *      GR_KERNELS(X)     X(type, op) for each; the kernel's name is gr_kernel_<type>_<op>
 *      gr_kernel_copy    elements of any size, as bytes (elem_bytes 1)
 *
 *      f16 bf16 f32 f64, i8..i64, u8..u64    numbers of this many bits
 *      bits                                  any type, bit by bit, as bytes (elem_bytes 1)
 *      c64 c128                              complex numbers of two f32, two f64
 *      f32_i32 ... f64_f64                   a value and its index in C's layout: {double; int32_t}
 *                                            has 16 bytes
 */
#ifndef GR_EXEC_GPU_KERNELS_H
#define GR_EXEC_GPU_KERNELS_H

#define GR_KERNELS_SUM(X, type) X(type, sum) X(type, prod)
#define GR_KERNELS_ORDER(X, type) X(type, min) X(type, max)
#define GR_KERNELS_OF(X, type) GR_KERNELS_SUM(X, type) GR_KERNELS_ORDER(X, type)
#define GR_KERNELS_BITS(X, type) X(type, band) X(type, bor) X(type, bxor)
#define GR_KERNELS_LOGICAL(X, type) X(type, land) X(type, lor) X(type, lxor)
#define GR_KERNELS_LOC(X, type) X(type, minloc) X(type, maxloc)

/* Sums, products and tests for 0 of signed and unsigned integers give the same bits. */
#define GR_KERNELS(X)          \
    GR_KERNELS_OF(X, f16)      \
    GR_KERNELS_OF(X, bf16)     \
    GR_KERNELS_OF(X, f32)      \
    GR_KERNELS_OF(X, f64)      \
    GR_KERNELS_OF(X, i8)       \
    GR_KERNELS_OF(X, i16)      \
    GR_KERNELS_OF(X, i32)      \
    GR_KERNELS_OF(X, i64)      \
    GR_KERNELS_ORDER(X, u8)    \
    GR_KERNELS_ORDER(X, u16)   \
    GR_KERNELS_ORDER(X, u32)   \
    GR_KERNELS_ORDER(X, u64)   \
    GR_KERNELS_LOGICAL(X, u8)  \
    GR_KERNELS_LOGICAL(X, u16) \
    GR_KERNELS_LOGICAL(X, u32) \
    GR_KERNELS_LOGICAL(X, u64) \
    GR_KERNELS_BITS(X, bits)   \
    GR_KERNELS_SUM(X, c64)     \
    GR_KERNELS_SUM(X, c128)    \
    GR_KERNELS_LOC(X, f32_i32) \
    GR_KERNELS_LOC(X, f64_i32) \
    GR_KERNELS_LOC(X, i64_i32) \
    GR_KERNELS_LOC(X, i32_i32) \
    GR_KERNELS_LOC(X, i16_i32) \
    GR_KERNELS_LOC(X, f32_f32) \
    GR_KERNELS_LOC(X, f64_f64)

enum gr_kernel {
#define GR_KERNEL_ID(type, op) GR_KERNEL_##type##_##op,
    GR_KERNELS(GR_KERNEL_ID)
#undef GR_KERNEL_ID
        GR_KERNEL_copy,
    GR_NKERNELS
};

/*
 * Each has two entries: one runs a rank's channels, the other does a call of all ranks of a device.
 */
enum gr_kernel_entry { GR_ENTRY_CHANNELS, GR_ENTRY_LEADER, GR_NENTRIES };

/* Whether a kernel counts bytes, not elements. */
static inline int gr_kernel_counts_bytes(enum gr_kernel kernel)
{
    return GR_KERNEL_copy == kernel || GR_KERNEL_bits_band == kernel ||
           GR_KERNEL_bits_bor == kernel || GR_KERNEL_bits_bxor == kernel;
}

/* Threads of a block: one warp schedules, the others move data. */
#define GR_GPU_THREADS 544

#endif
