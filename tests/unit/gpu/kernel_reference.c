/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of kernels, one element at a time (kernel_reference.h). */
#include "kernel_reference.h"

#include "kernel_driver.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- halves ---- */

/* A format of 16 bits by the number of its fraction's and its exponent's least value. */
struct half {
    int fraction, least;
};

static const struct half f16 = {10, -14}, bf16 = {7, -126};

static float widen(const struct half *h, const void *at)
{
    int most = 1 << (15 - h->fraction), e, f;
    uint16_t bits;
    double x;

    memcpy(&bits, at, sizeof(bits));
    e = (bits & 0x7fff) >> h->fraction;
    f = bits & ((1 << h->fraction) - 1);
    if (e == most - 1) {
        x = 0 == f ? INFINITY : NAN;
    } else if (0 == e) {
        x = ldexp(f, h->least - h->fraction);
    } else {
        x = ldexp(f + (1 << h->fraction), h->least + e - 1 - h->fraction);
    }
    return (float) (bits & 0x8000 ? -x : x);
}

static uint16_t narrow(const struct half *h, float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0,
             most = (uint16_t) (0x7fff >> h->fraction << h->fraction);
    double x = fabs((double) value);
    long q;
    int e;

    if (isnan(value)) {
        return 0x7fff;
    }
    if (isinf(value)) {
        return sign | most;
    }
    e = 0 == x || ilogb(x) < h->least ? h->least : ilogb(x);
    q = lrint(ldexp(x, h->fraction - e)); /* to nearest even */
    q += (long) (e - h->least) << h->fraction;
    return (uint16_t) (sign | (q > most ? most : (uint16_t) q));
}

static float combine_floats(const char *op, float x, float y)
{
    if (0 == strcmp(op, "sum")) {
        return x + y;
    }
    if (0 == strcmp(op, "prod")) {
        return x * y;
    }
    return (0 == strcmp(op, "min") ? x < y : x > y) ? x : y;
}

/* In float, rounded once. */
static void combine_halves(const struct half *h, const char *op, void *result,
                           const void *const *src, int n)
{
    float sum = widen(h, src[0]);
    uint16_t bits;
    int k;

    for (k = 1; k < n; k++) {
        sum = combine_floats(op, sum, widen(h, src[k]));
    }
    bits = narrow(h, sum);
    memcpy(result, &bits, sizeof(bits));
}

static void f16_combine(const char *type, const char *op, void *result, const void *const *src,
                        int n)
{
    (void) type;
    combine_halves(&f16, op, result, src, n);
}

static void bf16_combine(const char *type, const char *op, void *result, const void *const *src,
                         int n)
{
    (void) type;
    combine_halves(&bf16, op, result, src, n);
}

/* ---- complex numbers ---- */

/* Every product and every sum rounded by itself. */
#define COMPLEX(name, F)                                                                     \
    static void name(const char *type, const char *op, void *result, const void *const *src, \
                     int n)                                                                  \
    {                                                                                        \
        volatile F rr, ii, ri, ir;                                                           \
        F x[2], y[2];                                                                        \
        int k;                                                                               \
                                                                                             \
        (void) type;                                                                         \
        memcpy(x, src[0], sizeof(x));                                                        \
        for (k = 1; k < n; k++) {                                                            \
            memcpy(y, src[k], sizeof(y));                                                    \
            rr = x[0] * y[0];                                                                \
            ii = x[1] * y[1];                                                                \
            ri = x[0] * y[1];                                                                \
            ir = x[1] * y[0];                                                                \
            x[0] = 0 == strcmp(op, "sum") ? x[0] + y[0] : rr - ii;                           \
            x[1] = 0 == strcmp(op, "sum") ? x[1] + y[1] : ri + ir;                           \
        }                                                                                    \
        memcpy(result, x, sizeof(x));                                                        \
    }
COMPLEX(c64_combine, float)
COMPLEX(c128_combine, double)

/* ---- values with an index ---- */

/* Of a part ("f32", "i16", ...): all of them are numbers of a long double. */
static long double number(const char *part, const void *at)
{
    float f;
    double d;
    int64_t i = 0;
    int bits = atoi(part + 1);

    if ('f' == part[0] && 32 == bits) {
        memcpy(&f, at, sizeof(f));
        return f;
    }
    if ('f' == part[0]) {
        memcpy(&d, at, sizeof(d));
        return d;
    }
    memcpy((char *) &i + 8 - bits / 8, at, (size_t) bits / 8); /* at the upper end, for its sign */
    return i >> (64 - bits);
}

/*
 * The index begins in the middle: C puts the wider of the two on a multiple of its size. Gaps
 * become 0.
 */
static void located_combine(const char *type, const char *op, void *result, const void *const *src,
                            int n)
{
    const char *index = strchr(type, '_') + 1;
    size_t value_bytes = (size_t) atoi(type + 1) / 8, index_bytes = (size_t) atoi(index + 1) / 8;
    size_t half = value_bytes > index_bytes ? value_bytes : index_bytes;
    const char *v = src[0], *k = v + half, *w, *l;
    char best[16] = {0};
    int s;

    for (s = 1; s < n; s++) {
        w = src[s];
        l = w + half;
        if (0 == strcmp(op, "minloc") ? number(type, v) < number(type, w)
                                      : number(type, v) > number(type, w)) {
            continue;
        }
        if (number(type, v) != number(type, w) || number(index, l) < number(index, k)) {
            k = l;
        }
        v = w;
    }
    memcpy(best, v, value_bytes);
    memcpy(best + half, k, index_bytes);
    memcpy(result, best, 2 * half);
}

/* ---- the table ---- */

struct row {
    const char *type;
    void (*combine)(const char *type, const char *op, void *result, const void *const *src, int n);
};

static const struct row rows[] = {
    {"f16", f16_combine},         {"bf16", bf16_combine},       {"c64", c64_combine},
    {"c128", c128_combine},       {"f32_i32", located_combine}, {"f64_i32", located_combine},
    {"i64_i32", located_combine}, {"i32_i32", located_combine}, {"i16_i32", located_combine},
    {"f32_f32", located_combine}, {"f64_f64", located_combine},
};

static const struct row *row_of(enum gr_kernel kernel)
{
    size_t k;

    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        if (0 == strcmp(rows[k].type, kd_type_name(kernel))) {
            return &rows[k];
        }
    }
    return NULL;
}

/* ---- the host's loops ---- */

/* The number of a name in a list that ends with NULL; -1: it is not there. */
static int number_of(const char *name, const char *const *names)
{
    int k;

    for (k = 0; NULL != names[k]; k++) {
        if (0 == strcmp(names[k], name)) {
            return k;
        }
    }
    return -1;
}

gr_reduce_fn kr_host_loop(enum gr_kernel kernel)
{
    static const char *const types[] = {"i8",  "i16", "i32", "i64", "bits", "u16",
                                        "u32", "u64", "f32", "f64", NULL};
    static const char *const ops[] = {"sum",  "prod", "min", "max",  "band", "bor",
                                      "bxor", "land", "lor", "lxor", NULL};
    const char *type = kd_type_name(kernel);
    int t = number_of(0 == strcmp(type, "u8") ? "bits" : type, types),
        o = number_of(kd_op_name(kernel), ops);

    return t < 0 || o < 0 ? NULL : gr_reduce_find((enum gr_type) t, (enum gr_redop) o);
}

int kr_has(enum gr_kernel kernel)
{
    return NULL != row_of(kernel);
}

void kr_combine(enum gr_kernel kernel, void *result, const void *const *src, int n)
{
    const struct row *row = row_of(kernel);
    gr_reduce_fn loop = kr_host_loop(kernel);
    int k;

    if (NULL != row) {
        row->combine(row->type, kd_op_name(kernel), result, src, n);
        return;
    }
    memcpy(result, src[0], kd_elem_bytes(kernel));
    for (k = 1; k < n; k++) {
        loop(result, NULL, result, src[k], 1);
    }
}
