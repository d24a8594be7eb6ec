/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions on the host: the table of loops, and several sources and destinations in one pass. */
#include "exec/reduce.h"

#include "sched/step.h" /* GR_FAN */

#include <assert.h>
#include <string.h>

#include "exec/reduce_loops.h"

/*
 * Bytes of a block, which is reduced over all sources before the next one. Three sources and four
 * destinations of this size fit the smallest first-level cache (32 KiB).
 */
#define BLOCK_BYTES ((size_t) 4096)

#define ROW_ARITHMETIC(type) [GR_OP_SUM] = reduce_##type##_sum, [GR_OP_PROD] = reduce_##type##_prod
#define ROW_ORDER(type) [GR_OP_MIN] = reduce_##type##_min, [GR_OP_MAX] = reduce_##type##_max
#define ROW_BITS(type)                                                        \
    [GR_OP_BAND] = reduce_##type##_band, [GR_OP_BOR] = reduce_##type##_bor,   \
    [GR_OP_BXOR] = reduce_##type##_bxor, [GR_OP_LAND] = reduce_##type##_land, \
    [GR_OP_LOR] = reduce_##type##_lor, [GR_OP_LXOR] = reduce_##type##_lxor

/* An integer type of that order (i8, u8, ...); `bits` is the unsigned type of its width. */
#define ROW_INTEGER(order, bits)                               \
    {                                                          \
        ROW_ARITHMETIC(bits), ROW_ORDER(order), ROW_BITS(bits) \
    }
#define ROW_FLOAT(type)                       \
    {                                         \
        ROW_ARITHMETIC(type), ROW_ORDER(type) \
    }

struct type_row {
    size_t bytes;
    gr_reduce_fn loops[GR_OP_OTHER];
};

static const struct type_row types[GR_TYPE_OTHER] = {
    [GR_TYPE_I8] = {1, ROW_INTEGER(i8, u8)},
    [GR_TYPE_U8] = {1, ROW_INTEGER(u8, u8)},
    [GR_TYPE_I16] = {2, ROW_INTEGER(i16, u16)},
    [GR_TYPE_U16] = {2, ROW_INTEGER(u16, u16)},
    [GR_TYPE_I32] = {4, ROW_INTEGER(i32, u32)},
    [GR_TYPE_U32] = {4, ROW_INTEGER(u32, u32)},
    [GR_TYPE_I64] = {8, ROW_INTEGER(i64, u64)},
    [GR_TYPE_U64] = {8, ROW_INTEGER(u64, u64)},
    [GR_TYPE_F32] = {4, ROW_FLOAT(f32)},
    [GR_TYPE_F64] = {8, ROW_FLOAT(f64)},
    [GR_TYPE_F16] = {2, {NULL}},
    [GR_TYPE_BF16] = {2, {NULL}},
    [GR_TYPE_C64] = {8, {NULL}},
    [GR_TYPE_C128] = {16, {NULL}},
    [GR_TYPE_F32_I32] = {8, {NULL}},
    [GR_TYPE_F64_I32] = {16, {NULL}},
    [GR_TYPE_I64_I32] = {16, {NULL}},
    [GR_TYPE_I32_I32] = {8, {NULL}},
    [GR_TYPE_I16_I32] = {8, {NULL}},
    [GR_TYPE_F32_F32] = {8, {NULL}},
    [GR_TYPE_F64_F64] = {16, {NULL}},
};

gr_reduce_fn gr_reduce_find(enum gr_type type, enum gr_redop redop)
{
    return (unsigned) type < GR_TYPE_OTHER && (unsigned) redop < GR_OP_OTHER
               ? types[type].loops[redop]
               : NULL;
}

size_t gr_type_bytes(enum gr_type type)
{
    return (unsigned) type < GR_TYPE_OTHER ? types[type].bytes : 0;
}

static void *at(void *p, size_t offset)
{
    return (char *) p + offset;
}

static const void *at_const(const void *p, size_t offset)
{
    return (const char *) p + offset;
}

/* Elements of a block. */
static size_t block_elems(size_t elem_bytes)
{
    return 0 < elem_bytes && elem_bytes < BLOCK_BYTES ? BLOCK_BYTES / elem_bytes : 1;
}

/* Reduce n elements into sum, and into twin if it is not NULL. */
static void fused_block(const struct gr_reducer *r, void *sum, void *twin, const void *first,
                        const void *const *src, int nsrc, size_t n)
{
    const void *left = first;
    int k;

    for (k = 0; k < nsrc; k++) {
        r->fused(sum, k == nsrc - 1 ? twin : NULL, left, src[k], n);
        left = sum;
    }
}

/* The same into sum alone, by r->other, which works in place and must be commutative. */
static void other_block(const struct gr_reducer *r, void *sum, const void *first,
                        const void *const *src, int nsrc, size_t n)
{
    int k;

    if (sum != first) {
        memcpy(sum, first, n * r->elem_bytes);
    }
    for (k = 0; k < nsrc; k++) {
        r->other(r->ctx, src[k], sum, n);
    }
}

/*
 * Addresses of the sources' blocks. A source that the sum would overwrite before it is read is
 * copied to `aside`. The first source need not be: the loop reads it before it writes.
 */
static void find_blocks(const struct gr_reducer *r, const void **from, const void *const *src,
                        int nsrc, const void *sum, size_t offset, size_t n, unsigned char *aside)
{
    size_t bytes = n * r->elem_bytes;
    int k;

    for (k = 0; k < nsrc; k++) {
        from[k] = at_const(src[k], offset);
        if (from[k] == sum && (k > 0 || NULL == r->fused)) {
            assert(bytes <= BLOCK_BYTES);
            from[k] = memcpy(aside, sum, bytes);
        }
    }
}

void gr_reduce(const struct gr_reducer *r, void *const *dst, int ndst, const void *first,
               const void *const *src, int nsrc, size_t n)
{
    /* destinations that the loop itself writes */
    int made = NULL != r->fused && ndst > 1 ? 2 : 1;
    _Alignas(16) unsigned char aside[BLOCK_BYTES];
    const void *from[GR_FAN];
    size_t block, done, count, offset;
    int k;

    assert(nsrc >= 1 && nsrc <= GR_FAN && ndst >= 1);
    block = block_elems(r->elem_bytes);
    if (NULL != r->fused && 1 == nsrc && ndst <= 2) {
        block = n; /* no memory is read or written twice */
    }
    for (done = 0; done < n; done += count) {
        void *sum;

        count = n - done < block ? n - done : block;
        offset = done * r->elem_bytes;
        sum = at(dst[0], offset);
        find_blocks(r, from, src, nsrc, sum, offset, count, aside);
        if (NULL != r->fused) {
            fused_block(r, sum, made > 1 ? at(dst[1], offset) : NULL, at_const(first, offset), from,
                        nsrc, count);
        } else {
            other_block(r, sum, at_const(first, offset), from, nsrc, count);
        }
        for (k = made; k < ndst; k++) {
            memcpy(at(dst[k], offset), sum, count * r->elem_bytes);
        }
    }
}

void gr_reduce_pair_by_other(const struct gr_reducer *r, void *dst, const void *first,
                             const void *src, size_t n)
{
    gr_reduce(r, &dst, 1, first, &src, 1, n);
}

void gr_copy(void *const *dst, int ndst, const void *src, size_t n)
{
    int k;

    for (k = 0; k < ndst && n > 0; k++) {
        if (dst[k] != src) {
            memcpy(dst[k], src, n);
        }
    }
}
