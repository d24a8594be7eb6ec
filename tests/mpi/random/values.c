/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of types and operations, and their arithmetic. */
#include "values.h"

#include <string.h>

enum class { WHOLE, NATURAL, REAL, COMPLEX, TRUTH, BITS, PAIR, MAP };

enum op {
    SUM = OP_NONE + 1,
    PROD,
    MAX,
    MIN,
    BAND,
    BOR,
    BXOR,
    LAND,
    LOR,
    LXOR,
    MINLOC,
    MAXLOC,
    JOIN,
    COMPOSE
};

enum {
    B_INT8,
    B_UINT8,
    B_INT16,
    B_UINT16,
    B_INT,
    B_UINT32,
    B_LONG,
    B_UINT64,
    B_FLOAT,
    B_DOUBLE,
    B_COMPLEX,
    B_BOOL,
    B_BYTE,
    B_2INT,
    B_FLOAT_INT,
    B_DOUBLE_INT,
    B_SHORT_INT,
    B_MAP,
    B_SPACED, /* the same, never drawn but in its place */
    NUM_BASICS
};

struct float_int {
    float a;
    int b;
};

struct basic basics[NUM_BASICS] = {
    [B_INT8] = {.name = "INT8_T", .bytes = 1},
    [B_UINT8] = {.name = "UINT8_T", .bytes = 1},
    [B_INT16] = {.name = "INT16_T", .bytes = 2},
    [B_UINT16] = {.name = "UINT16_T", .bytes = 2},
    [B_INT] = {.name = "INT", .bytes = 4},
    [B_UINT32] = {.name = "UINT32_T", .bytes = 4},
    [B_LONG] = {.name = "LONG", .bytes = 8},
    [B_UINT64] = {.name = "UINT64_T", .bytes = 8},
    [B_FLOAT] = {.name = "FLOAT", .bytes = 4},
    [B_DOUBLE] = {.name = "DOUBLE", .bytes = 8},
    [B_COMPLEX] = {.name = "C_FLOAT_COMPLEX", .bytes = 8},
    [B_BOOL] = {.name = "C_BOOL", .bytes = 1},
    [B_BYTE] = {.name = "BYTE", .bytes = 1},
    [B_2INT] = {.name = "2INT", .bytes = 8},
    [B_FLOAT_INT] = {.name = "FLOAT_INT", .bytes = 8},
    [B_DOUBLE_INT] = {.name = "DOUBLE_INT", .bytes = 16, .gap_at = 12, .gap = 4},
    [B_SHORT_INT] = {.name = "SHORT_INT", .bytes = 8, .gap_at = 2, .gap = 2},
    [B_MAP] = {.name = "two UINT32_T", .bytes = 8},
    [B_SPACED] = {.name = "two UINT32_T behind a gap", .bytes = 16, .gap_at = 0, .gap = 8},
};
const int num_basics = B_SPACED;

struct operation operations[] = {
    {.name = "no operation"},
    {.name = "SUM"},
    {.name = "PROD"},
    {.name = "MAX"},
    {.name = "MIN"},
    {.name = "BAND"},
    {.name = "BOR"},
    {.name = "BXOR"},
    {.name = "LAND"},
    {.name = "LOR"},
    {.name = "LXOR"},
    {.name = "MINLOC"},
    {.name = "MAXLOC"},
    {.name = "a user's, commuting"},
    {.name = "a user's, in rank order"},
};
const int num_operations = sizeof operations / sizeof operations[0];

/* x + y + x y, of 32 bits */
static void join(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const uint32_t *x = in;
    uint32_t *y = inout;

    (void) type;
    for (int k = 0; k < *len; k++) {
        y[k] = x[k] + y[k] + x[k] * y[k];
    }
}

/* Affine maps: first x, then y. */
static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const bool spaced = *type == basics[B_SPACED].type;

    for (int k = 0; k < *len; k++) {
        const uint32_t *x = (const uint32_t *) in + (spaced ? 4 * k + 2 : 2 * k);
        uint32_t *y = (uint32_t *) inout + (spaced ? 4 * k + 2 : 2 * k);

        y[1] = y[0] * x[1] + y[1];
        y[0] = y[0] * x[0];
    }
}

void values_open(void)
{
    const MPI_Datatype types[] = {
        MPI_INT8_T,          MPI_UINT8_T,  MPI_INT16_T,  MPI_UINT16_T, MPI_INT,
        MPI_UINT32_T,        MPI_LONG,     MPI_UINT64_T, MPI_FLOAT,    MPI_DOUBLE,
        MPI_C_FLOAT_COMPLEX, MPI_C_BOOL,   MPI_BYTE,     MPI_2INT,     MPI_FLOAT_INT,
        MPI_DOUBLE_INT,      MPI_SHORT_INT};
    MPI_Datatype behind;
    const MPI_Op ops[] = {MPI_OP_NULL, MPI_SUM,  MPI_PROD, MPI_MAX,  MPI_MIN,    MPI_BAND,  MPI_BOR,
                          MPI_BXOR,    MPI_LAND, MPI_LOR,  MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};

    for (int k = 0; k < B_MAP; k++) {
        basics[k].type = types[k];
    }
    for (int k = 0; k < JOIN; k++) {
        operations[k].op = ops[k];
    }
    MPI_Type_contiguous(2, MPI_UINT32_T, &basics[B_MAP].type);
    MPI_Type_commit(&basics[B_MAP].type);
    MPI_Type_create_indexed_block(1, 2, (int[]) {2}, MPI_UINT32_T, &behind);
    MPI_Type_create_resized(behind, 0, 16, &basics[B_SPACED].type);
    MPI_Type_commit(&basics[B_SPACED].type);
    MPI_Type_free(&behind);
}

MPI_Op value_op(int op)
{
    MPI_Op own = operations[op].op;

    if (op_is_users(op)) {
        MPI_Op_create(JOIN == op ? join : compose, JOIN == op, &own);
    }
    return own;
}

int basic_variant(int basic, uint64_t key)
{
    return B_MAP == basic && 0 != (key >> 21 & 1) ? B_SPACED : basic;
}

void values_close(void)
{
    MPI_Type_free(&basics[B_MAP].type);
    MPI_Type_free(&basics[B_SPACED].type);
}

bool op_is_users(int op)
{
    return op >= JOIN;
}

static enum class class_of(int basic) {
    static const enum class classes[] = {WHOLE, NATURAL, WHOLE, NATURAL, WHOLE, NATURAL, WHOLE,
                                         NATURAL, REAL, REAL, COMPLEX, TRUTH, BITS, PAIR, PAIR,
                                         PAIR, PAIR, MAP, MAP};

    return classes[basic];
}

bool value_goes(int basic, int op)
{
    const enum class class = class_of(basic);
    const bool whole = WHOLE == class || NATURAL == class;

    switch (op) {
    case OP_NONE:
        return true;
    case SUM:
        return whole || REAL == class || COMPLEX == class;
    case PROD:
        return (whole && basics[basic].bytes > 1) || REAL == class;
    case MAX:
    case MIN:
        return whole || REAL == class;
    case BAND:
    case BOR:
    case BXOR:
        return whole || BITS == class;
    case LAND:
    case LOR:
    case LXOR:
        return whole || TRUTH == class;
    case MINLOC:
    case MAXLOC:
        return PAIR == class;
    case JOIN:
        return B_UINT32 == basic;
    default:
        return MAP == class;
    }
}

/* In [0, bound), for sums in [-bound/2, bound/2) where the type has a sign. */
static int64_t within(uint64_t bits, uint64_t bound, bool sign)
{
    int64_t v = (int64_t) ((bits >> 20) % bound);

    return sign ? v - (int64_t) (bound / 2) : v;
}

struct value value_make(int basic, int op, uint64_t bits)
{
    const enum class class = class_of(basic);
    const bool sign = WHOLE == class || REAL == class || COMPLEX == class;
    const int bytes = basics[basic].bytes;
    const uint64_t small = 1 == bytes   ? 30
                           : 2 == bytes ? 4000
                                        : 1 << 18; /* eight of them have room */
    struct value v = {(int64_t) bits, (int64_t) (bits >> 40)};

    switch (op) {
    case SUM:
        return (struct value) {within(bits, small, sign), within(bits >> 7, small, true)};
    case PROD:
        return (struct value) {(int64_t[]) {1, 2, 1, sign ? -1 : 1}[bits >> 62], 0};
    case LAND:
        return (struct value) {0 != (bits >> 33) % 8, 0};
    case LOR:
        return (struct value) {0 == (bits >> 33) % 8, 0};
    case LXOR:
        return (struct value) {(int64_t) (bits >> 63), 0};
    case MINLOC:
    case MAXLOC:
        return (struct value) {within(bits, 7, true), within(bits >> 9, 1000, false)};
    case MAX:
    case MIN:
        return (struct value) {within(bits, small, sign), 0};
    default:
        break;
    }
    if (REAL == class || COMPLEX == class || PAIR == class) {
        v = (struct value) {within(bits, 20000, true), within(bits >> 7, 20000, true)};
    } else if (TRUTH == class) {
        v.a = (int64_t) (bits >> 63);
    }
    return v;
}

static struct value better(struct value x, struct value y, bool greater)
{
    if (x.a == y.a) {
        return x.b < y.b ? x : y;
    }
    return (x.a > y.a) == greater ? x : y;
}

struct value value_combine(int op, struct value x, struct value y)
{
    switch (op) {
    case SUM:
        return (struct value) {x.a + y.a, x.b + y.b};
    case PROD:
        return (struct value) {x.a * y.a, 0};
    case MAX:
        return x.a > y.a ? x : y;
    case MIN:
        return x.a < y.a ? x : y;
    case BAND:
        return (struct value) {x.a & y.a, 0};
    case BOR:
        return (struct value) {x.a | y.a, 0};
    case BXOR:
        return (struct value) {x.a ^ y.a, 0};
    case LAND:
        return (struct value) {x.a && y.a, 0};
    case LOR:
        return (struct value) {x.a || y.a, 0};
    case LXOR:
        return (struct value) {!x.a != !y.a, 0};
    case MINLOC:
    case MAXLOC:
        return better(x, y, MAXLOC == op);
    case JOIN:
        return (struct value) {(uint32_t) x.a + (uint32_t) y.a + (uint32_t) x.a * (uint32_t) y.a,
                               0};
    default:
        return (struct value) {(uint32_t) y.a * (uint32_t) x.a,
                               (uint32_t) ((uint32_t) y.a * (uint32_t) x.b + (uint32_t) y.b)};
    }
}

void value_store(int basic, char *at, struct value v)
{
    switch (basic) {
    case B_FLOAT:
        memcpy(at, &(float) {(float) v.a}, 4);
        break;
    case B_DOUBLE:
        memcpy(at, &(double) {(double) v.a}, 8);
        break;
    case B_COMPLEX:
        memcpy(at, (float[]) {(float) v.a, (float) v.b}, 8);
        break;
    case B_2INT:
        memcpy(at, (int[]) {(int) v.a, (int) v.b}, 8);
        break;
    case B_FLOAT_INT:
        memcpy(at, &(struct float_int) {(float) v.a, (int) v.b}, 8);
        break;
    case B_MAP:
        memcpy(at, (uint32_t[]) {(uint32_t) v.a, (uint32_t) v.b}, 8);
        break;
    case B_SPACED:
        memcpy(at + 8, (uint32_t[]) {(uint32_t) v.a, (uint32_t) v.b}, 8);
        break;
    case B_DOUBLE_INT:
        memcpy(at, &(double) {(double) v.a}, 8);
        memcpy(at + 8, &(int) {(int) v.b}, 4);
        break;
    case B_SHORT_INT:
        memcpy(at, &(short) {(short) v.a}, 2);
        memcpy(at + 4, &(int) {(int) v.b}, 4);
        break;
    default:
        memcpy(at, &v.a, (size_t) basics[basic].bytes);
        break; /* little endian */
    }
}
