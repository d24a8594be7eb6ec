/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The datatypes of others.h: layouts of a few elements of a base type, and operations with their
 * types.
 */
#include <stdlib.h>

#include "others.h"

/* ---- layouts ---- */

/* All sizes below are in elements of the base, which has this many bytes. */
static MPI_Aint bytes_of(MPI_Datatype base)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(base, &lb, &extent);
    return extent;
}

static MPI_Datatype resized(MPI_Datatype t, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype r;

    MPI_Type_create_resized(t, lb, extent, &r);
    MPI_Type_free(&t);
    return r;
}

static MPI_Datatype make_contiguous(MPI_Datatype base)
{
    MPI_Datatype t;

    MPI_Type_contiguous(3, base, &t);
    return t;
}

static MPI_Datatype make_vector(MPI_Datatype base)
{
    MPI_Datatype t;

    MPI_Type_vector(3, 2, 3, base, &t);
    return t;
}

/* Gaps on both sides, the lower bound before the address. */
static MPI_Datatype make_resized(MPI_Datatype base)
{
    MPI_Datatype t;

    MPI_Type_indexed(2, (int[]) {2, 1}, (int[]) {3, 7}, base, &t);
    return resized(t, -2 * bytes_of(base), 12 * bytes_of(base));
}

/* All data before the address. */
static MPI_Datatype make_negative(MPI_Datatype base)
{
    MPI_Datatype t;

    MPI_Type_indexed(2, (int[]) {1, 2}, (int[]) {-7, -2}, base, &t);
    return t;
}

/* No gaps, but the data run backwards in memory. */
static MPI_Datatype make_backwards(MPI_Datatype base)
{
    MPI_Datatype t;

    MPI_Type_create_indexed_block(3, 1, (int[]) {2, 1, 0}, base, &t);
    return t;
}

/* Reaches over its extent: elements lie in each other's gaps, and fill them. */
static MPI_Datatype make_interleaved(MPI_Datatype base)
{
    MPI_Datatype t;

    MPI_Type_vector(3, 1, 4, base, &t);
    return resized(t, 0, 3 * bytes_of(base));
}

/* One run of data, which does not begin at the address, and a gap after it. */
static MPI_Datatype make_padded(MPI_Datatype base)
{
    MPI_Datatype t;

    MPI_Type_indexed(1, (int[]) {2}, (int[]) {1}, base, &t);
    return resized(t, 0, 4 * bytes_of(base));
}

static const struct {
    int elements;
    MPI_Datatype (*make)(MPI_Datatype base); /* NULL: the base itself */
} layouts[NUM_LAYOUTS] = {
    /* the first LAYOUTS_OF_3 have three elements */
    {3, make_contiguous},  {3, make_resized}, {3, make_negative}, {3, make_backwards},
    {3, make_interleaved}, {1, NULL},         {6, make_vector},   {2, make_padded},
};

const char *const others_layout_names[NUM_LAYOUTS] = {
    "contiguous", "resized", "negative", "backwards", "interleaved", "plain", "vector", "padded"};

int others_elements(int layout)
{
    return layouts[layout].elements;
}

MPI_Datatype others_type(int base, int layout)
{
    const MPI_Datatype bases[NUM_BASES] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    MPI_Datatype t = bases[base];

    if (NULL != layouts[layout].make) {
        t = layouts[layout].make(bases[base]);
        MPI_Type_commit(&t);
    }
    return t;
}

MPI_Datatype others_type_at(MPI_Datatype type, int count, MPI_Aint address, bool as_struct)
{
    MPI_Datatype t;

    if (as_struct) {
        MPI_Type_create_struct(1, &count, &address, &type, &t);
    } else {
        MPI_Type_create_hindexed(1, &count, &address, type, &t);
    }
    MPI_Type_commit(&t);
    others_type_drop(type);
    return t;
}

void others_type_drop(MPI_Datatype type)
{
    int integers, addresses, types, combiner;

    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (MPI_COMBINER_NAMED != combiner) {
        MPI_Type_free(&type);
    }
}

/* ---- operations ---- */

#define SPACED_AT 8
#define SPACED_EXTENT 24

/* The same as kind_compose, on elements with gaps around the value. */
static void compose_spaced(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int one = 1;

    for (int i = 0; i < *len; i++) {
        kind_compose((char *) in + i * SPACED_EXTENT + SPACED_AT,
                     (char *) inout + i * SPACED_EXTENT + SPACED_AT, &one, type);
    }
}

static MPI_Datatype make_spaced(void)
{
    MPI_Datatype t;

    MPI_Type_create_hindexed(1, (int[]) {1}, (MPI_Aint[]) {SPACED_AT}, MPI_UINT64_T, &t);
    t = resized(t, 0, SPACED_EXTENT);
    MPI_Type_commit(&t);
    return t;
}

static const struct {
    enum kind_id kind; /* of the values */
    bool spaced;
} ops[NUM_OPS] = {{KIND_UINT8, false}, {KIND_UINT32, false},  {KIND_FLOAT, false},
                  {KIND_INT64, false}, {KIND_COMPOSE, false}, {KIND_COMPOSE, true}};

MPI_Datatype others_op_type(int op)
{
    return ops[op].spaced ? make_spaced() : kinds[ops[op].kind].type;
}

MPI_Op others_op_make(int op)
{
    const struct kind *k = &kinds[ops[op].kind];
    MPI_Op handle = k->op;

    if (NULL != k->function) {
        MPI_Op_create(ops[op].spaced ? compose_spaced : k->function, k->commutes, &handle);
    }
    return handle;
}

void others_op_drop(int op, MPI_Op *handle)
{
    if (NULL != kinds[ops[op].kind].function) {
        MPI_Op_free(handle);
    }
    *handle = MPI_OP_NULL;
}

void others_op_put(int op, char *element, uint64_t bits)
{
    kinds[ops[op].kind].put(element + (ops[op].spaced ? SPACED_AT : 0), bits);
}
