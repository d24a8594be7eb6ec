/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns what a collective moves: how many elements each rank puts in and gets out for a size S,
 * where its input lies, whose data must be in its output, and the buffers that hold both. Fills the
 * inputs and counts wrong outputs. No MPI in here.
 */
#ifndef BENCH_MOVES_H
#define BENCH_MOVES_H

#include "elements.h"
#include "memory.h"

#include <stdbool.h>
#include <stddef.h>

/* Bits of struct moves.flags. */
enum {
    MOVES_DIVIDED = 1,      /* S consists of one block per rank */
    MOVES_IN_BLOCK = 2,     /* ... and the input is one of them */
    MOVES_OUT_BLOCK = 4,    /* ... and the output is one of them */
    MOVES_REDUCED = 8,      /* combines elements: -O matters */
    MOVES_FROM_ROOT = 16,   /* only the root has an input */
    MOVES_TO_ROOT = 32,     /* only the root has an output */
    MOVES_IN_PLACE = 64,    /* has an MPI_IN_PLACE form; with a root, there only */
    MOVES_ONE_BUFFER = 128, /* has no other form, and does not say so */
    MOVES_NO_RECEIVE = 256  /* in place, the buffer that is left out is not the one to send from */
};

struct shape;

/* A run of the output: elements from.. of the input of rank source, or of the reduction of some. */
struct segment {
    int source; /* MOVES_FIRST(n): the reduction of the first n ranks' inputs */
    size_t from;
    size_t count;
};

#define MOVES_FIRST(n) (-(n))

struct moves {
    unsigned flags;
    /* how many make up the output; 0: of it nothing is known */
    int (*segments)(const struct shape *shape);
    void (*segment)(const struct shape *shape, int index, struct segment *segment);
};

/* One collective, of one size, on one rank; counts are of elements. */
struct shape {
    const struct moves *moves;
    int ranks;
    int rank;
    int root;
    size_t element;   /* bytes of one */
    size_t total;     /* S */
    size_t block;     /* what MPI is told: S, or S / ranks where divided */
    size_t in_count;  /* 0 where this rank has no input */
    size_t out_count; /* 0 where it has no output */
    bool shared;      /* input and output are one buffer, buffers.recv */
    size_t in_at;     /* where in that buffer the input begins */
};

struct buffers {
    const struct memory *memory;
    char *send; /* NULL where no size needs it */
    char *recv;
    char *tile; /* one period of the pattern */
    char *bounce;
};

/* The shape whose S is at most bytes, but at least one element (per rank where divided). */
struct shape moves_shape(const struct moves *moves, size_t bytes, size_t element, int ranks,
                         int rank, int root, bool in_place);

/* Buffers for shape and every smaller one. Returns 0, or -1 when memory is short; moves_release is
 * due in both cases. */
int moves_alloc(struct buffers *buffers, const struct memory *memory, const struct shape *shape);
void moves_release(struct buffers *buffers);

/* Poisons the output and writes the input by rule. */
void moves_prepare(const struct buffers *buffers, const struct shape *shape,
                   const struct element_rule *rule);

/* How many elements are not what rule demands: of the output, of a separate input (which nobody may
 * write), and of the few bytes behind the output. */
size_t moves_check(const struct buffers *buffers, const struct shape *shape,
                   const struct element_rule *rule);

/* Makes the first element of the output wrong: for tests of moves_check. */
void moves_corrupt(const struct buffers *buffers, const struct shape *shape);

/* What the table of collectives is made of. */
extern const struct moves moves_allreduce, moves_allgather, moves_reduce_scatter, moves_bcast,
    moves_reduce, moves_gather, moves_scatter, moves_alltoall, moves_scan, moves_exscan,
    moves_sendrecv;

#endif
