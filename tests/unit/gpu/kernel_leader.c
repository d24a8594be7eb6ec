/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a leader's kernel (kernel_leader.h). */
#include "kernel_leader.h"

#include "kernel_draw.h"
#include "kernel_driver.h"
#include "kernel_reference.h"

#include "rng.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GUARD = 64, GUARD_BYTE = 0xa5 };

/* A rank's input or output. */
struct side {
    int there, copied;
    unsigned char *want; /* what it must hold at the end, guards around it */
    unsigned char *now;  /* what it holds, on the host; of a side that is copied, or at the start */
    size_t bytes, begin; /* of the image; where element 0 lies in it */
    gr_gpu_ptr device;   /* the image, or of a copied side its cells */
    int borrowed;        /* an input in place: the output's image */
};

struct leader_call {
    const struct kl_case *c;
    size_t elem, largest, cell;
    struct side sides[GR_LEADER_RANKS][2]; /* [rank][input, output] */
    size_t displs[GR_LEADER_RANKS], places[GR_LEADER_RANKS * GR_LEADER_RANKS];
    gr_gpu_ptr counter;
    size_t *arrays; /* pinned: counts, displs, places */
    _Atomic uint64_t *done;
    void *stream;
};

/* ---- shapes ---- */

/* Blocks of a side: one for each rank, or one. */
static int is_cut(enum gr_coll coll, int side)
{
    return GR_COLL_ALLTOALL == coll ||
           coll == (0 == side ? GR_COLL_REDUCE_SCATTER : GR_COLL_ALLGATHER);
}

static size_t count_of(const struct kl_case *c, int block)
{
    return c->has_counts ? c->counts[block] : c->count;
}

/* The number of the block at place k of a rank's side, and where it begins there. */
static int block_at(const struct leader_call *l, int rank, int side, int k)
{
    return is_cut(l->c->coll, side) ? k : rank;
}

static size_t begin_of(const struct leader_call *l, int rank, int side, int k)
{
    return !is_cut(l->c->coll, side) ? 0 : 1 == side ? l->places[rank * l->c->p + k] : l->displs[k];
}

static int blocks_of(const struct leader_call *l, int side)
{
    return is_cut(l->c->coll, side) ? l->c->p : 1;
}

/* Blocks follow each other; those of an allgather's output lie in an order of the rank's own, with gaps. */
static void place_blocks(struct leader_call *l)
{
    const struct kl_case *c = l->c;
    size_t at = 0;
    int r, k;

    for (k = 0; k < c->p; k++) {
        l->displs[k] = at;
        at += count_of(c, k);
        l->largest = count_of(c, k) > l->largest ? count_of(c, k) : l->largest;
    }
    for (r = 0; r < c->p; r++) {
        for (at = 0, k = 0; k < c->p; k++) {
            int b = (k + r) % c->p;

            l->places[r * c->p + b] = c->has_places ? at : l->displs[b];
            at += count_of(c, b) + (size_t) (r % 3);
        }
    }
}

static int has_side(const struct kl_case *c, int rank, int side)
{
    return GR_COLL_BCAST == c->coll    ? (c->root == rank) == (0 == side)
           : GR_COLL_REDUCE == c->coll ? 0 == side || c->root == rank
                                       : 1;
}

/* ---- buffers ---- */

static void make_side(struct leader_call *l, int rank, int side)
{
    const struct kl_case *c = l->c;
    struct side *s = &l->sides[rank][side];
    size_t elems = 0, end;
    int k;

    s->there = has_side(c, rank, side);
    s->copied = s->there && (c->copied >> rank & 1);
    for (k = 0; k < blocks_of(l, side); k++) {
        end = begin_of(l, rank, side, k) + count_of(c, block_at(l, rank, side, k));
        elems = end > elems ? end : elems;
    }
    s->begin = GUARD + c->offset[side] * (size_t) (rank + 1) % 16 / kd_elem_align(c->kernel) *
                           kd_elem_align(c->kernel);
    s->bytes = s->begin + elems * l->elem + GUARD;
    s->want = kd_calloc(s->bytes);
    s->now = kd_calloc(s->bytes);
    memset(s->now, GUARD_BYTE, s->bytes);
}

/* The input is where the output is to be. */
static void put_in_place(struct leader_call *l, int rank)
{
    struct side *in = &l->sides[rank][0], *out = &l->sides[rank][1];

    if (l->c->in_place && in->there && out->there && GR_COLL_REDUCE_SCATTER != l->c->coll &&
        GR_COLL_ALLTOALL != l->c->coll) {
        free(in->now);
        free(in->want);
        in->begin = out->begin +
                    (GR_COLL_ALLGATHER == l->c->coll ? begin_of(l, rank, 1, rank) * l->elem : 0);
        in->now = out->now;
        in->want = out->want;
        in->bytes = out->bytes;
        in->borrowed = 1;
    }
}

static void make_buffers(struct leader_call *l)
{
    const struct kl_case *c = l->c;
    uint64_t seed = c->seed;
    int r, side, k;

    for (r = 0; r < c->p; r++) {
        make_side(l, r, 0);
        make_side(l, r, 1);
        put_in_place(l, r);
        for (k = 0; k < blocks_of(l, 0); k++) {
            struct side *in = &l->sides[r][0];

            kc_fill(c->kernel, in->now + in->begin + begin_of(l, r, 0, k) * l->elem,
                    count_of(c, block_at(l, r, 0, k)), &seed);
        }
        for (side = 0; side < 2; side++) {
            struct side *s = &l->sides[r][side];

            memcpy(s->want, s->now, s->bytes);
            s->device = kd_alloc(s->copied ? (size_t) blocks_of(l, side) * l->cell : s->bytes);
            if (!s->copied) {
                kd_put(s->device, s->now, s->bytes);
            }
        }
    }
}

/* ---- what must come out ---- */

static const unsigned char *input(const struct leader_call *l, int rank, int k, size_t i)
{
    const struct side *s = &l->sides[rank][0];

    return s->now + s->begin + (begin_of(l, rank, 0, k) + i) * l->elem;
}

/* The element of block k of the rank's output. */
static void want_element(const struct leader_call *l, int rank, int k, size_t i, void *result)
{
    const struct kl_case *c = l->c;
    const void *src[GR_LEADER_RANKS];
    int r;

    switch (c->coll) {
    case GR_COLL_BCAST:
        memcpy(result, input(l, c->root, 0, i), l->elem);
        return;
    case GR_COLL_ALLGATHER:
        memcpy(result, input(l, k, 0, i), l->elem);
        return;
    case GR_COLL_ALLTOALL:
        memcpy(result, input(l, k, rank, i), l->elem);
        return;
    default:
        for (r = 0; r < c->p; r++) {
            src[r] = input(l, r, GR_COLL_REDUCE_SCATTER == c->coll ? rank : 0, i);
        }
        kr_combine(c->kernel, result, src, c->p);
    }
}

static void want(struct leader_call *l)
{
    int r, k;
    size_t i;

    for (r = 0; r < l->c->p; r++) {
        struct side *out = &l->sides[r][1];

        for (k = 0; k < blocks_of(l, 1) && out->there; k++) {
            for (i = 0; i < count_of(l->c, block_at(l, r, 1, k)); i++) {
                want_element(l, r, k, i,
                             out->want + out->begin + (begin_of(l, r, 1, k) + i) * l->elem);
            }
        }
    }
}

/* ---- launches ---- */

/* Copy the piece that begins at element `first` of each block to the side's cells, or from there. */
static void copy_piece(struct leader_call *l, int rank, int side, size_t first)
{
    struct side *s = &l->sides[rank][side];
    size_t bytes = (size_t) blocks_of(l, side) * l->cell;
    unsigned char *cells = kd_calloc(bytes);
    int k;

    if (0 != side) {
        kd_get(cells, s->device, bytes);
    }
    for (k = 0; k < blocks_of(l, side); k++) {
        size_t n = count_of(l->c, block_at(l, rank, side, k));
        unsigned char *at = s->now + s->begin + (begin_of(l, rank, side, k) + first) * l->elem;

        n = n < first ? 0 : n - first < l->c->most ? n - first : l->c->most;
        memcpy(0 != side ? at : cells + (size_t) k * l->cell,
               0 != side ? cells + (size_t) k * l->cell : at, n * l->elem);
    }
    if (0 == side) {
        kd_put(s->device, cells, bytes);
    }
    free(cells);
}

static struct gr_leader_side side_of(const struct leader_call *l, int rank, int side)
{
    const struct side *s = &l->sides[rank][side], *image;

    if (!s->there) {
        return (struct gr_leader_side) {.at = 0};
    }
    if (s->copied) {
        return (struct gr_leader_side) {s->device, l->cell};
    }
    image = s->borrowed ? &l->sides[rank][1] : s;
    return (struct gr_leader_side) {image->device + s->begin, 0};
}

/* Launch a piece and wait until the kernel says that it is done. Returns whether it does. */
static int run_piece(struct leader_call *l, size_t first, uint64_t number)
{
    const struct kl_case *c = l->c;
    struct gr_leader_args args = {
        .block = c->count,
        .first = first,
        .most = c->most,
        .counter = l->counter,
        .done = (gr_gpu_ptr) (uintptr_t) l->done,
        .value = number,
        .coll = c->coll,
        .ranks = (uint32_t) c->p,
        .root = (uint32_t) c->root,
    };
    time_t end = time(NULL) + 240;
    int r;

    if (c->has_counts) {
        args.counts = (gr_gpu_ptr) (uintptr_t) l->arrays;
        args.displs = (gr_gpu_ptr) (uintptr_t) (l->arrays + GR_LEADER_RANKS);
    }
    if (c->has_places) {
        args.places = (gr_gpu_ptr) (uintptr_t) (l->arrays + 2 * GR_LEADER_RANKS);
    }
    for (r = 0; r < c->p; r++) {
        args.in[r] = side_of(l, r, 0);
        args.out[r] = side_of(l, r, 1);
        if (l->sides[r][0].copied) {
            copy_piece(l, r, 0, first);
        }
    }
    kd_launch_leader(l->stream, c->kernel, c->blocks, c->threads, &args);
    while (number != atomic_load_explicit(l->done, memory_order_acquire) && time(NULL) < end) {
        usleep(20);
    }
    for (r = 0; r < c->p && number == *l->done; r++) {
        if (l->sides[r][1].copied) {
            copy_piece(l, r, 1, first);
        }
    }
    return number == *l->done;
}

/* What the word says is there: nothing waits for the stream. */
static int compare(struct leader_call *l, char *why, size_t size)
{
    size_t i;
    int r;

    for (r = 0; r < l->c->p; r++) {
        struct side *out = &l->sides[r][1];

        if (!out->copied) {
            kd_get(out->now, out->device, out->bytes);
        }
        for (i = 0; i < out->bytes && out->now[i] == out->want[i]; i++) {
        }
        if (i < out->bytes) {
            snprintf(why, size, "rank %d: byte %zu of %zu is %02x, not %02x (element 0 at %zu)", r,
                     i, out->bytes, out->now[i], out->want[i], out->begin);
            return -1;
        }
    }
    return 0;
}

static void close_call(struct leader_call *l)
{
    int r, side;

    kd_wait(l->stream);
    kd_stream_free(l->stream);
    for (r = 0; r < l->c->p; r++) {
        for (side = 0; side < 2; side++) {
            struct side *s = &l->sides[r][side];

            kd_free(s->device);
            if (!s->borrowed) {
                free(s->now);
                free(s->want);
            }
        }
    }
    kd_free(l->counter);
    kd_host_free(l->arrays);
    kd_host_free((void *) l->done);
    free(l);
}

int kl_run(const struct kl_case *c, char *why, size_t size)
{
    struct leader_call *l = kd_calloc(sizeof(*l));
    uint64_t zero = 0, number = c->seed | 1;
    size_t first = 0;
    int rc = 0;

    l->c = c;
    l->elem = kd_elem_bytes(c->kernel);
    place_blocks(l);
    l->cell = (c->most * l->elem + 15) / 16 * 16 + 16;
    make_buffers(l);
    want(l);
    l->counter = kd_alloc(sizeof(zero));
    kd_put(l->counter, &zero, sizeof(zero));
    l->done = kd_host_alloc(sizeof(*l->done));
    l->arrays = kd_host_alloc((2 + GR_LEADER_RANKS) * GR_LEADER_RANKS * sizeof(size_t));
    memcpy(l->arrays, c->counts, sizeof(c->counts));
    memcpy(l->arrays + GR_LEADER_RANKS, l->displs, sizeof(l->displs));
    memcpy(l->arrays + 2 * GR_LEADER_RANKS, l->places, sizeof(l->places));
    l->stream = kd_stream();
    do { /* a call without elements is launched, too */
        if (!run_piece(l, first, number++)) {
            snprintf(why, size, "the piece from element %zu on does not end", first);
            return -1; /* a kernel that runs keeps its memory */
        }
        first += c->most;
    } while (first < l->largest);
    rc = compare(l, why, size);
    close_call(l);
    if (0 != rc) {
        snprintf(why + strlen(why), size - strlen(why),
                 ": %s %s p=%d root=%d count=%zu%s%s most=%zu copied=%llx offsets=%zu,%zu%s "
                 "blocks=%u threads=%u seed=%llu",
                 gr_coll_name(c->coll), kd_kernel_name(c->kernel), c->p, c->root, c->count,
                 c->has_counts ? " counts" : "", c->has_places ? " places" : "", c->most,
                 (unsigned long long) c->copied, c->offset[0], c->offset[1],
                 c->in_place ? " in place" : "", c->blocks, c->threads,
                 (unsigned long long) c->seed);
    }
    return rc;
}

struct kl_case kl_any(enum gr_coll coll, int p, int kernel)
{
    struct kl_case c = {.coll = coll, .p = p};
    int r;

    c.kernel = kernel < 0 ? kc_any_kernel(coll) : (enum gr_kernel) kernel;
    c.root = rng_below(&kc_seed, p);
    c.count = ANY(0, 1, 5, 40, 511, 2000) / (p > 9 ? 8 : 1);
    c.has_counts = (GR_COLL_ALLGATHER == coll || GR_COLL_REDUCE_SCATTER == coll) &&
                   0 != rng_below(&kc_seed, 2);
    c.has_places = c.has_counts && GR_COLL_ALLGATHER == coll && 0 != rng_below(&kc_seed, 2);
    for (r = 0; r < p; r++) {
        c.counts[r] = ANY(0, 0, 1, 7, 130, 600) / (p > 9 ? 8 : 1);
    }
    c.most = ANY(3, 100, 4096);
    c.copied = ANY(0, 1, 0x5555555555555555, UINT64_MAX) << rng_below(&kc_seed, 2);
    if (0 == c.copied) { /* as the component does it */
        c.most = 4096;
    }
    c.offset[0] = rng_below(&kc_seed, 16);
    c.offset[1] = 0 == rng_below(&kc_seed, 2) ? c.offset[0] : (size_t) rng_below(&kc_seed, 16);
    c.in_place = 0 == rng_below(&kc_seed, 3);
    c.blocks = (uint32_t) ANY(1, 2, 3, 5, 9, 20);
    c.threads = kd_is_fake() ? (uint32_t) ANY(64, 96, 160) : GR_GPU_THREADS;
    c.seed = rng_next(&kc_seed);
    return c;
}
