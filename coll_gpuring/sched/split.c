/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of split.h: cells of ceil(count / cells) elements, rounded up to the alignment.
 */
#include "sched/split.h"

#include <assert.h>

static size_t ceil_div(size_t a, size_t b)
{
    return a / b + (0 != a % b);
}

/* Elements of a cell when count elements are cut into so many. */
static size_t cell_size(const struct gr_split *s, size_t count, size_t cells)
{
    return ceil_div(ceil_div(count, cells), s->align) * s->align;
}

size_t gr_split_block(const struct gr_split *s, int b)
{
    size_t begin;

    if (NULL != s->counts) {
        return s->counts[b];
    }
    begin = (size_t) b * s->block;
    if (begin >= s->last_end) {
        return 0;
    }
    return s->last_end - begin < s->block ? s->last_end - begin : s->block;
}

static size_t block_begin(const struct gr_split *s, int b)
{
    size_t begin = 0;
    int k;

    if (NULL != s->displs) {
        return s->displs[b];
    }
    if (NULL == s->counts) {
        return (size_t) b * s->block;
    }
    for (k = 0; k < b; k++) {
        begin += s->counts[k];
    }
    return begin;
}

size_t gr_split_cells(const struct gr_split *s)
{
    return (size_t) s->nslices * s->nchunks;
}

/* Elements of a cell of a block that has count of them. */
static size_t cell_of(const struct gr_split *s, size_t count)
{
    return NULL == s->counts ? s->cell : cell_size(s, count, gr_split_cells(s) * s->nchannels);
}

struct gr_range gr_split_at(const struct gr_split *s, enum gr_space space, uint32_t channel,
                            uint32_t slice, uint32_t chunk)
{
    int blocks = GR_BLOCKS == s->layout;
    size_t count = blocks ? gr_split_block(s, (int) chunk) : s->total, cell = cell_of(s, count);
    size_t number = ((size_t) channel * s->nslices + slice) * s->nchunks + (blocks ? 0 : chunk);
    struct gr_range r;

    r.offset = number * cell;
    r.count = 0;
    if (r.offset < count) {
        r.count = count - r.offset < cell ? count - r.offset : cell;
    }
    if (blocks && GR_HOLDS_ALL == s->holds[space]) {
        r.offset += block_begin(s, (int) chunk);
    }
    return r;
}

void gr_split_list(const struct gr_split *s, struct gr_cells *cells)
{
    size_t end = 0;
    int b;

    for (b = 0; b < s->p; b++) {
        cells[b].begin = NULL != s->displs ? s->displs[b] : end;
        cells[b].count = gr_split_block(s, b);
        cells[b].cell = cell_of(s, cells[b].count);
        end += cells[b].count;
    }
}

struct gr_range gr_split_run(const struct gr_split *s, enum gr_space space, uint32_t channel,
                             int block, size_t cell, size_t n)
{
    int blocks = GR_BLOCKS == s->layout;
    size_t count = blocks ? gr_split_block(s, block) : s->total, cells = gr_split_cells(s);
    size_t size = cell_of(s, count), begin = (channel * cells + cell) * size,
           end = begin + n * size;
    struct gr_range r;

    begin = begin < count ? begin : count;
    end = end < count ? end : count;
    r.offset = begin + (blocks && GR_HOLDS_ALL == s->holds[space] ? block_begin(s, block) : 0);
    r.count = end - begin;
    return r;
}

/* The largest block, which decides how many slices it takes. */
static size_t largest_block(const struct gr_split *s)
{
    size_t most = 0, n;
    int b;

    for (b = 0; b < s->p; b++) {
        n = gr_split_block(s, b);
        most = n > most ? n : most;
    }
    return most;
}

void gr_split_init(struct gr_split *s)
{
    size_t most, cells, chunk_elems;

    s->align = s->chunk_elems < s->align ? 1 : s->align;
    s->holds[GR_IN] = GR_COLL_ALLGATHER == s->coll ? GR_HOLDS_OWN : GR_HOLDS_ALL;
    s->holds[GR_OUT] = GR_COLL_REDUCE_SCATTER == s->coll ? GR_HOLDS_OWN : GR_HOLDS_ALL;
    s->holds[GR_TMP] = GR_HOLDS_ALL;
    s->last_end = s->block * (size_t) s->p;
    if (GR_BLOCKS == s->layout && GR_COLL_ALLREDUCE == s->coll) {
        /* the vector in p blocks of equal size */
        s->counts = s->displs = NULL;
        s->block = cell_size(s, s->total, (size_t) s->p);
        s->last_end = s->total;
    }
    most = GR_BLOCKS == s->layout ? largest_block(s) : s->total;
    chunk_elems = s->chunk_elems - s->chunk_elems % s->align;
    cells = ceil_div(most, (size_t) s->nchannels * chunk_elems);
    cells = 0 == cells ? 1 : cells;
    assert(cells <= UINT32_MAX);
    s->nslices = s->nchunks = 1;
    if (GR_BLOCKS == s->layout) {
        s->nslices = (uint32_t) cells;
    } else {
        /* as few slices as can be, of as few chunks */
        s->nslices = 0 == s->slice_chunks ? 1 : (uint32_t) ceil_div(cells, s->slice_chunks);
        s->nchunks = (uint32_t) ceil_div(cells, s->nslices);
    }
    s->cell = cell_size(s, GR_BLOCKS == s->layout ? s->block : s->total,
                        gr_split_cells(s) * s->nchannels);
}
