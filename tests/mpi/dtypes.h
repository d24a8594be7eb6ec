/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined datatypes and operations, which of them MPI lets go together, and inputs for them
 * whose results do not depend on the order of reduction: exact sums and products for floating
 * point, any bits for integers (they wrap). So results can be compared bit by bit, padding left
 * out.
 */
#ifndef TEST_DTYPES_H
#define TEST_DTYPES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype_class {
    CLASS_C_INTEGER,
    CLASS_FORTRAN_INTEGER,
    CLASS_MULTI_LANGUAGE, /* MPI_AINT and the like */
    CLASS_FLOATING,
    CLASS_COMPLEX,
    CLASS_LOGICAL,
    CLASS_BYTE,
    CLASS_PAIR, /* value and index */
    CLASS_MOVED /* no operations */
};

enum dtype_base { BASE_BITS, BASE_FLOAT, BASE_DOUBLE, BASE_LONG_DOUBLE, BASE_QUAD, BASE_TRUTH };

struct dtype_field {
    int offset;
    int bytes; /* significant ones; 0: as many as the type has */
    enum dtype_base base;
};

struct dtype {
    const char *name;
    MPI_Datatype type;
    enum dtype_class class;
    int num_fields;
    struct dtype_field fields[2];
    /* set by dtypes_init: Open MPI orders it with the wrong sign in some versions */
    bool sign_unsure;
    int extent; /* set by dtypes_init; 0: this Open MPI does not have the type */
};

struct dtype_op {
    const char *name;
    MPI_Op op;
};

extern struct dtype dtypes[];
extern const int num_dtypes;
extern const struct dtype_op dtype_ops[]; /* row 0: no operation, data are only moved */
extern const int num_dtype_ops;

#define DTYPE_OP_SUM 3 /* its row */

/* Fills in the extents. */
void dtypes_init(void);

/*
 * Does MPI allow this operation on the type, and does this Open MPI carry it out? Row 0 goes with
 * all.
 */
bool dtype_takes(const struct dtype *t, int op);

/* Writes count elements that suit the operation; the same key gives the same elements. */
void dtype_fill(const struct dtype *t, int op, void *buf, size_t count, uint64_t key);

/* Index of the first element that differs, or -1. */
long dtype_differs(const struct dtype *t, const void *a, const void *b, size_t count);

#endif
