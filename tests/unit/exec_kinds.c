/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of elements of exec_data.h: how one is made of a random number, and combined with
 * another.
 */
#include "exec_data.h"

#include <string.h>

/* Unsigned integers wrap as signed ones do. */
#define SUM(name, type)                           \
    static void name(void *sum, const void *elem) \
    {                                             \
        type a, b;                                \
                                                  \
        memcpy(&a, sum, sizeof(a));               \
        memcpy(&b, elem, sizeof(b));              \
        a = (type) (a + b);                       \
        memcpy(sum, &a, sizeof(a));               \
    }
SUM(sum_i32, uint32_t)
SUM(sum_i8, uint8_t)
SUM(sum_f64, double)
SUM(sum_f32, float)

static void fill_i32(void *elem, uint64_t random)
{
    memcpy(elem, &random, 4);
}

static void fill_i8(void *elem, uint64_t random)
{
    *(unsigned char *) elem = (unsigned char) random;
}

static void fill_f64(void *elem, uint64_t random)
{
    double x = (double) (random % 20001) - 10000;

    memcpy(elem, &x, 8);
}

static void fill_f32(void *elem, uint64_t random)
{
    float x = (float) (random % 20001) - 10000;

    memcpy(elem, &x, 4);
}

static void max_f32(void *sum, const void *elem)
{
    float a, b;

    memcpy(&a, sum, 4);
    memcpy(&b, elem, 4);
    memcpy(sum, a > b ? &a : &b, 4);
}

static void fill_triple(void *elem, uint64_t random)
{
    uint32_t x[3] = {(uint32_t) random, (uint32_t) (random >> 16), (uint32_t) (random >> 32)};

    memcpy(elem, x, 12);
}

static void combine_triple(void *sum, const void *elem)
{
    uint32_t a[3], b[3];

    memcpy(a, sum, 12);
    memcpy(b, elem, 12);
    a[0] += b[0];
    a[1] ^= b[1];
    a[2] = a[2] > b[2] ? a[2] : b[2];
    memcpy(sum, a, 12);
}

/* Magnitudes from 2^-24 to 2^24, both signs. */
static void fill_f32_wild(void *elem, uint64_t random)
{
    float x = (float) (random >> 40) + 1;
    int k;

    for (k = (int) (random % 48); k > 0; k--) {
        x /= 2;
    }
    x = random & 1024 ? -x : x;
    memcpy(elem, &x, 4);
}

static void fill_ordered(void *elem, uint64_t random)
{
    memcpy(elem, &random, 8);
}

static void combine_ordered(void *sum, const void *elem)
{
    uint64_t a, b;

    memcpy(&a, sum, 8);
    memcpy(&b, elem, 8);
    a = a * 0x9e3779b97f4a7c15u + b;
    memcpy(sum, &a, 8);
}

/* As a gr_reduce_fn, of elements of 8 bytes. */
static void fused_by(void (*combine)(void *sum, const void *elem), void *d1, void *d2,
                     const void *a, const void *b, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        uint64_t x;

        memcpy(&x, (const char *) a + 8 * i, 8);
        combine(&x, (const char *) b + 8 * i);
        memcpy((char *) d1 + 8 * i, &x, 8);
        if (NULL != d2) {
            memcpy((char *) d2 + 8 * i, &x, 8);
        }
    }
}

static void fused_ordered(void *d1, void *d2, const void *a, const void *b, size_t n)
{
    fused_by(combine_ordered, d1, d2, a, b, n);
}

static void fill_map(void *elem, uint64_t random)
{
    random |= 1;
    memcpy(elem, &random, 8);
}

static void combine_maps(void *sum, const void *elem)
{
    uint32_t first[2], then[2];

    memcpy(first, sum, 8);
    memcpy(then, elem, 8);
    first[0] *= then[0];
    first[1] = then[0] * first[1] + then[1];
    memcpy(sum, first, 8);
}

static void fused_maps(void *d1, void *d2, const void *a, const void *b, size_t n)
{
    fused_by(combine_maps, d1, d2, a, b, n);
}

const struct ex_kind ex_kinds[EX_NKINDS] = {
    [EX_I32_SUM] = {"int32 sum", GR_TYPE_I32, GR_OP_SUM, 4, fill_i32, sum_i32, NULL},
    [EX_I8_SUM] = {"int8 sum", GR_TYPE_I8, GR_OP_SUM, 1, fill_i8, sum_i8, NULL},
    [EX_F64_SUM] = {"double sum", GR_TYPE_F64, GR_OP_SUM, 8, fill_f64, sum_f64, NULL},
    [EX_F32_MAX] = {"float max", GR_TYPE_F32, GR_OP_MAX, 4, fill_f32, max_f32, NULL},
    [EX_TRIPLE] = {"triple by a function", GR_TYPE_OTHER, GR_OP_OTHER, 12, fill_triple,
                   combine_triple, NULL},
    [EX_F32_SUM] = {"float sum", GR_TYPE_F32, GR_OP_SUM, 4, fill_f32_wild, sum_f32, NULL},
    [EX_ORDERED] = {"ordered", GR_TYPE_OTHER, GR_OP_OTHER, 8, fill_ordered, combine_ordered,
                    fused_ordered},
    [EX_MAPS] = {"maps", GR_TYPE_OTHER, GR_OP_OTHER, 8, fill_map, combine_maps, fused_maps},
};

static void combine_all(void *ctx, const void *in, void *inout, size_t n)
{
    const struct ex_kind *k = ctx;
    size_t i;

    for (i = 0; i < n; i++) {
        k->combine((unsigned char *) inout + i * k->elem_bytes,
                   (const unsigned char *) in + i * k->elem_bytes);
    }
}

struct gr_reducer ex_reducer(const struct ex_case *c)
{
    const struct ex_kind *k = &ex_kinds[c->kind];
    struct gr_reducer r = {
        .elem_bytes = k->elem_bytes,
        .fused = NULL != k->fused ? k->fused : gr_reduce_find(k->type, k->op),
        .other = combine_all,
        .ctx = (void *) k,
    };

    return r;
}
