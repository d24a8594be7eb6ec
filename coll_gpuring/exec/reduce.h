/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions on the host: fused, vectorised loops for the frequent types and operations. All others
 * use a function of the caller's (Open MPI's reduction).
 *
 * Integers wrap around (two's complement) for every type and operation, here and on the device.
 */
#ifndef GR_EXEC_REDUCE_H
#define GR_EXEC_REDUCE_H

#include <stddef.h>

/*
 * Element types. GR_TYPE_OTHER: elements of any size, through gr_reducer.other. A name of two parts
 * is a value and its index, laid out as in C.
 *
 * mpi/datatype.c searches the ranges I8..I64, U8..U64, F32..F16 and C64..C128 for a type of the
 * right size. Keep the types of a kind together, in this order.
 */
enum gr_type {
    GR_TYPE_I8,
    GR_TYPE_I16,
    GR_TYPE_I32,
    GR_TYPE_I64,
    GR_TYPE_U8,
    GR_TYPE_U16,
    GR_TYPE_U32,
    GR_TYPE_U64,
    GR_TYPE_F32,
    GR_TYPE_F64,
    /* the following types have loops on devices only */
    GR_TYPE_F16,
    GR_TYPE_BF16,
    GR_TYPE_C64,
    GR_TYPE_C128, /* complex: two F32, two F64 */
    GR_TYPE_F32_I32,
    GR_TYPE_F64_I32,
    GR_TYPE_I64_I32,
    GR_TYPE_I32_I32,
    GR_TYPE_I16_I32,
    GR_TYPE_F32_F32,
    GR_TYPE_F64_F64,
    GR_TYPE_OTHER
};

/* Operations. Logical ones give 0 or 1; of equal values, minloc and maxloc take the lower index. */
enum gr_redop {
    GR_OP_SUM,
    GR_OP_PROD,
    GR_OP_MIN,
    GR_OP_MAX,
    GR_OP_BAND,
    GR_OP_BOR,
    GR_OP_BXOR,
    GR_OP_LAND,
    GR_OP_LOR,
    GR_OP_LXOR,
    GR_OP_MINLOC, /* loops on devices only */
    GR_OP_MAXLOC, /* loops on devices only */
    GR_OP_OTHER
};

/*
 * d1[i] = d2[i] = a[i] op b[i] for n elements. d2 may be NULL. d1 or d2 may be the same as a or b;
 * otherwise no overlap.
 */
typedef void (*gr_reduce_fn)(void *d1, void *d2, const void *a, const void *b, size_t n);

/* inout[i] = in[i] op inout[i] for n elements, no overlap. */
typedef void (*gr_reduce_other_fn)(void *ctx, const void *in, void *inout, size_t n);

struct gr_reducer {
    size_t elem_bytes;
    gr_reduce_fn fused; /* NULL: use other */
    gr_reduce_other_fn other;
    void *ctx;
};

/*
 * The fused loop, or NULL where there is none (a float type with a bitwise op, GR_TYPE_OTHER, ...).
 */
gr_reduce_fn gr_reduce_find(enum gr_type type, enum gr_redop redop);

/* Bytes from an element of the type to the next, gaps included; 0 for GR_TYPE_OTHER. */
size_t gr_type_bytes(enum gr_type type);

/*
 * dst[0..ndst) = ((first op src[0]) op src[1]) op ... for n elements, in exactly this order, by
 * r->fused or r->other. 1 <= nsrc <= GR_FAN, 1 <= ndst. Each dst may be `first`. dst[0] may be one
 * of the sources; if it is not src[0], or r->fused is NULL, elements have at most 4096 bytes then.
 */
void gr_reduce(const struct gr_reducer *r, void *const *dst, int ndst, const void *first,
               const void *const *src, int nsrc, size_t n);

/* The same of one source into one destination; by r->other. */
void gr_reduce_pair_by_other(const struct gr_reducer *r, void *dst, const void *first,
                             const void *src, size_t n);
static inline void gr_reduce_pair(const struct gr_reducer *r, void *dst, const void *first,
                                  const void *src, size_t n)
{
    if (NULL != r->fused) {
        r->fused(dst, NULL, first, src, n);
    } else {
        gr_reduce_pair_by_other(r, dst, first, src, n);
    }
}

/* Copy n bytes to each dst that is not src itself. */
void gr_copy(void *const *dst, int ndst, const void *src, size_t n);

#endif
