/* SPDX-License-Identifier: BSD-3-Clause */
/* Test data of the executor tests (exec_data.h). */
#include "exec_data.h"

#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, GUARD_BYTE = 0xa5 };

/* ---- where blocks lie ---- */

static struct ex_blocks blocks_of(const struct ex_case *c)
{
    return (struct ex_blocks) {c->count, c->has_counts ? c->counts : NULL,
                               c->has_displs ? c->displs : NULL};
}

/* Elements of the whole vector, gaps included. */
static size_t span(const struct ex_case *c, int p)
{
    return ex_has_blocks(c->coll) ? ex_blocks_span(blocks_of(c), p) : c->count;
}

struct gr_plan_spec ex_spec(const struct ex_case *c)
{
    struct gr_plan_spec r = {
        .coll = c->coll,
        .algo = (enum gr_algo) c->algo,
        .root = c->root,
        .torus = c->torus,
        .nchannels = c->nchannels,
        .elem_bytes = ex_kinds[c->kind].elem_bytes,
        .chunk_bytes = c->chunk_bytes,
        .total = ex_has_blocks(c->coll) ? 0 : c->count,
        .block = ex_has_blocks(c->coll) ? c->count : 0,
        .counts = c->has_counts ? c->counts : NULL,
        .displs = c->has_displs ? c->displs : NULL,
        .direct = c->direct,
        .direct_bytes = c->direct_bytes,
        .protocol = c->protocol,
        .threads = c->threads,
    };

    return r;
}

struct gr_mailbox_call ex_mail(const struct ex_case *c, const struct ex_buffers *b)
{
    struct gr_mailbox_call m = {
        .coll = c->coll,
        .root = c->root,
        .in = b->in,
        .out = b->out,
        .count = c->count,
        .counts = c->has_counts ? c->counts : NULL,
        .displs = c->has_displs ? c->displs : NULL,
        .reducer = ex_reducer(c),
    };

    return m;
}

/* ---- inputs and results ---- */

void ex_fill(const struct ex_case *c, int rank, size_t begin, size_t n, unsigned char *to)
{
    const struct ex_kind *k = &ex_kinds[c->kind];
    size_t i;

    for (i = 0; i < n; i++) {
        uint64_t state = c->seed + (uint64_t) rank * 0x100000001b3u + ((begin + i) << 40);

        k->fill(to + i * k->elem_bytes, rng_next(&state));
    }
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);

    if (NULL == p) {
        abort();
    }
    return p;
}

unsigned char *ex_want(const struct ex_case *c, int p)
{
    const struct ex_kind *k = &ex_kinds[c->kind];
    size_t n = span(c, p), i;
    unsigned char *want = allocate(n * k->elem_bytes), *x = allocate(n * k->elem_bytes);
    int r;

    ex_fill(c, GR_COLL_BCAST == c->coll ? c->root : 0, 0, n, want);
    for (r = 0; r < p; r++) {
        if (GR_COLL_ALLGATHER == c->coll) {
            ex_fill(c, r, ex_block_begin(blocks_of(c), r), ex_block_count(blocks_of(c), r),
                    want + ex_block_begin(blocks_of(c), r) * k->elem_bytes);
        } else if (GR_COLL_BCAST != c->coll && GR_COLL_ALLTOALL != c->coll && r > 0) {
            ex_fill(c, r, 0, n, x);
            for (i = 0; i < n * k->elem_bytes; i += k->elem_bytes) {
                k->combine(want + i, x + i);
            }
        }
    }
    free(x);
    return want;
}

/* ---- buffers ---- */

static int has_input(const struct ex_case *c, int rank)
{
    return GR_COLL_BCAST != c->coll || rank == c->root;
}

static int has_output(const struct ex_case *c, int rank)
{
    if (GR_COLL_BCAST == c->coll) {
        return c->in_place || rank != c->root;
    }
    return GR_COLL_REDUCE != c->coll || rank == c->root;
}

/* Whether input and output are the same memory. */
static int shares(const struct ex_case *c, int rank)
{
    return c->in_place && GR_COLL_REDUCE_SCATTER != c->coll && GR_COLL_ALLTOALL != c->coll &&
           has_output(c, rank);
}

/* The rank's part of the vector on input. */
size_t ex_input_count(const struct ex_case *c, int p, int rank)
{
    return GR_COLL_ALLGATHER == c->coll ? ex_block_count(blocks_of(c), rank) : span(c, p);
}

size_t ex_input_begin(const struct ex_case *c, int rank)
{
    return GR_COLL_ALLGATHER == c->coll ? ex_block_begin(blocks_of(c), rank) : 0;
}

void ex_buffers_make(struct ex_buffers *b, const struct ex_case *c, int p, int rank)
{
    size_t bytes = ex_kinds[c->kind].elem_bytes, n = ex_input_count(c, p, rank);
    struct gr_plan_spec spec = ex_spec(c);
    size_t scratch = GR_ALGO_MAILBOX == c->algo ? 0 : gr_plan_scratch(&spec, p);

    memset(b, 0, sizeof(*b));
    if (scratch > 0) {
        b->tmp = allocate(scratch);
        memset(b->tmp, GUARD_BYTE, scratch);
    }
    if (has_output(c, rank)) {
        b->out_bytes =
            bytes *
            (GR_COLL_REDUCE_SCATTER == c->coll ? ex_block_count(blocks_of(c), rank) : span(c, p));
        b->out_base = allocate(b->out_bytes + 2 * GUARD);
        b->out = b->out_base + GUARD;
    }
    if (shares(c, rank)) {
        b->in = b->out + ex_input_begin(c, rank) * bytes;
    } else if (has_input(c, rank) && n > 0) {
        b->in_bytes = n * bytes;
        b->in = b->in_base = allocate(b->in_bytes);
    }
    ex_buffers_fill(b, c, p, rank);
}

void ex_buffers_fill(struct ex_buffers *b, const struct ex_case *c, int p, int rank)
{
    size_t n = ex_input_count(c, p, rank);

    if (NULL != b->out_base) {
        memset(b->out_base, GUARD_BYTE, b->out_bytes + 2 * GUARD);
    }
    if (has_input(c, rank) && n > 0) {
        ex_fill(c, rank, ex_input_begin(c, rank), n, b->in);
    }
}

/* What the output must look like, between the guards: the result, and guard bytes in the gaps. */
static void paint(const struct ex_case *c, int p, int rank, const unsigned char *want,
                  unsigned char *image, size_t size)
{
    size_t bytes = ex_kinds[c->kind].elem_bytes;
    int r;

    for (r = 0; r < p && GR_COLL_ALLTOALL == c->coll; r++) { /* what r had for this rank */
        ex_fill(c, r, (size_t) rank * c->count, c->count, image + (size_t) r * c->count * bytes);
    }
    if (GR_COLL_ALLTOALL == c->coll) {
        return;
    }
    if (GR_COLL_ALLGATHER != c->coll) {
        memcpy(image,
               want + (GR_COLL_REDUCE_SCATTER == c->coll
                           ? ex_block_begin(blocks_of(c), rank) * bytes
                           : 0),
               size);
        return;
    }
    for (r = 0; r < p; r++) {
        memcpy(image + ex_block_begin(blocks_of(c), r) * bytes,
               want + ex_block_begin(blocks_of(c), r) * bytes,
               ex_block_count(blocks_of(c), r) * bytes);
    }
}

/* The first of n bytes that differs, or n. */
static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t n)
{
    size_t i = 0;

    while (i < n && a[i] == b[i]) {
        i++;
    }
    return i;
}

static int check_output(const struct ex_buffers *b, const struct ex_case *c, int p, int rank,
                        const unsigned char *want, char *why, size_t size)
{
    size_t all = b->out_bytes + 2 * GUARD, i;
    unsigned char *image = allocate(all);

    memset(image, GUARD_BYTE, all);
    if (c->kind < EX_NEXACT ||
        (GR_ALGO_MAILBOX == c->algo && (EX_MAPS == c->kind || p <= GR_GROUP_MOST))) {
        paint(c, p, rank, want, image + GUARD, b->out_bytes);
    } else {
        memcpy(image + GUARD, b->out, b->out_bytes);
    }
    i = first_difference(b->out_base, image, all);
    if (i < all) {
        snprintf(why, size, "output byte %ld of %zu is %02x, must be %02x", (long) i - GUARD,
                 b->out_bytes, (unsigned) b->out_base[i], (unsigned) image[i]);
    }
    free(image);
    return i < all ? -1 : 0;
}

int ex_buffers_check(const struct ex_buffers *b, const struct ex_case *c, int p, int rank,
                     const unsigned char *want, char *why, size_t size)
{
    size_t n = ex_input_count(c, p, rank), bytes = n * ex_kinds[c->kind].elem_bytes, i;
    unsigned char *input;

    if (NULL != b->out_base && 0 != check_output(b, c, p, rank, want, why, size)) {
        return -1;
    }
    if (NULL == b->in_base) {
        return 0;
    }
    input = allocate(bytes);
    ex_fill(c, rank, ex_input_begin(c, rank), n, input);
    i = first_difference(b->in, input, bytes);
    free(input);
    if (i < bytes) {
        snprintf(why, size, "byte %zu of the input was written", i);
    }
    return i < bytes ? -1 : 0;
}

uint64_t ex_buffers_hash(const struct ex_buffers *b, uint64_t hash)
{
    size_t i;

    for (i = 0; i < b->out_bytes; i++) {
        hash = (hash ^ b->out[i]) * 0x100000001b3u; /* FNV-1a */
    }
    return hash;
}

void ex_buffers_free(struct ex_buffers *b)
{
    if (NULL != b->in_base) {
        memset(b->in_base, GUARD_BYTE, b->in_bytes);
    }
    if (NULL != b->out_base) {
        memset(b->out_base, GUARD_BYTE, b->out_bytes + 2 * GUARD);
    }
    free(b->in_base);
    free(b->out_base);
    free(b->tmp);
    memset(b, 0, sizeof(*b));
}

const char *ex_describe(const struct ex_case *c, int p, char *text, size_t size)
{
    snprintf(text, size, "%s %s %s p=%d root=%d %s count=%zu%s%s channels=%u chunk=%zu%s%s%s",
             gr_protocol_name(c->protocol), gr_use_name(c->algo), gr_coll_name(c->coll), p, c->root,
             ex_kinds[c->kind].name, c->count, c->has_counts ? " counts" : "",
             c->has_displs ? " displs" : "", (unsigned) c->nchannels, c->chunk_bytes,
             c->in_place ? " in place" : "", c->halved ? " halved" : "",
             c->direct ? " direct" : "");
    return text;
}
