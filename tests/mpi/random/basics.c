/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of types. */
#include "basics.h"

#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#define EXTENDED_BYTES 10 /* x87 */
#else
#define EXTENDED_BYTES (int) sizeof(long double)
#endif

static const int format_bytes[] = {[SHORT] = sizeof(short),
                                   [WORD] = sizeof(int),
                                   [LONG] = sizeof(long),
                                   [SINGLE] = 4,
                                   [DOUBLE] = sizeof(double),
                                   [EXTENDED] = EXTENDED_BYTES,
                                   [QUAD] = 16};

#define ONE(one, T, class_, format1)                                            \
    {                                                                           \
        .name = #T, .type = MPI_##T, .class = class_, .first = one, .fields = { \
            {.format = format1}                                                 \
        }                                                                       \
    }
/* the second field lies behind a C type */
#define TWO(one, T, class_, format1, C, format2)                                \
    {                                                                           \
        .name = #T, .type = MPI_##T, .class = class_, .first = one, .fields = { \
            {.format = format1},                                                \
            {.at = (int) sizeof(C), .format = format2}                          \
        }                                                                       \
    }
#define PARTS(one, T, format, C) TWO(one, T, COMPLEX, format, C, format)
#define PAIRED(one, T, format, C, format2) TWO(one, T, PAIR, format, C, format2)

/* What is of one kind takes no operation that the first of it does not take. */
struct basic basics[] = {
    ONE(1, INT8_T, WHOLE, INTEGER),
    ONE(0, SIGNED_CHAR, WHOLE, INTEGER),
    ONE(0, CHAR, MOVED, INTEGER),
#ifdef MPI_INTEGER1
    ONE(0, INTEGER1, FOREIGN, INTEGER),
#endif
    ONE(1, UINT8_T, NATURAL, INTEGER),
    ONE(0, UNSIGNED_CHAR, NATURAL, INTEGER),
    ONE(1, INT16_T, WHOLE, INTEGER),
    ONE(0, SHORT, WHOLE, INTEGER),
#ifdef MPI_INTEGER2
    ONE(0, INTEGER2, FOREIGN, INTEGER),
#endif
    ONE(1, UINT16_T, NATURAL, INTEGER),
    ONE(0, UNSIGNED_SHORT, NATURAL, INTEGER),
    ONE(1, INT, WHOLE, INTEGER),
    ONE(0, INT32_T, WHOLE, INTEGER),
    ONE(0, WCHAR, MOVED, INTEGER),
    ONE(0, INTEGER, FOREIGN, INTEGER),
#ifdef MPI_INTEGER4
    ONE(0, INTEGER4, FOREIGN, INTEGER),
#endif
    ONE(1, UINT32_T, NATURAL, INTEGER),
    ONE(0, UNSIGNED, NATURAL, INTEGER),
    ONE(1, LONG, WHOLE, INTEGER),
    ONE(0, LONG_LONG, WHOLE, INTEGER),
    ONE(0, INT64_T, WHOLE, INTEGER),
    ONE(0, AINT, FOREIGN, INTEGER),
    ONE(0, OFFSET, FOREIGN, INTEGER),
    ONE(0, COUNT, FOREIGN, INTEGER),
#ifdef MPI_INTEGER8
    ONE(0, INTEGER8, FOREIGN, INTEGER),
#endif
    ONE(1, UINT64_T, NATURAL, INTEGER),
    ONE(0, UNSIGNED_LONG, NATURAL, INTEGER),
    ONE(0, UNSIGNED_LONG_LONG, NATURAL, INTEGER),
    ONE(1, FLOAT, REAL, SINGLE),
    ONE(0, REAL, REAL, SINGLE),
#ifdef MPI_REAL4
    ONE(0, REAL4, REAL, SINGLE),
#endif
    ONE(1, DOUBLE, REAL, DOUBLE),
    ONE(0, DOUBLE_PRECISION, REAL, DOUBLE),
    ONE(0, LONG_DOUBLE, REAL, EXTENDED),
#ifdef MPI_REAL8
    ONE(0, REAL8, REAL, DOUBLE),
#endif
#ifdef MPI_REAL16
    ONE(0, REAL16, REAL, QUAD),
#endif
    PARTS(1, C_FLOAT_COMPLEX, SINGLE, float),
    PARTS(0, C_DOUBLE_COMPLEX, DOUBLE, double),
    PARTS(0, C_LONG_DOUBLE_COMPLEX, EXTENDED, long double),
    PARTS(0, CXX_FLOAT_COMPLEX, SINGLE, float),
    PARTS(0, CXX_DOUBLE_COMPLEX, DOUBLE, double),
    PARTS(0, CXX_LONG_DOUBLE_COMPLEX, EXTENDED, long double),
    PARTS(0, COMPLEX, SINGLE, float),
    PARTS(0, DOUBLE_COMPLEX, DOUBLE, double),
#ifdef MPI_COMPLEX8
    PARTS(0, COMPLEX8, SINGLE, float),
#endif
#ifdef MPI_COMPLEX16
    PARTS(0, COMPLEX16, DOUBLE, double),
#endif
    ONE(1, C_BOOL, TRUTH, INTEGER),
    ONE(0, CXX_BOOL, TRUTH, INTEGER),
    ONE(0, LOGICAL, TRUTH, INTEGER),
    ONE(1, BYTE, BITS, INTEGER),
    ONE(0, PACKED, MOVED, INTEGER),
    ONE(0, CHARACTER, MOVED, INTEGER),
    PAIRED(1, 2INT, WORD, int, WORD),
    PAIRED(0, 2INTEGER, WORD, int, WORD),
    PAIRED(1, FLOAT_INT, SINGLE, float, WORD),
    PAIRED(0, 2REAL, SINGLE, float, SINGLE),
    PAIRED(1, DOUBLE_INT, DOUBLE, double, WORD),
    PAIRED(0, LONG_INT, LONG, long, WORD),
    PAIRED(0, 2DOUBLE_PRECISION, DOUBLE, double, DOUBLE),
    PAIRED(0, LONG_DOUBLE_INT, EXTENDED, long double, WORD),
    PAIRED(1, SHORT_INT, SHORT, int, WORD),
    {.name = "two UINT32_T", .class = MAP, .first = true, .fields = {{0, WORD, 0}, {4, WORD, 0}}},
    {.name = "two UINT32_T behind a gap", .class = MAP, .fields = {{8, WORD, 0}, {12, WORD, 0}}},
};
const int num_basics = sizeof basics / sizeof basics[0];
const int basic_spaced = sizeof basics / sizeof basics[0] - 1;

static int firsts[sizeof basics / sizeof basics[0]];
int num_basic_kinds;

int basic_first(int kind)
{
    return firsts[kind];
}

/* Two words, and the same behind a gap. */
static void make_words(void)
{
    MPI_Datatype behind;

    MPI_Type_contiguous(2, MPI_UINT32_T, &basics[basic_spaced - 1].type);
    MPI_Type_commit(&basics[basic_spaced - 1].type);
    MPI_Type_create_indexed_block(1, 2, (int[]) {2}, MPI_UINT32_T, &behind);
    MPI_Type_create_resized(behind, 0, 16, &basics[basic_spaced].type);
    MPI_Type_commit(&basics[basic_spaced].type);
    MPI_Type_free(&behind);
}

/* Fortran kinds can be other than the table thinks: such a type is left out. */
static void measure(struct basic *b)
{
    MPI_Aint lb, extent, begin, data;
    int size, end = 0;

    MPI_Type_get_extent(b->type, &lb, &extent);
    MPI_Type_size(b->type, &size);
    MPI_Type_get_true_extent(b->type, &begin, &data);
    for (int k = 0; k < 2; k++) {
        struct field *f = &b->fields[k];

        f->bytes = INTEGER == f->format ? size : format_bytes[f->format];
        end = f->at + f->bytes > end ? f->at + f->bytes : end;
    }
    b->bytes = size > 0 && end <= extent ? (int) extent : 0;
    b->data = (int) (begin + data);
}

/* Some builds (Debian's) take REAL(16) for long double. */
static void settle_quad(struct basic *b)
{
#if defined(__SIZEOF_FLOAT128__)
    __float128 x = 1.5, y = 2.25;

    if (QUAD == b->fields[0].format && b->bytes > 0) {
        MPI_Reduce_local(&x, &y, 1, b->type, MPI_SUM);
        if (3.75 != y) {
            b->fields[0] = (struct field) {0, EXTENDED, EXTENDED_BYTES};
        }
    }
#else
    b->bytes = QUAD == b->fields[0].format ? 0 : b->bytes;
#endif
}

void basics_open(void)
{
    make_words();
    for (int k = 0; k < num_basics; k++) {
        struct basic *b = &basics[k];

        measure(b);
        settle_quad(b);
        /* 4.1.4 takes unsigned long for signed, all take MPI_OFFSET for unsigned */
        b->sign_unsure = MPI_UNSIGNED_LONG == b->type || MPI_OFFSET == b->type;
        if (b->first) {
            firsts[num_basic_kinds++] = k;
        }
    }
}

void basics_close(void)
{
    MPI_Type_free(&basics[basic_spaced - 1].type);
    MPI_Type_free(&basics[basic_spaced].type);
}

void field_store(const struct field *f, char *element, int64_t value)
{
    const double real = (double) value / UNIT;
    char *at = element + f->at;

    switch (f->format) {
    case SINGLE:
        memcpy(at, &(float) {(float) real}, sizeof(float));
        break;
    case DOUBLE:
        memcpy(at, &real, sizeof(double));
        break;
    case EXTENDED:
        memcpy(at, &(long double) {real}, EXTENDED_BYTES);
        break;
    case QUAD:
#if defined(__SIZEOF_FLOAT128__)
        memcpy(at, &(__float128) {real}, sizeof(__float128));
#endif
        break;
    default:
        memcpy(at, &value, (size_t) f->bytes); /* little endian */
        break;
    }
}
