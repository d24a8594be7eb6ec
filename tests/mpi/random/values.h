/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values in a form of their own: what an input's element is follows from a hash, what a result's
 * element is from the same hashes. Sums and products are exact, and those of integers wrap: Open
 * MPI 4.1.4's op/avx, which saturates small ones, must not do them.
 */
#ifndef RANDOM_VALUES_H
#define RANDOM_VALUES_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "basics.h"

struct value {
    int64_t a, b; /* b: index of a pair, imaginary part, second word of the affine map; reals in
                     units */
};

struct operation {
    const char *name;
    MPI_Op op; /* set by values_open, but for user-defined ones */
};

extern struct operation operations[];
extern const int num_operations;

#define OP_NONE 0 /* row: data are moved only */

/* After MPI_Init, with the types. */
void values_open(void);
void values_close(void);

/* The operation; a user-defined one is a new one. */
MPI_Op value_op(int op);

/* The type, the first of its kind, or by the key another one that takes the operation. */
int basic_variant(int basic, int op, uint64_t key);

/* Does MPI allow this operation on the type, and does this Open MPI carry it out? */
bool value_goes(int basic, int op);
bool op_is_users(int op);

/*
 * An input's element, from any 64 bits; with `signs` among them values that Open MPI itself orders
 * with the wrong sign.
 */
struct value value_make(int basic, int op, uint64_t bits, bool signs);

/* x op y, x being of the lower rank. */
struct value value_combine(int basic, int op, struct value x, struct value y);

/* Writes one element. */
void value_store(int basic, char *at, struct value v);

#endif
