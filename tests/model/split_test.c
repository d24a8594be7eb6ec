/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The split: for random shapes (seeded, GPURING_SEED) the chunks of all channels, slices and chunks
 * tile every block exactly once, in order, none larger than chunk_elems; and a chunk's size is the
 * same in every space. The shapes themselves are walked by one function, from the words of split.h;
 * each test adds what it looks at.
 */
#include "rng.h"
#include "sched/split.h"

#include <stdio.h>
#include <string.h>

#include "cmocka_test.h"

#define MAX_P 24

static uint64_t seed; /* state of the random sequence */

static const enum gr_space spaces[] = {GR_IN, GR_OUT, GR_TMP};

static int has_blocks(enum gr_coll coll)
{
    return GR_COLL_ALLGATHER == coll || GR_COLL_REDUCE_SCATTER == coll || GR_COLL_ALLTOALL == coll;
}

/* The expected elements of block b and its beginning in the vector, from the shape alone. */
static struct gr_range block_of(const struct gr_split *shape, size_t align, int b)
{
    struct gr_range r = {0, shape->total};
    size_t cell;
    int k;

    if (GR_PIPE == shape->layout) {
        return r;
    }
    if (has_blocks(shape->coll)) {
        for (k = 0; k < b; k++) {
            r.offset += NULL != shape->counts ? shape->counts[k] : shape->block;
        }
        r.offset = NULL != shape->displs ? shape->displs[b] : r.offset;
        r.count = NULL != shape->counts ? shape->counts[b] : shape->block;
        return r;
    }
    cell = (shape->total + (size_t) shape->p - 1) / (size_t) shape->p;
    cell = (cell + align - 1) / align * align;
    r.offset = cell * (size_t) b;
    r.count = r.offset >= shape->total         ? 0
              : shape->total - r.offset < cell ? shape->total - r.offset
                                               : cell;
    return r;
}

/* Whether the caller's buffer in that space has one's own block only. */
static int own_only(enum gr_coll coll, enum gr_space space)
{
    return (GR_COLL_ALLGATHER == coll && GR_IN == space) ||
           (GR_COLL_REDUCE_SCATTER == coll && GR_OUT == space);
}

/* One chunk in all spaces. `done`: elements of the block before it. Returns its elements. */
static size_t check_chunk(const struct gr_split *shape, const struct gr_split *split,
                          const struct gr_range *block, size_t done, uint32_t channel,
                          uint32_t slice, uint32_t chunk)
{
    size_t count = gr_split_at(split, GR_OUT, channel, slice, chunk).count;
    int k;

    for (k = 0; k < 3; k++) {
        struct gr_range r = gr_split_at(split, spaces[k], channel, slice, chunk);

        assert_int_equal(r.count, count);
        if (count > 0) {
            assert_int_equal(r.offset,
                             done + (own_only(shape->coll, spaces[k]) ? 0 : block->offset));
        }
    }
    assert_true(count <= shape->chunk_elems);
    if (count > 0) {
        assert_int_equal(done % split->align, 0);
        /*
         * only the last chunk of a block, and those of the end of a vector, are shorter than others
         */
        assert_true(done + count == block->count || 0 == count % split->align);
    }
    return count;
}

/* A run of cells is what its chunks are together, in every space. */
static void check_runs(const struct gr_split *split, int b)
{
    int pipe = GR_PIPE == split->layout;
    size_t cells = gr_split_cells(split), cell = rng_below(&seed, cells),
           n = rng_below(&seed, cells - cell + 1), k, sum;
    uint32_t channel = (uint32_t) rng_below(&seed, split->nchannels), space;

    for (space = 0; space < 3; space++) {
        struct gr_range run = gr_split_run(split, spaces[space], channel, b, cell, n);

        for (k = cell, sum = 0; k < cell + n; k++) {
            struct gr_range chunk = gr_split_at(
                split, spaces[space], channel, (uint32_t) (pipe ? k / split->nchunks : k),
                pipe ? (uint32_t) (k % split->nchunks) : (uint32_t) b);

            assert_true(0 == chunk.count || chunk.offset == run.offset + sum);
            sum += chunk.count;
        }
        assert_int_equal(run.count, sum);
    }
}

/* One slice of all chunks, or as few slices as can be, of as few chunks. */
static void check_slices(const struct gr_split *shape, const struct gr_split *split)
{
    size_t chunks = split->nchunks,
           most = shape->chunk_elems / split->align * split->align * split->nchannels;

    if (GR_BLOCKS == shape->layout) {
        assert_int_equal(chunks, 1);
    } else if (0 == shape->slice_chunks) {
        assert_int_equal(split->nslices, 1);
    } else {
        assert_true(chunks <= shape->slice_chunks);
        assert_true(1 == split->nslices ||
                    (split->nslices - 1) * shape->slice_chunks * most < shape->total);
        assert_true(1 == chunks || (chunks - 1) * split->nslices * most < shape->total);
    }
}

/* Walk a shape's chunks in the order in which split.h draws them: they tile each block. */
static void check_shape(const struct gr_split *shape)
{
    struct gr_split split = *shape;
    struct gr_range block;
    uint32_t channel, slice, chunk, chunks;
    size_t done, count, first;
    int b, nblocks = GR_PIPE == shape->layout ? 1 : shape->p;

    memset(&split.last_end, 0xa5, sizeof(split) - offsetof(struct gr_split, last_end));
    gr_split_init(&split);
    assert_int_equal(split.align, shape->align > shape->chunk_elems ? 1 : shape->align);
    check_slices(shape, &split);
    assert_true(split.nchannels == shape->nchannels && split.nslices >= 1 && split.nchunks >= 1);
    for (b = 0; b < nblocks; b++) {
        block = block_of(shape, split.align, b);
        if (GR_BLOCKS == shape->layout) {
            assert_int_equal(gr_split_block(&split, b), block.count);
        }
        first = gr_split_at(&split, GR_OUT, 0, 0, (uint32_t) b).count;
        for (channel = 0, done = 0; channel < split.nchannels; channel++) {
            for (slice = 0; slice < split.nslices; slice++) {
                chunks = GR_PIPE == shape->layout ? split.nchunks : 1;
                for (chunk = 0; chunk < chunks; chunk++) {
                    count = check_chunk(shape, &split, &block, done, channel, slice,
                                        GR_PIPE == shape->layout ? chunk : (uint32_t) b);
                    /* equal, the last ones shorter or empty */
                    assert_true(count == first || done + count == block.count);
                    done += count;
                }
            }
        }
        assert_int_equal(done, block.count);
        check_runs(&split, b);
    }
}

/* A random shape; counts and displs have room for MAX_P. */
static struct gr_split random_shape(size_t *counts, size_t *displs, size_t most)
{
    struct gr_split s = {.coll = (enum gr_coll) rng_below(&seed, GR_NCOLLS),
                         .p = 1 + rng_below(&seed, MAX_P)};
    size_t begin = 0;
    int k;

    s.layout = has_blocks(s.coll) || (GR_COLL_ALLREDUCE == s.coll && 0 != rng_below(&seed, 2))
                   ? GR_BLOCKS
                   : GR_PIPE;
    s.nchannels = 1 + (uint32_t) rng_below(&seed, 5);
    s.align = 1 + rng_below(&seed, 9);
    s.chunk_elems = 1 + rng_below(&seed, most / 16 + 20);
    s.total = rng_below(&seed, 3) ? rng_below(&seed, most) : rng_below(&seed, 40);
    s.block = rng_below(&seed, most / 8 + 1);
    s.slice_chunks = (uint32_t) rng_below(&seed, 2) << rng_below(&seed, 5);
    if (has_blocks(s.coll) && 0 != rng_below(&seed, 4)) {
        for (k = 0; k < s.p; k++) {
            counts[k] = rng_below(&seed, 3) ? rng_below(&seed, most / 8 + 1) : 0;
        }
        for (k = s.p - 1; k >= 0; k--) { /* last block first, with gaps */
            begin += rng_below(&seed, 5);
            displs[k] = begin;
            begin += counts[k];
        }
        s.counts = counts;
        s.displs = rng_below(&seed, 2) ? displs : NULL;
    }
    return s;
}

static void test_random_shapes(void **state)
{
    size_t counts[MAX_P], displs[MAX_P];
    int turn;

    for (turn = 0; turn < 60000; turn++) {
        struct gr_split s = random_shape(counts, displs, turn % 2 ? 300 : 3000);

        check_shape(&s);
    }
}

/*
 * Elements beyond 2^32, in one block, and summed over blocks; chunks of the size that slots have.
 */
static void test_huge_counts(void **state)
{
    const size_t huge = (size_t) 1 << 33;
    size_t counts[MAX_P], displs[MAX_P];
    int coll, p, k, blocks;

    for (p = 1; p <= MAX_P; p += 7) {
        for (k = 0; k < p; k++) {
            counts[k] = k % 3 ? huge + (size_t) k : (size_t) k;
            displs[k] = huge * 8 * (size_t) (p - k) + 1;
        }
        for (coll = 0; coll < GR_NCOLLS; coll++) {
            for (blocks = 0; blocks < 2; blocks++) {
                struct gr_split s = {.coll = (enum gr_coll) coll,
                                     .p = p,
                                     .total = huge * 37 + 5,
                                     .block = huge - 1,
                                     .nchannels = 3,
                                     .chunk_elems = (size_t) 1 << 26,
                                     .align = 64};

                s.layout = has_blocks(s.coll) || (blocks && GR_COLL_ALLREDUCE == s.coll) ? GR_BLOCKS
                                                                                         : GR_PIPE;
                s.counts = has_blocks(s.coll) && blocks ? counts : NULL;
                s.displs = NULL != s.counts && GR_COLL_ALLGATHER == s.coll ? displs : NULL;
                check_shape(&s);
            }
        }
    }
}

/*
 * Too many chunks to walk, or chunks beyond 2^32 elements: where the channels' ranges meet, and the
 * end.
 */
static void test_more_than_32_bits(void **state)
{
    static const struct {
        size_t total, chunk_elems;
    } sizes[] = {{(size_t) 1 << 53, (size_t) 1 << 20},
                 {((size_t) 1 << 53) + 1, (size_t) 1 << 22},
                 {((size_t) 1 << 40) + 7, (size_t) 1 << 35}};
    struct gr_range last, next;
    struct gr_split split;
    uint32_t channel;
    size_t k;
    uint32_t slice_chunks;

    for (k = 0; k < 3; k++) {
        for (slice_chunks = 0; slice_chunks <= 16; slice_chunks += slice_chunks < 2 ? 1 : 14) {
            struct gr_split s = {.coll = GR_COLL_BCAST,
                                 .layout = GR_PIPE,
                                 .p = 2,
                                 .total = sizes[k].total,
                                 .nchannels = 4,
                                 .chunk_elems = sizes[k].chunk_elems,
                                 .align = 1,
                                 .slice_chunks = slice_chunks};

            split = s;
            gr_split_init(&split);
            for (channel = 0; channel < 4; channel++) {
                last = gr_split_at(&split, GR_OUT, channel, split.nslices - 1, split.nchunks - 1);
                assert_in_range(last.count, 0, s.chunk_elems);
                if (channel < 3) {
                    next = gr_split_at(&split, GR_OUT, channel + 1, 0, 0);
                    assert_true(next.count > 0);
                    assert_int_equal(last.offset + last.count, next.offset);
                    assert_true(next.offset > s.total / 4 * channel);
                }
            }
            assert_true(0 == last.count || last.offset + last.count == s.total);
            assert_true(last.offset + s.chunk_elems >= s.total);
        }
    }
}

/*
 * A message's size is that at every other rank: it depends on nothing that differs between ranks.
 */
static void test_ranks_agree(void **state)
{
    size_t counts[MAX_P], displs[MAX_P], others[MAX_P];
    struct gr_split mine, theirs;
    uint32_t slice;
    int turn, b, k;

    for (turn = 0; turn < 2000; turn++) {
        struct gr_split s = random_shape(counts, displs, 500);

        if (GR_BLOCKS != s.layout || NULL == s.displs) {
            continue;
        }
        mine = s;
        gr_split_init(&mine);
        /* another rank's receive displacements, which MPI lets differ */
        for (k = 0; k < s.p; k++) {
            others[k] = rng_below(&seed, 1000000);
        }
        theirs = s;
        theirs.displs = others;
        gr_split_init(&theirs);
        assert_int_equal(mine.nslices, theirs.nslices);
        for (b = 0; b < s.p; b++) {
            for (slice = 0; slice < mine.nslices; slice++) {
                assert_int_equal(gr_split_at(&mine, GR_OUT, 0, slice, (uint32_t) b).count,
                                 gr_split_at(&theirs, GR_OUT, 0, slice, (uint32_t) b).count);
            }
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        {"random shapes: chunks tile every block once, in order, aligned, none above chunk_elems",
         test_random_shapes, NULL, NULL, NULL},
        {"2^33 elements per block and more in all", test_huge_counts, NULL, NULL, NULL},
        {"more than 2^32 chunks, chunks of more than 2^32 elements", test_more_than_32_bits, NULL,
         NULL, NULL},
        {"a chunk's size does not depend on a rank's displacements", test_ranks_agree, NULL, NULL,
         NULL},
    };

    seed = rng_seed();
    fflush(stdout);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
