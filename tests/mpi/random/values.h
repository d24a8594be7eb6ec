/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values in a form of their own: what an input's element is follows from a hash, what a result's
 * element is from the same hashes. Sums and products are exact in every type, and do not overflow.
 */
#ifndef RANDOM_VALUES_H
#define RANDOM_VALUES_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct value {
    int64_t a, b; /* b: index of a pair, imaginary part, second word of the affine map */
};

struct basic {
    const char *name;
    MPI_Datatype type; /* set by values_open */
    int bytes;         /* extent */
    int gap_at, gap;   /* padding: nobody cares for what is in it */
};

struct operation {
    const char *name;
    MPI_Op op; /* set by values_open, but for user-defined ones */
};

extern struct basic basics[];
extern struct operation operations[];
extern const int num_basics, num_operations;

#define OP_NONE 0 /* row: data are moved only */

/* After MPI_Init: makes the user-defined types. */
void values_open(void);
void values_close(void);

/* The operation; a user-defined one is a new one. */
MPI_Op value_op(int op);

/* The type, or by the key another one with the same operations. */
int basic_variant(int basic, uint64_t key);

bool value_goes(int basic, int op);
bool op_is_users(int op);

/* An input's element, from any 64 bits. */
struct value value_make(int basic, int op, uint64_t bits);

/* x op y, x being of the lower rank. */
struct value value_combine(int op, struct value x, struct value y);

/* Writes one element. */
void value_store(int basic, char *at, struct value v);

#endif
