/* SPDX-License-Identifier: BSD-3-Clause */
/* Offsets of the blocks of a test's vector, computed independently of sched/split.h. */
#ifndef GR_TESTS_BLOCKS_H
#define GR_TESTS_BLOCKS_H

#include "sched/sched.h"

#include <stddef.h>

struct ex_blocks {
    size_t count;                  /* elements of each, where counts is NULL */
    const size_t *counts, *displs; /* [block]; displs NULL: one behind the other */
};

/* Whether the collective's vector is one of blocks, a block for each rank. */
static inline int ex_has_blocks(enum gr_coll coll)
{
    return GR_COLL_ALLGATHER == coll || GR_COLL_REDUCE_SCATTER == coll || GR_COLL_ALLTOALL == coll;
}

/* Whether blocks may be of different sizes. */
static inline int ex_has_counts(enum gr_coll coll)
{
    return ex_has_blocks(coll) && GR_COLL_ALLTOALL != coll;
}

static inline size_t ex_block_count(struct ex_blocks blocks, int b)
{
    return NULL != blocks.counts ? blocks.counts[b] : blocks.count;
}

static inline size_t ex_block_begin(struct ex_blocks blocks, int b)
{
    size_t begin = 0;
    int k;

    if (NULL != blocks.displs) {
        return blocks.displs[b];
    }
    for (k = 0; k < b; k++) {
        begin += ex_block_count(blocks, k);
    }
    return begin;
}

/* Elements from the first to behind the last of p blocks, gaps included. */
static inline size_t ex_blocks_span(struct ex_blocks blocks, int p)
{
    size_t most = 0, end;
    int b;

    for (b = 0; b < p; b++) {
        end = ex_block_begin(blocks, b) + ex_block_count(blocks, b);
        most = end > most ? end : most;
    }
    return most;
}

#endif
