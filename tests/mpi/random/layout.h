/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The send or receive side of a call on one rank: a datatype, the offsets of its blocks, and
 * guarded memory.
 */
#ifndef RANDOM_LAYOUT_H
#define RANDOM_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "guard.h"
#include "values.h"

#define LAYOUT_UNIT 12 /* divisible by the elements of every derived datatype */

/* A datatype: `per` elements of a basic type at offsets. */
struct layout {
    MPI_Datatype type;
    bool derived;          /* the program's own: to be freed */
    int per;               /* elements, a divisor of LAYOUT_UNIT */
    long extent;           /* bytes */
    long off[LAYOUT_UNIT]; /* bytes */
};

/* A block's own memory: bytes low ... of the side's mem.data. */
struct part {
    struct guarded mem;
    long low;
};

/* Blocks of a call. MPI gets at, and the first or the whole of counts, displs and types. */
struct side {
    int n; /* blocks; 0: there is no such side */
    int basic;
    bool apart; /* each block has a datatype of its own, and displacements in bytes (alltoallw) */
    struct layout *layouts; /* one, or of each block */
    int *elements;          /* of each block */
    int *counts;            /* instances of the datatype */
    int *displs;            /* in extents or bytes */
    MPI_Aint *offsets;      /* the same */
    MPI_Datatype *types;
    struct guarded mem;
    long origin;        /* bytes of mem.data in front of what MPI gets */
    char *at;           /* what MPI gets */
    struct part *parts; /* NULL, or of each block memory of its own, and mem is a picture of it */
    MPI_Aint *zeros;    /* the displacements of these */
};

enum placement {
    PLACE_DENSE,  /* one behind the other */
    PLACE_ANYHOW, /* any order, with gaps: for the v-forms */
    PLACE_APART   /* the same in bytes, with a datatype for each block */
};

/*
 * n blocks of elements[] elements; layouts, places and, with DEVMEM_MIXED, the kind of memory are
 * drawn from *rng, the rank's own. With `derived` all elements[] must be multiples of LAYOUT_UNIT.
 * Owned by the side: all of it.
 */
void side_make(struct side *s, int n, const int *elements, int basic, bool derived,
               enum placement placement, enum devmem_kind memory, uint64_t *rng);

/*
 * Frees the datatypes, which MPI allows as soon as a call is started; they are not to be named any
 * more.
 */
void side_forget_types(struct side *s);
void side_free(struct side *s);

/* Copies mem to where MPI finds it, or back. */
void side_put(const struct side *s);
void side_get(const struct side *s);

/* Whether nothing beside the memory was written to. */
bool side_intact(const struct side *s);

/* Where in mem.data this element of this block lies. */
long side_place(const struct side *s, int block, long element);

#endif
