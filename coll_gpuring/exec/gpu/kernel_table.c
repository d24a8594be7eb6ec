/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of each type and operation (kernel_table.h). */
#include "exec/gpu/kernel_table.h"

#include <stdint.h>

/* Entries of the table are enum gr_kernel + 1, so that 0 stands for no kernel. */
#define AT(OP, kernel) [GR_OP_##OP] = 1 + GR_KERNEL_##kernel
#define SUMS(t) AT(SUM, t##_sum), AT(PROD, t##_prod)
#define ORDER(t) AT(MIN, t##_min), AT(MAX, t##_max)
#define BITS AT(BAND, bits_band), AT(BOR, bits_bor), AT(BXOR, bits_bxor)
#define LOGICAL(t) AT(LAND, t##_land), AT(LOR, t##_lor), AT(LXOR, t##_lxor)
#define LOCATED(t)                                     \
    {                                                  \
        AT(MINLOC, t##_minloc), AT(MAXLOC, t##_maxloc) \
    }
#define FLOAT(t)          \
    {                     \
        SUMS(t), ORDER(t) \
    }
/* order: the type of min and max; s, u: the signed and unsigned type of the same width */
#define INTEGER(order, s, u)                    \
    {                                           \
        SUMS(s), ORDER(order), BITS, LOGICAL(u) \
    }

static const int16_t kernels[GR_TYPE_OTHER][GR_OP_OTHER] = {
    [GR_TYPE_I8] = INTEGER(i8, i8, u8),
    [GR_TYPE_U8] = INTEGER(u8, i8, u8),
    [GR_TYPE_I16] = INTEGER(i16, i16, u16),
    [GR_TYPE_U16] = INTEGER(u16, i16, u16),
    [GR_TYPE_I32] = INTEGER(i32, i32, u32),
    [GR_TYPE_U32] = INTEGER(u32, i32, u32),
    [GR_TYPE_I64] = INTEGER(i64, i64, u64),
    [GR_TYPE_U64] = INTEGER(u64, i64, u64),
    [GR_TYPE_F16] = FLOAT(f16),
    [GR_TYPE_BF16] = FLOAT(bf16),
    [GR_TYPE_F32] = FLOAT(f32),
    [GR_TYPE_F64] = FLOAT(f64),
    [GR_TYPE_C64] = {SUMS(c64)},
    [GR_TYPE_C128] = {SUMS(c128)},
    [GR_TYPE_F32_I32] = LOCATED(f32_i32),
    [GR_TYPE_F64_I32] = LOCATED(f64_i32),
    [GR_TYPE_I64_I32] = LOCATED(i64_i32),
    [GR_TYPE_I32_I32] = LOCATED(i32_i32),
    [GR_TYPE_I16_I32] = LOCATED(i16_i32),
    [GR_TYPE_F32_F32] = LOCATED(f32_f32),
    [GR_TYPE_F64_F64] = LOCATED(f64_f64),
};

int gr_gpu_kernel(enum gr_type type, enum gr_redop redop)
{
    return (unsigned) type < GR_TYPE_OTHER && (unsigned) redop < GR_OP_OTHER
               ? kernels[type][redop] - 1
               : -1;
}
