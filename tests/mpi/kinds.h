/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of data: a type with an operation, and elements for them whose result does not depend on
 * the order of reduction, unless the operation does. An element is a function of (salt, rank,
 * number), so every rank knows every result without asking anybody.
 */
#ifndef TEST_KINDS_H
#define TEST_KINDS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kind_id {
    KIND_UINT8,   /* exclusive or: sizes to the byte */
    KIND_UINT32,  /* sums that wrap */
    KIND_FLOAT,   /* sums of small integers: exact */
    KIND_INT64,   /* minimum */
    KIND_GAPS,    /* a derived type with gaps; only moved */
    KIND_MODULO,  /* a user-defined operation */
    KIND_COMPOSE, /* one that is not commutative */
    NUM_KINDS
};

struct kind {
    const char *name;
    int extent; /* bytes from one element to the next */
    bool reduces, moves;
    MPI_User_function *function; /* of a user-defined operation, else NULL */
    int commutes;
    void (*put)(char *at, uint64_t bits);
    MPI_Datatype type; /* these two are set by kinds_open, those of KIND_UINT32 before */
    MPI_Op op;
};

extern struct kind kinds[NUM_KINDS];

/* Makes the derived types and operations. Between MPI_Init and MPI_Finalize. */
void kinds_open(void);
void kinds_close(void);

/* Elements first ... first + n - 1 of this rank; bytes in gaps stay as they are. */
void kind_fill(const struct kind *k, char *to, int first, int n, uint64_t salt, int rank);

/* The same elements, reduced over ranks 0 ... ranks - 1 in rank order. */
void kind_reduce(const struct kind *k, char *to, int first, int n, uint64_t salt, int ranks);

#endif
