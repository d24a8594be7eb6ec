/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of operations, and their arithmetic. */
#include "values.h"

#include "rng.h"

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

#define NUM_OPS (COMPOSE + 1)
#define MAX_BASICS 128

struct operation operations[NUM_OPS] = {
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
const int num_operations = NUM_OPS;

static bool goes[MAX_BASICS][NUM_OPS];

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
    const bool spaced = *type == basics[basic_spaced].type;

    for (int k = 0; k < *len; k++) {
        const uint32_t *x = (const uint32_t *) in + (spaced ? 4 * k + 2 : 2 * k);
        uint32_t *y = (uint32_t *) inout + (spaced ? 4 * k + 2 : 2 * k);

        y[1] = y[0] * x[1] + y[1];
        y[0] = y[0] * x[0];
    }
}

/* What MPI allows. */
static bool is_legal(const struct basic *b, int op)
{
    const bool logical = WHOLE == b->class || NATURAL == b->class;
    const bool whole = logical || FOREIGN == b->class;

    switch (op) {
    case OP_NONE:
        return true;
    case SUM:
    case PROD:
        return whole || REAL == b->class || COMPLEX == b->class;
    case MAX:
    case MIN:
        return whole || REAL == b->class;
    case BAND:
    case BOR:
    case BXOR:
        return whole || BITS == b->class;
    case LAND:
    case LOR:
    case LXOR:
        return logical || TRUTH == b->class;
    case MINLOC:
    case MAXLOC:
        return PAIR == b->class;
    case JOIN:
        return NATURAL == b->class && sizeof(uint32_t) == b->bytes;
    default:
        return MAP == b->class;
    }
}

/* Whether this Open MPI carries it out. */
static bool is_done(const struct basic *b, int op)
{
    _Alignas(64) char x[64] = {0}, y[64] = {0};

    return OP_NONE == op || op_is_users(op) ||
           MPI_SUCCESS == MPI_Reduce_local(x, y, 1, b->type, operations[op].op);
}

void values_open(void)
{
    const MPI_Op ops[] = {MPI_OP_NULL, MPI_SUM,  MPI_PROD, MPI_MAX,  MPI_MIN,    MPI_BAND,  MPI_BOR,
                          MPI_BXOR,    MPI_LAND, MPI_LOR,  MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};
    /* Reduce_local has no communicator: its errors go to one of these */
    const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler before[2];

    for (int op = 0; op < JOIN; op++) {
        operations[op].op = ops[op];
    }
    for (int k = 0; k < 2; k++) {
        MPI_Comm_get_errhandler(comms[k], &before[k]);
        MPI_Comm_set_errhandler(comms[k], MPI_ERRORS_RETURN);
    }
    basics_open();
    for (int b = 0; b < num_basics && b < MAX_BASICS; b++) {
        for (int op = 0; op < NUM_OPS; op++) {
            goes[b][op] =
                basics[b].bytes > 0 && is_legal(&basics[b], op) && is_done(&basics[b], op);
        }
    }
    for (int k = 0; k < 2; k++) {
        MPI_Comm_set_errhandler(comms[k], before[k]);
        MPI_Errhandler_free(&before[k]);
    }
}

void values_close(void)
{
    basics_close();
}

bool value_goes(int basic, int op)
{
    return goes[basic][op];
}

bool op_is_users(int op)
{
    return op >= JOIN;
}

int basic_variant(int basic, int op, uint64_t key)
{
    int found[MAX_BASICS] = {basic}, n = 1;

    for (int k = basic + 1; k < num_basics && !basics[k].first; k++) {
        if (value_goes(k, op)) {
            found[n++] = k;
        }
    }
    return found[(key >> 21) % (uint64_t) n];
}

MPI_Op value_op(int op)
{
    MPI_Op own = operations[op].op;

    if (op_is_users(op)) {
        MPI_Op_create(JOIN == op ? join : compose, JOIN == op, &own);
    }
    return own;
}

/* ---- inputs ---- */

static bool is_whole(const struct basic *b)
{
    return REAL != b->class && COMPLEX != b->class && PAIR != b->class;
}

/* The last n bits, the first of which is a sign. */
static int64_t with_sign(uint64_t bits, int n)
{
    return (int64_t) (bits << (64 - n)) >> (64 - n);
}

/* What a whole number of the type keeps of these bits. */
static int64_t narrow(const struct basic *b, uint64_t bits)
{
    const int n = b->fields[0].bytes < 8 ? 8 * b->fields[0].bytes : 64;

    return WHOLE == b->class || FOREIGN == b->class ? with_sign(bits, n)
                                                    : (int64_t) (bits << (64 - n) >> (64 - n));
}

/* A number in a field that has any of them. */
static int64_t number(const struct field *f, int64_t n)
{
    return f->format >= SINGLE ? n * UNIT : n;
}

static struct value make_product(const struct basic *b, uint64_t bits)
{
    static const int64_t halves[] = {1, 2, -1, -2, 1, 4, 2, -4};

    /* products of 1 + 2i are never real or imaginary: there is no zero whose sign depends on the
     * order */
    return COMPLEX == b->class ? (struct value) {halves[bits >> 62] * (UNIT / 2),
                                                 halves[bits >> 62] * UNIT}
                               : (struct value) {halves[bits >> 61] * (UNIT / 2), 0};
}

/* 24 bits that count, or 18 of what is added up; of them 6 behind the point. */
static struct value make_real(int op, uint64_t bits)
{
    const int n = SUM == op ? 18 : 24;

    return (struct value) {with_sign(bits >> 20, n) * (UNIT >> 6),
                           with_sign(bits >> 40, n) * (UNIT >> 6)};
}

/* Any number of which an operation tells zero from the others. */
static int64_t make_truth(const struct basic *b, int op, uint64_t bits)
{
    const int zeros = LAND == op ? 1 : LOR == op ? 7 : 4; /* of 8 */

    return (int) (bits >> 33) % 8 < zeros ? 0 : TRUTH == b->class ? 1 : narrow(b, bits | 1);
}

struct value value_make(int basic, int op, uint64_t bits, bool signs)
{
    const struct basic *b = &basics[basic];
    const struct field *f = b->fields;
    struct value v = {narrow(b, bits), (int64_t) (bits >> 32)};

    switch (op) {
    case MINLOC:
    case MAXLOC: /* many are equal: the index decides */
        return (struct value) {number(&f[0], (int64_t) (bits >> 33) % 7 - 3),
                               number(&f[1], (int64_t) (bits >> 9) % 1000)};
    case LAND:
    case LOR:
    case LXOR:
        return (struct value) {make_truth(b, op, bits), 0};
    case MAX:
    case MIN:
        v.a = b->sign_unsure && !signs ? v.a & INT64_MAX : v.a;
        break;
    case PROD:
        v.a = narrow(b, 0 != bits >> 62 ? bits | 1 : bits); /* few zeros come out */
        break;
    default:
        break;
    }
    if (REAL == b->class || COMPLEX == b->class) {
        return PROD == op ? make_product(b, bits) : make_real(op, bits);
    }
    if (TRUTH == b->class) {
        v.a = make_truth(b, op, bits);
    } else if (PAIR == b->class && f[0].format >= SINGLE) {
        v.a = make_real(op, bits).a;
    }
    return v;
}

/* ---- results ---- */

static struct value better(struct value x, struct value y, bool greater)
{
    if (x.a == y.a) {
        return x.b < y.b ? x : y;
    }
    return (x.a > y.a) == greater ? x : y;
}

static struct value sum(const struct basic *b, struct value x, struct value y)
{
    if (is_whole(b)) {
        return (struct value) {narrow(b, (uint64_t) x.a + (uint64_t) y.a), 0};
    }
    return (struct value) {x.a + y.a, x.b + y.b};
}

static struct value product(const struct basic *b, struct value x, struct value y)
{
    if (is_whole(b)) {
        return (struct value) {narrow(b, (uint64_t) x.a * (uint64_t) y.a), 0};
    }
    return (struct value) {(x.a * y.a - x.b * y.b) / UNIT, (x.a * y.b + x.b * y.a) / UNIT};
}

static bool is_greater(const struct basic *b, struct value x, struct value y)
{
    return NATURAL == b->class ? (uint64_t) x.a > (uint64_t) y.a : x.a > y.a;
}

struct value value_combine(int basic, int op, struct value x, struct value y)
{
    const struct basic *b = &basics[basic];

    switch (op) {
    case SUM:
        return sum(b, x, y);
    case PROD:
        return product(b, x, y);
    case MAX:
    case MIN:
        return is_greater(b, x, y) == (MAX == op) ? x : y;
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
    const struct field *f = basics[basic].fields;

    field_store(&f[0], at, v.a);
    if (NO_FIELD != f[1].format) {
        field_store(&f[1], at, v.b);
    }
}
