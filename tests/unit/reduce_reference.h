/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What reduce_test.c compares with: guarded buffers, random elements, and each type's operations
 * written anew, one element at a time, in another arithmetic than the loops'. Only reduce_test.c
 * includes this.
 */
#ifndef GR_TESTS_REDUCE_REFERENCE_H
#define GR_TESTS_REDUCE_REFERENCE_H

#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

#include "exec/reduce.h"
#include "rng.h"

enum { GUARD = 32, GUARD_BYTE = 0xa5 };

static int is_float(int type)
{
    return GR_TYPE_F32 == type || GR_TYPE_F64 == type;
}

static int is_signed(int type)
{
    return type <= GR_TYPE_I64;
}

/*
 * ---- buffers: an input ends where its allocation ends, an output is followed by guard bytes ----
 */

struct buf {
    unsigned char *base, *data;
    size_t bytes;
    int guarded;
};

static struct buf buf_new(size_t bytes, size_t offset, int guarded)
{
    struct buf b = {.bytes = bytes, .guarded = guarded};

    b.base = malloc(offset + bytes + (guarded ? GUARD : 0) + 1);
    assert_non_null(b.base);
    memset(b.base, GUARD_BYTE, offset + bytes + (guarded ? GUARD : 0) + 1);
    /* shrink to the exact size: the address sanitizer then sees reads beyond the end */
    if (!guarded) {
        b.base = realloc(b.base, offset + bytes > 0 ? offset + bytes : 1);
        assert_non_null(b.base);
    }
    b.data = b.base + offset;
    return b;
}

static void buf_free(struct buf *b)
{
    const unsigned char *p;

    for (p = b->base; p < b->data; p++) {
        assert_int_equal(*p, GUARD_BYTE);
    }
    for (p = b->data + b->bytes; b->guarded && p < b->data + b->bytes + GUARD; p++) {
        assert_int_equal(*p, GUARD_BYTE);
    }
    free(b->base);
}

static uint64_t seed;

/*
 * Any bits for integers, with zeros for the logical operations; floats whose sums and products
 * round.
 */
static void fill(int type, unsigned char *p, size_t n)
{
    size_t i, w = gr_type_bytes((enum gr_type) type);

    for (i = 0; i < n; i++) {
        uint64_t r = rng_next(&seed);
        double d = ((double) (r >> 12) - 2e15) / 1e14;
        float f = (float) d;

        if (is_float(type)) {
            memcpy(p + i * w, 4 == w ? (void *) &f : (void *) &d, w);
        } else {
            r = 0 == r % 3 ? 0 : r >> 2;
            r |= rng_next(&seed) << 62;
            r = 0 == rng_next(&seed) % 3 ? 0 : r;
            memcpy(p + i * w, &r, w);
        }
    }
}

/* ---- the reference: integers as mathematical numbers, cut to the width at the end ---- */

static __int128 integer_at(int type, const unsigned char *p)
{
    int w = (int) gr_type_bytes((enum gr_type) type), k;
    __int128 v = 0;

    for (k = 0; k < w; k++) { /* x86 and the other targets are little-endian */
        v += (__int128) p[k] << (8 * k);
    }
    if (is_signed(type) && v >> (8 * w - 1)) {
        v -= (__int128) 1 << (8 * w);
    }
    return v;
}

static __int128 combine_integers(int op, __int128 a, __int128 b)
{
    switch (op) {
    case GR_OP_SUM:
        return a + b;
    case GR_OP_PROD: /* (2^64-1)^2 is beyond a signed 128-bit number, not beyond an unsigned one */
        return (__int128) ((unsigned __int128) a * (unsigned __int128) b);
    case GR_OP_MIN:
        return a < b ? a : b;
    case GR_OP_MAX:
        return a > b ? a : b;
    case GR_OP_BAND:
        return a & b;
    case GR_OP_BOR:
        return a | b;
    case GR_OP_BXOR:
        return a ^ b;
    case GR_OP_LAND:
        return 0 != a && 0 != b;
    case GR_OP_LOR:
        return 0 != a || 0 != b;
    default:
        return (0 != a) != (0 != b);
    }
}

static double combine_floats(int op, double a, double b)
{
    switch (op) {
    case GR_OP_SUM:
        return a + b;
    case GR_OP_PROD:
        return a * b;
    case GR_OP_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

/*
 * out = a op b for one element. A float's sum or product taken in double and rounded is the float's
 * own.
 */
static void reference(int type, int op, unsigned char *out, const unsigned char *a,
                      const unsigned char *b)
{
    if (GR_TYPE_F32 == type) {
        float x, y, r;

        memcpy(&x, a, sizeof(x));
        memcpy(&y, b, sizeof(y));
        r = (float) combine_floats(op, (double) x, (double) y);
        memcpy(out, &r, sizeof(r));
    } else if (GR_TYPE_F64 == type) {
        double x, y, r;

        memcpy(&x, a, sizeof(x));
        memcpy(&y, b, sizeof(y));
        r = combine_floats(op, x, y);
        memcpy(out, &r, sizeof(r));
    } else {
        unsigned __int128 v =
            (unsigned __int128) combine_integers(op, integer_at(type, a), integer_at(type, b));
        size_t k, w = gr_type_bytes((enum gr_type) type);

        for (k = 0; k < w; k++) {
            out[k] = (unsigned char) (v >> (8 * k));
        }
    }
}

static void reference_all(int type, int op, unsigned char *out, const unsigned char *a,
                          const unsigned char *b, size_t n)
{
    size_t i, w = gr_type_bytes((enum gr_type) type);

    for (i = 0; i < n; i++) {
        reference(type, op, out + i * w, a + i * w, b + i * w);
    }
}

static void assert_same(int type, int op, size_t n, const unsigned char *got,
                        const unsigned char *want, size_t bytes)
{
    size_t i;

    for (i = 0; i < bytes; i++) {
        if (got[i] != want[i]) {
            fail_msg("type %d op %d n %zu: byte %zu is 0x%02x, not 0x%02x", type, op, n, i, got[i],
                     want[i]);
        }
    }
}

#endif
