/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The split: where a chunk lies. The only file that divides counts.
 *
 * Data are elements. Each block (GR_BLOCKS: one per rank; GR_PIPE: the whole vector) is cut into
 * equal cells, the last ones shorter or empty:
 *
 *      block b     | channel 0               | channel 1               | ...
 *                  | slice 0    | slice 1    | slice 0    | slice 1    |
 *      GR_PIPE     | c0 c1 c2   |            | c0 c1 c2   |            |        chunks in a slice
 *
 * A channel owns one range of EVERY block, so the layout of the caller's buffers holds for any
 * number of channels. A slice is one run of the schedule. A chunk of a slice of a channel is one
 * cell; it has chunk_elems elements at most, so a message of one chunk fits a slot.
 *
 * Chunks of zero elements are skipped alike at both ends of a link: a chunk's size depends only on
 * what is equal on all ranks.
 */
#ifndef GR_SCHED_SPLIT_H
#define GR_SCHED_SPLIT_H

#include "sched/types.h"

/* A range of elements. */
struct gr_range {
    size_t offset; /* of its first element */
    size_t count;  /* number of elements */
};

/* Where the cells of a block lie: cell number n is at begin + n * cell, up to begin + count. */
struct gr_cells {
    size_t begin; /* of the block, in a space that has all blocks */
    size_t count; /* elements of the block */
    size_t cell;  /* elements of a cell; the last ones are shorter or empty */
};

/* Which blocks the caller's buffer of a space holds. */
enum gr_holds {
    GR_HOLDS_ALL, /* all blocks, each at its displacement */
    GR_HOLDS_OWN  /* my own block only, at 0 (allgather's input, reduce_scatter's output) */
};

struct gr_split {
    /*
     * What the caller says of the data; zero counts and counts below p are fine. Fill in all of it
     * again before each gr_split_init(): it changes align, for an allreduce in blocks also block,
     * and clears counts and displs there.
     */
    enum gr_coll coll;     /* the collective */
    enum gr_layout layout; /* gr_algo_layout() */
    int p;                 /* ranks; GR_BLOCKS: blocks */
    size_t total;          /* elements of the vector (allreduce, bcast, reduce) */
    /*
     * elements per rank (allgather, reduce_scatter_block) where counts is NULL: block b begins at
     * b * block. gr_split_init() sets it for an allreduce in blocks
     */
    size_t block;
    const size_t *counts; /* per rank (allgatherv, reduce_scatter), or NULL. Not owned */
    /* first element per rank in GR_HOLDS_ALL; NULL: one after the other. Not owned */
    const size_t *displs;
    uint32_t nchannels; /* shares of each block, one per channel; >= 1 */
    size_t chunk_elems; /* most elements of a chunk, >= 1 */
    /*
     * cells begin at multiples of this many elements from their block's start; >= 1, and dropped to
     * 1 where it is above chunk_elems
     */
    size_t align;
    /* GR_PIPE: most chunks of a slice (gr_algo_slice_chunks()); 0: all chunks are in one slice */
    uint32_t slice_chunks;

    /* what gr_split_init() makes of it */
    size_t last_end;        /* counts NULL: the vector's end, where blocks are cut off */
    enum gr_holds holds[3]; /* by enum gr_space */
    uint32_t nslices;       /* slices of a channel's share */
    uint32_t nchunks;       /* GR_PIPE: chunks of a slice. GR_BLOCKS: 1 */
    size_t cell;            /* elements of a cell where counts is NULL */
};

/*
 * Make the split of what the caller has filled in. Arrays are referred to, not copied. The split's
 * nchunks belongs into gr_sched.nchunks. With counts but no displs, displacements are found by
 * summing: O(rank) per look-up.
 */
void gr_split_init(struct gr_split *split);

/*
 * Where chunk number `chunk` of (channel, slice) lies in the space. With GR_BLOCKS and
 * GR_HOLDS_OWN, the offset is from the beginning of the chunk's block: the buffer has no other one.
 */
struct gr_range gr_split_at(const struct gr_split *split, enum gr_space space, uint32_t channel,
                            uint32_t slice, uint32_t chunk);

/* Write down the cells of all blocks (GR_BLOCKS): cells has an entry for each. */
void gr_split_list(const struct gr_split *split, struct gr_cells *cells);

/*
 * The cells of a channel in one block, which follow each other in time: its slices (GR_BLOCKS), or
 * the chunks of its slices (GR_PIPE). How many there are; and where n of them, from number `cell`
 * on, lie in the space: one run of elements in the block (any number for GR_PIPE). Fewer where the
 * block ends.
 */
size_t gr_split_cells(const struct gr_split *split);
struct gr_range gr_split_run(const struct gr_split *split, enum gr_space space, uint32_t channel,
                             int block, size_t cell, size_t n);

/* Elements of block b (GR_BLOCKS). */
size_t gr_split_block(const struct gr_split *split, int b);

#endif
