/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a collective moves: how many elements each rank puts in and gets out for a size S, where its
 * input lies, whose data must be in its output, and the buffers for both. Fills the inputs and
 * counts wrong outputs. No MPI.
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
    MOVES_IN_BLOCK = 2,     /* the input is one block */
    MOVES_OUT_BLOCK = 4,    /* the output is one block */
    MOVES_REDUCED = 8,      /* combines elements: -O matters */
    MOVES_FROM_ROOT = 16,   /* only the root has an input */
    MOVES_TO_ROOT = 32,     /* only the root has an output */
    MOVES_IN_PLACE = 64,    /* has an MPI_IN_PLACE form; with a root: at the root only */
    MOVES_ONE_BUFFER = 128, /* is always in place, without MPI_IN_PLACE */
    MOVES_NO_RECEIVE = 256, /* MPI_IN_PLACE stands for the receive buffer, not the send buffer */
    MOVES_NOTHING = 512     /* has no buffers: S is 0 */
};

/* Whose inputs an output has. */
enum moves_from {
    FROM_ALL,         /* the reduction of all ranks' */
    FROM_UP_TO_MINE,  /* the reduction of the ranks' up to this one */
    FROM_BEFORE_MINE, /* the reduction of the ranks' before this one */
    FROM_EACH,        /* one rank's after the other */
    FROM_ROOT,        /* the root's */
    FROM_LEFT         /* the rank's before this one */
};

/* Which part of an input, or of a reduction. */
enum moves_part {
    WHOLE,
    BLOCK,   /* all of it is one block */
    MY_BLOCK /* the block of this rank's number */
};

struct moves {
    unsigned flags;
    enum moves_from from;
    enum moves_part part;
};

/* One collective, of one size, on one rank; counts are of elements. */
struct shape {
    const struct moves *moves;
    int ranks;
    int rank;
    int root;
    size_t element;   /* bytes of one */
    size_t total;     /* S */
    size_t block;     /* the count of an MPI call: S, or S / ranks where divided */
    size_t in_count;  /* 0: this rank has no input */
    size_t out_count; /* 0: this rank has no output */
    bool shared;      /* input and output are one buffer, buffers.recv */
    size_t in_at;     /* shared: where in recv the input begins */
};

struct buffers {
    const struct memory *memory;
    char *send; /* NULL: not needed */
    char *recv;
    char *tile;   /* one period of the pattern */
    char *bounce; /* as long, for memory.view */
};

/*
 * The shape whose S is at most bytes, but at least one element (per rank where divided); 0 of what
 * moves nothing.
 */
struct shape moves_shape(const struct moves *moves, size_t bytes, size_t element, int ranks,
                         int rank, int root, bool in_place);

/* What moves_alloc takes for messages. */
size_t moves_bytes(const struct shape *shape);

/*
 * Buffers for shape and every smaller one. Returns 0, or -1 when memory is short; moves_release is
 * due in both cases.
 */
int moves_alloc(struct buffers *buffers, const struct memory *memory, const struct shape *shape);
void moves_release(struct buffers *buffers);

/* Poisons the output and writes the input by rule. */
void moves_prepare(const struct buffers *buffers, const struct shape *shape,
                   const struct element_rule *rule);

/* From how many ranks' inputs, or reductions, the output comes; 0: it is not checked. */
int moves_segments(const struct shape *shape);

/*
 * The number of elements that differ from the rule: of the output, of a separate input, which must
 * not be written, and of a few bytes behind the output.
 */
size_t moves_check(const struct buffers *buffers, const struct shape *shape,
                   const struct element_rule *rule);

/* Makes the first element of the output wrong: for tests of moves_check. */
void moves_corrupt(const struct buffers *buffers, const struct shape *shape);

extern const struct moves moves_allreduce, moves_allgather, moves_reduce_scatter, moves_bcast,
    moves_reduce, moves_gather, moves_scatter, moves_alltoall, moves_scan, moves_exscan,
    moves_sendrecv, moves_barrier;

#endif
