/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of datatypes and operations; filling and comparison of elements (dtypes.h). */
#include "dtypes.h"

#include <stdio.h>
#include <string.h>

#include "rng.h"

/* A row with one or two fields; the name is made where the type is not expanded yet. */
#define ROW1(name, sym, class, base, bytes)                                  \
    {                                                                        \
        name, sym, class, 1, {{0, bytes, base}, {0, 0, BASE_BITS}}, false, 0 \
    }
#define ROW2(name, sym, class, base, bytes, base2, offset2, bytes2)                 \
    {                                                                               \
        name, sym, class, 2, {{0, bytes, base}, {offset2, bytes2, base2}}, false, 0 \
    }

#define ONE(sym, class, base, bytes) ROW1(#sym, sym, class, base, bytes)
#define INTEGER(sym) ROW1(#sym, sym, CLASS_C_INTEGER, BASE_BITS, 0)
#define FORTRAN(sym) ROW1(#sym, sym, CLASS_FORTRAN_INTEGER, BASE_BITS, 0)
#define FLOATING(sym, base, bytes) ROW1(#sym, sym, CLASS_FLOATING, base, bytes)
#define COMPLEX(sym, base, bytes, size) \
    ROW2(#sym, sym, CLASS_COMPLEX, base, bytes, base, size, bytes)
#define FORTRAN_PAIR(sym, base, bytes) ROW2(#sym, sym, CLASS_PAIR, base, bytes, base, bytes, bytes)
#define PAIR(sym, value, base, bytes) \
    ROW2(#sym, sym, CLASS_PAIR, base, bytes, BASE_BITS, offsetof(struct value, index), sizeof(int))

/* x87 long double: 10 bytes that count and padding. Elsewhere all of them count. */
#if defined(__x86_64__) || defined(__i386__)
#define LONG_DOUBLE_BYTES 10
#else
#define LONG_DOUBLE_BYTES (int) sizeof(long double)
#endif

struct pair_float {
    float value;
    int index;
};
struct pair_double {
    double value;
    int index;
};
struct pair_long {
    long value;
    int index;
};
struct pair_int {
    int value;
    int index;
};
struct pair_short {
    short value;
    int index;
};
struct pair_long_double {
    long double value;
    int index;
};

struct dtype dtypes[] = {
    INTEGER(MPI_SIGNED_CHAR),
    INTEGER(MPI_UNSIGNED_CHAR),
    INTEGER(MPI_SHORT),
    INTEGER(MPI_UNSIGNED_SHORT),
    INTEGER(MPI_INT),
    INTEGER(MPI_UNSIGNED),
    INTEGER(MPI_LONG),
    INTEGER(MPI_UNSIGNED_LONG),
    INTEGER(MPI_LONG_LONG),
    INTEGER(MPI_UNSIGNED_LONG_LONG),
    INTEGER(MPI_INT8_T),
    INTEGER(MPI_UINT8_T),
    INTEGER(MPI_INT16_T),
    INTEGER(MPI_UINT16_T),
    INTEGER(MPI_INT32_T),
    INTEGER(MPI_UINT32_T),
    INTEGER(MPI_INT64_T),
    INTEGER(MPI_UINT64_T),
    FORTRAN(MPI_INTEGER),
    ONE(MPI_AINT, CLASS_MULTI_LANGUAGE, BASE_BITS, 0),
    ONE(MPI_OFFSET, CLASS_MULTI_LANGUAGE, BASE_BITS, 0),
    ONE(MPI_COUNT, CLASS_MULTI_LANGUAGE, BASE_BITS, 0),
    FLOATING(MPI_FLOAT, BASE_FLOAT, sizeof(float)),
    FLOATING(MPI_DOUBLE, BASE_DOUBLE, sizeof(double)),
    FLOATING(MPI_LONG_DOUBLE, BASE_LONG_DOUBLE, LONG_DOUBLE_BYTES),
    FLOATING(MPI_REAL, BASE_FLOAT, sizeof(float)),
    FLOATING(MPI_DOUBLE_PRECISION, BASE_DOUBLE, sizeof(double)),
    COMPLEX(MPI_C_FLOAT_COMPLEX, BASE_FLOAT, sizeof(float), sizeof(float)),
    COMPLEX(MPI_C_DOUBLE_COMPLEX, BASE_DOUBLE, sizeof(double), sizeof(double)),
    COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, BASE_LONG_DOUBLE, LONG_DOUBLE_BYTES, sizeof(long double)),
    COMPLEX(MPI_CXX_FLOAT_COMPLEX, BASE_FLOAT, sizeof(float), sizeof(float)),
    COMPLEX(MPI_CXX_DOUBLE_COMPLEX, BASE_DOUBLE, sizeof(double), sizeof(double)),
    COMPLEX(MPI_COMPLEX, BASE_FLOAT, sizeof(float), sizeof(float)),
    COMPLEX(MPI_DOUBLE_COMPLEX, BASE_DOUBLE, sizeof(double), sizeof(double)),
    ONE(MPI_C_BOOL, CLASS_LOGICAL, BASE_TRUTH, 0),
    ONE(MPI_CXX_BOOL, CLASS_LOGICAL, BASE_TRUTH, 0),
    ONE(MPI_LOGICAL, CLASS_LOGICAL, BASE_TRUTH, 0),
    ONE(MPI_BYTE, CLASS_BYTE, BASE_BITS, 0),
    PAIR(MPI_FLOAT_INT, pair_float, BASE_FLOAT, sizeof(float)),
    PAIR(MPI_DOUBLE_INT, pair_double, BASE_DOUBLE, sizeof(double)),
    PAIR(MPI_LONG_INT, pair_long, BASE_BITS, sizeof(long)),
    PAIR(MPI_2INT, pair_int, BASE_BITS, sizeof(int)),
    PAIR(MPI_SHORT_INT, pair_short, BASE_BITS, sizeof(short)),
    PAIR(MPI_LONG_DOUBLE_INT, pair_long_double, BASE_LONG_DOUBLE, LONG_DOUBLE_BYTES),
    FORTRAN_PAIR(MPI_2INTEGER, BASE_BITS, sizeof(int)),
    FORTRAN_PAIR(MPI_2REAL, BASE_FLOAT, sizeof(float)),
    FORTRAN_PAIR(MPI_2DOUBLE_PRECISION, BASE_DOUBLE, sizeof(double)),
    ONE(MPI_CHAR, CLASS_MOVED, BASE_BITS, 0),
    ONE(MPI_WCHAR, CLASS_MOVED, BASE_BITS, 0),
    ONE(MPI_PACKED, CLASS_MOVED, BASE_BITS, 0),
    ONE(MPI_CHARACTER, CLASS_MOVED, BASE_BITS, 0),
/* Optional types: macros only where the Fortran compiler has them. */
#ifdef MPI_INTEGER1
    FORTRAN(MPI_INTEGER1),
#endif
#ifdef MPI_INTEGER2
    FORTRAN(MPI_INTEGER2),
#endif
#ifdef MPI_INTEGER4
    FORTRAN(MPI_INTEGER4),
#endif
#ifdef MPI_INTEGER8
    FORTRAN(MPI_INTEGER8),
#endif
#ifdef MPI_REAL4
    FLOATING(MPI_REAL4, BASE_FLOAT, sizeof(float)),
#endif
#ifdef MPI_REAL8
    FLOATING(MPI_REAL8, BASE_DOUBLE, sizeof(double)),
#endif
#if defined(MPI_REAL16) && defined(__SIZEOF_FLOAT128__)
    FLOATING(MPI_REAL16, BASE_QUAD, 16),
#endif
#ifdef MPI_COMPLEX8
    COMPLEX(MPI_COMPLEX8, BASE_FLOAT, sizeof(float), sizeof(float)),
#endif
#ifdef MPI_COMPLEX16
    COMPLEX(MPI_COMPLEX16, BASE_DOUBLE, sizeof(double), sizeof(double)),
#endif
};
const int num_dtypes = sizeof dtypes / sizeof dtypes[0];

enum style { STYLE_ANY, STYLE_ORDER, STYLE_SUM, STYLE_PROD, STYLE_TRUTH, STYLE_LOC };

#define BIT(class) (1u << (class))
#define INTEGERS (BIT(CLASS_C_INTEGER) | BIT(CLASS_FORTRAN_INTEGER) | BIT(CLASS_MULTI_LANGUAGE))
#define NUMBERS (INTEGERS | BIT(CLASS_FLOATING))
#define ARITHMETIC (NUMBERS | BIT(CLASS_COMPLEX))
#define LOGICALS (BIT(CLASS_C_INTEGER) | BIT(CLASS_LOGICAL))
#define BITWISE (INTEGERS | BIT(CLASS_BYTE))

const struct dtype_op dtype_ops[] = {
    {"none", MPI_OP_NULL},      {"MPI_MAX", MPI_MAX},   {"MPI_MIN", MPI_MIN},
    {"MPI_SUM", MPI_SUM},       {"MPI_PROD", MPI_PROD}, {"MPI_LAND", MPI_LAND},
    {"MPI_LOR", MPI_LOR},       {"MPI_LXOR", MPI_LXOR}, {"MPI_BAND", MPI_BAND},
    {"MPI_BOR", MPI_BOR},       {"MPI_BXOR", MPI_BXOR}, {"MPI_MINLOC", MPI_MINLOC},
    {"MPI_MAXLOC", MPI_MAXLOC},
};
const int num_dtype_ops = sizeof dtype_ops / sizeof dtype_ops[0];

/* By row of dtype_ops: the classes that MPI allows, and the inputs that it wants. */
static const struct {
    unsigned classes;
    enum style style;
} op_rules[] = {
    {~0u, STYLE_ANY},
    {NUMBERS, STYLE_ORDER},
    {NUMBERS, STYLE_ORDER},
    {ARITHMETIC, STYLE_SUM},
    {ARITHMETIC, STYLE_PROD},
    {LOGICALS, STYLE_TRUTH},
    {LOGICALS, STYLE_TRUTH},
    {LOGICALS, STYLE_TRUTH},
    {BITWISE, STYLE_ANY},
    {BITWISE, STYLE_ANY},
    {BITWISE, STYLE_ANY},
    {BIT(CLASS_PAIR), STYLE_LOC},
    {BIT(CLASS_PAIR), STYLE_LOC},
};

/* Some builds (Debian's) take REAL(16) for long double: then so do the inputs. */
static void settle_real16(void)
{
#if defined(MPI_REAL16) && defined(__SIZEOF_FLOAT128__)
    __float128 a = 1.5, b = 2.25;

    for (int i = 0; i < num_dtypes; i++) {
        if (BASE_QUAD == dtypes[i].fields[0].base && dtype_takes(&dtypes[i], DTYPE_OP_SUM)) {
            MPI_Reduce_local(&a, &b, 1, dtypes[i].type, MPI_SUM);
            if (3.75 != b) {
                dtypes[i].fields[0] = (struct dtype_field) {0, LONG_DOUBLE_BYTES, BASE_LONG_DOUBLE};
            }
        }
    }
#endif
}

void dtypes_init(void)
{
    for (int i = 0; i < num_dtypes; i++) {
        struct dtype *t = &dtypes[i];
        MPI_Aint lb, extent;
        int size, last = t->num_fields - 1;

        /*
         * MPI_Reduce_local takes MPI_UNSIGNED_LONG for signed (4.1.4) and MPI_OFFSET for unsigned
         * (all).
         */
        t->sign_unsure = MPI_UNSIGNED_LONG == t->type || MPI_OFFSET == t->type;
        MPI_Type_get_extent(t->type, &lb, &extent);
        MPI_Type_size(t->type, &size);
        if (size > 0 && 0 == t->fields[0].bytes) {
            t->fields[0].bytes = size;
        }
        /* Fortran kinds can be other than the table thinks: such a type is left out. */
        t->extent =
            size > 0 && t->fields[last].offset + t->fields[last].bytes <= extent ? (int) extent : 0;
    }
    settle_real16();
}

bool dtype_takes(const struct dtype *t, int op)
{
    _Alignas(64) char a[64] = {0}, b[64] = {0};
    MPI_Errhandler world, self;
    int rc;

    if (0 == t->extent || 0 == (op_rules[op].classes & BIT(t->class))) {
        return false;
    }
    if (0 == op) {
        return true;
    }
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &world);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &self);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    rc = MPI_Reduce_local(a, b, 1, t->type, dtype_ops[op].op);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, self);
    MPI_Errhandler_free(&world);
    MPI_Errhandler_free(&self);
    return MPI_SUCCESS == rc;
}

static void put_number(char *at, const struct dtype_field *f, double x)
{
    float single = (float) x;
    long double extended = x;
    int64_t integer = (int64_t) x;

    switch (f->base) {
    case BASE_FLOAT:
        memcpy(at, &single, sizeof single);
        break;
    case BASE_DOUBLE:
        memcpy(at, &x, sizeof x);
        break;
    case BASE_LONG_DOUBLE:
        memcpy(at, &extended, sizeof extended);
        break;
    case BASE_QUAD: {
#if defined(__SIZEOF_FLOAT128__)
        __float128 quad = x;
        memcpy(at, &quad, sizeof quad);
#endif
        break;
    }
    case BASE_BITS:
    /* little-endian, sizes up to 8 */
    case BASE_TRUTH:
        memcpy(at, &integer, (size_t) f->bytes);
        break;
    }
}

static bool is_bits(const struct dtype_field *f)
{
    return BASE_BITS == f->base;
}

/*
 * A number that suits the operation; for a product, what all parts of the element are multiplied
 * with.
 */
static double draw_number(enum style style, uint64_t *state)
{
    static const double factors[] = {0.5, 1, 2, -0.5, -1, -2};

    switch (style) {
    case STYLE_SUM:
        return rng_below(state, 17) - 8;
    case STYLE_PROD:
        return factors[rng_below(state, 6)];
    case STYLE_LOC:
        return rng_below(state, 4); /* many equal values: the index decides */
    case STYLE_TRUTH:
        return rng_below(state, 2);
    default: {
        uint64_t x = rng_next(state);
        double magnitude = (double) (1 + (x & 0xffffff)) / 64;

        return x >> 63 ? magnitude : -magnitude;
    }
    }
}

static void fill_bits(char *at, size_t bytes, uint64_t *state)
{
    for (size_t i = 0, n; i < bytes; i += n) {
        uint64_t x = rng_next(state);

        n = bytes - i < sizeof x ? bytes - i : sizeof x;
        memcpy(at + i, &x, n);
    }
}

static void fill_element(const struct dtype *t, enum style style, char *at, uint64_t *state)
{
    double factor = STYLE_PROD == style ? draw_number(style, state) : 0;
    /*
     * Products of (1 + 2i) alone are never real or imaginary: no signed zeros that depend on the
     * order.
     */

    for (int i = 0; i < t->num_fields; i++) {
        const struct dtype_field *f = &t->fields[i];

        if (BASE_TRUTH == f->base) {
            put_number(at + f->offset, f, rng_below(state, 2));
        } else if (is_bits(f) && STYLE_LOC != style) {
            if (STYLE_TRUTH == style && rng_below(state, 2)) {
                memset(at + f->offset, 0, (size_t) f->bytes);
            } else {
                fill_bits(at + f->offset, (size_t) f->bytes, state);
            }
            if (STYLE_ORDER == style && t->sign_unsure) {
                at[f->offset + f->bytes - 1] &= 0x7f; /* the half that both signs order alike */
            }
        } else if (STYLE_PROD == style) {
            put_number(at + f->offset, f, factor * (i + 1));
        } else {
            put_number(at + f->offset, f, draw_number(style, state));
        }
    }
}

void dtype_fill(const struct dtype *t, int op, void *buf, size_t count, uint64_t key)
{
    enum style style = op_rules[op].style;
    bool masked = STYLE_ORDER == style && t->sign_unsure;
    uint64_t state = key;

    if (STYLE_TRUTH != style && !masked && 1 == t->num_fields && is_bits(&t->fields[0]) &&
        t->extent == t->fields[0].bytes) {
        fill_bits(buf, count * (size_t) t->extent, &state); /* any bits will do */
        return;
    }
    for (size_t i = 0; i < count; i++) {
        fill_element(t, style, (char *) buf + i * (size_t) t->extent, &state);
    }
}

long dtype_differs(const struct dtype *t, const void *a, const void *b, size_t count)
{
    size_t step = (size_t) t->extent;

    if (0 == memcmp(a, b, count * step)) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < t->num_fields; k++) {
            size_t at = i * step + (size_t) t->fields[k].offset;

            if (0 !=
                memcmp((const char *) a + at, (const char *) b + at, (size_t) t->fields[k].bytes)) {
                return (long) i;
            }
        }
    }
    return -1;
}
