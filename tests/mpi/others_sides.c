/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns where the blocks of a side lie, their types and buffers, and what MPI is told of them.
 *
 *      slack | block | hole | block | hole | block | slack       one buffer
 *      slack | block | slack     slack | block | slack           absolute: one for each block
 */
#include <stdlib.h>

#include "batch.h"
#include "others.h"
#include "rng.h"
#include "tap.h"

static bool types_differ(const struct others_side *s)
{
    return SPREAD_W == s->spread;
}

static MPI_Datatype type_of(const struct others_side *s, int copy, int block)
{
    return s->end[copy].types[types_differ(s) ? block : 0];
}

static int num_types(const struct others_side *s)
{
    return types_differ(s) && s->n > 0 ? s->n : 1;
}

static void make_types(const struct others_call *c, struct others_side *s, int copy)
{
    s->end[copy].types = malloc(((size_t) s->n + 1) * sizeof(MPI_Datatype));
    for (int i = 0; i < num_types(s); i++) {
        s->end[copy].types[i] = others_infos[c->what.coll].reduces
                                    ? others_op_type(c->what.op)
                                    : others_type(s->blocks[i].base, s->blocks[i].layout);
    }
}

/* ---- where ---- */

/* What block i touches, once it is known where it begins. */
static void find_bytes(struct others_side *s, int i)
{
    struct others_block *b = &s->blocks[i];
    MPI_Aint lb, extent, true_lb, true_extent;

    MPI_Type_get_extent(type_of(s, PLAIN, i), &lb, &extent);
    MPI_Type_get_true_extent(type_of(s, PLAIN, i), &true_lb, &true_extent);
    b->low = b->high = b->at;
    if (b->count > 0) {
        b->low = b->at + true_lb;
        b->high = b->low + true_extent + (b->count - 1) * extent;
    }
}

static void place_evenly(struct others_side *s)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type_of(s, PLAIN, 0), &lb, &extent);
    for (int i = 0; i < s->n; i++) {
        s->blocks[i].at = i * s->blocks[i].count * extent;
        find_bytes(s, i);
    }
}

/* An empty block may be said to lie anywhere. */
static MPI_Aint place_empty(uint64_t *rng, MPI_Aint at)
{
    static const MPI_Aint far[] = {0, 1 << 20, -(1 << 20)};

    return at + far[rng_below(rng, 3)];
}

/*
 * In multiples of the extent. Elements never meet: in no layout do two bytes lie a multiple of the
 * extent apart.
 */
static void place_elements(struct others_side *s, const int *order, uint64_t *rng)
{
    MPI_Aint lb, extent, at = rng_below(rng, 9) - 4;

    MPI_Type_get_extent(type_of(s, PLAIN, 0), &lb, &extent);
    for (int k = 0; k < s->n; k++) {
        struct others_block *b = &s->blocks[order[k]];

        b->at = (0 == b->count ? place_empty(rng, at) : at) * extent;
        at += b->count + rng_below(rng, 3);
        find_bytes(s, order[k]);
    }
}

/* In bytes, so that every element is aligned. */
static void place_bytes(struct others_side *s, const int *order, uint64_t *rng)
{
    MPI_Aint next = 8 * (rng_below(rng, 9) - 4);

    for (int k = 0; k < s->n; k++) {
        struct others_block *b = &s->blocks[order[k]];

        b->at = 0;
        find_bytes(s, order[k]);
        b->at = 0 == b->count ? place_empty(rng, next)
                              : next + 8 * rng_below(rng, 3) + (-b->low + 7) / 8 * 8;
        find_bytes(s, order[k]);
        next = b->count > 0 ? (b->high + 7) / 8 * 8 : next;
    }
}

static void place(struct others_side *s, uint64_t rng)
{
    int *order = malloc(((size_t) s->n + 1) * sizeof *order), in_order = rng_below(&rng, 2);

    shuffle(s->n, order, &rng);
    for (int i = 0; i < s->n && in_order; i++) {
        order[i] = i;
    }
    if (SPREAD_V == s->spread) {
        place_elements(s, order, &rng);
    } else if (SPREAD_W == s->spread && !s->absolute && s->n > 1) {
        place_bytes(s, order, &rng);
    } else if (
        SPREAD_W ==
        s->spread) { /* Open MPI's coll/self takes displacements for multiples of the extent: 0 */
        for (int i = 0; i < s->n; i++) {
            find_bytes(s, i);
        }
    } else {
        place_evenly(s);
    }
    free(order);
}

/* ---- buffers ---- */

static MPI_Aint address_of(const void *at)
{
    MPI_Aint a;

    MPI_Get_address(at, &a);
    return a;
}

/*
 * Room for blocks first ... last - 1. Those in allocations of their own are now and then left in
 * host memory.
 */
static void make_buffer(const struct others_call *c, struct others_side *s, struct others_buffer *b,
                        int first, int last, uint64_t *rng)
{
    bool reduces = others_infos[c->what.coll].reduces;
    /* where all data are single bytes */
    bool odd = reduces ? 0 == c->what.op : 0 == c->what.base && !types_differ(s);
    int step = odd ? 1 : 8;
    size_t shift = (size_t) (step * rng_below(rng, 3));
    bool none = true;

    for (int i = first; i < last; i++) {
        if (s->blocks[i].count > 0) {
            b->low = none || s->blocks[i].low < b->low ? s->blocks[i].low : b->low;
            b->high = none || s->blocks[i].high > b->high ? s->blocks[i].high : b->high;
            none = false;
        }
    }
    b->slack = step * rng_below(rng, 6);
    b->copy[PLAIN] =
        guarded_alloc((size_t) (b->high - b->low + b->slack + step * rng_below(rng, 6)), shift);
    b->copy[LENT] = guarded_copy(&b->copy[PLAIN]);
    b->before = malloc(b->copy[PLAIN].bytes + 1);
    b->mpi[PLAIN] = address_of(b->copy[PLAIN].data);
    b->mpi[LENT] = address_of(s->absolute && 0 == rng_below(rng, 3) ? b->copy[LENT].data
                                                                    : guarded_lend(&b->copy[LENT]));
}

/* ---- what MPI is told ---- */

/* The address from which the places of a buffer's blocks are counted. */
static MPI_Aint origin(const struct others_buffer *b, int copy)
{
    return MPI_Aint_add(b->mpi[copy], b->slack - b->low);
}

static void make_end(const struct others_call *c, struct others_side *s, int copy)
{
    struct others_end *e = &s->end[copy];
    MPI_Aint lb, extent;

    e->count = s->blocks[0].count;
    e->type = e->types[0];
    if (s->absent) {
        e->at = s->in_place ? MPI_IN_PLACE : NULL;
        /*
         * both sides of a reduction have one count and type, and Open MPI's MPI_Bcast wants a type
         * of all ranks
         */
        if (!others_infos[c->what.coll].reduces && OTHERS_BCAST != c->what.coll) {
            e->count = 0;
            e->type = MPI_DATATYPE_NULL;
        }
        return;
    }
    MPI_Type_get_extent(e->type, &lb, &extent);
    e->counts = calloc(2 * (size_t) s->n + 1, sizeof *e->counts);
    e->displs = e->counts + s->n;
    e->places = calloc((size_t) s->n + 1, sizeof *e->places);
    for (int i = 0; i < s->n; i++) {
        e->counts[i] = s->blocks[i].count;
        e->displs[i] = (int) (SPREAD_V == s->spread ? s->blocks[i].at / extent : s->blocks[i].at);
        e->places[i] = s->absolute ? origin(&s->buffer[i], copy) : s->blocks[i].at;
    }
    e->at = s->absolute ? MPI_BOTTOM : (void *) origin(&s->buffer[0], copy);
}

/* An alltoallw counts from the buffer in ints: addresses are in the types. */
static void make_absolute(struct others_side *s, int copy, bool as_struct)
{
    struct others_end *e = &s->end[copy];

    for (int i = 0; i < s->n; i++) {
        if (e->counts[i] > 0) {
            e->types[i] = others_type_at(e->types[i], e->counts[i], e->places[i], as_struct);
            e->counts[i] = 1;
        }
        e->displs[i] = 0;
    }
}

/* The arrays for MPI_..._c. */
static void widen(struct others_end *e, int n)
{
    if (NULL == e->counts) {
        return;
    }
    e->counts_c = calloc((size_t) n + 1, sizeof *e->counts_c);
    e->displs_c = calloc((size_t) n + 1, sizeof *e->displs_c);
    for (int i = 0; i < n; i++) {
        e->counts_c[i] = e->counts[i];
        e->displs_c[i] = e->displs[i];
    }
}

void others_side_make(struct others_call *c, struct others_side *s)
{
    uint64_t rng = rng_key(c->what.key, s == &c->send ? 30 : 31, (uint64_t) test_rank);

    if (SPREAD_NONE == s->spread) {
        return;
    }
    s->absent = s->in_place || (s->unread && rng_below(&rng, 2));
    make_types(c, s, PLAIN);
    make_types(c, s, LENT);
    place(s, rng_next(&rng));
    s->buffers = s->absent ? 0 : s->absolute ? s->n : 1;
    s->buffer = calloc((size_t) s->buffers + 1, sizeof *s->buffer);
    for (int i = 0; i < s->buffers; i++) {
        make_buffer(c, s, &s->buffer[i], s->absolute ? i : 0, s->absolute ? i + 1 : s->n, &rng);
    }
    for (int copy = 0; copy < COPIES; copy++) {
        make_end(c, s, copy);
        if (s->absolute && !s->absent && OTHERS_ALLTOALLW == c->what.coll) {
            make_absolute(s, copy, s == &c->send);
        }
        widen(&s->end[copy], s->n);
    }
}

/* The arrays stay as they are: they belong to the call until it is complete. */
void others_side_drop(const struct others_side *s, int copy)
{
    for (int i = 0; SPREAD_NONE != s->spread && i < num_types(s); i++) {
        others_type_drop(s->end[copy].types[i]);
    }
}

void others_side_free(struct others_side *s)
{
    for (int i = 0; i < s->buffers; i++) {
        guarded_free(&s->buffer[i].copy[PLAIN]);
        guarded_free(&s->buffer[i].copy[LENT]);
        free(s->buffer[i].before);
    }
    for (int copy = 0; copy < COPIES; copy++) {
        free(s->end[copy].types);
        free(s->end[copy].counts);
        free(s->end[copy].places);
        free(s->end[copy].counts_c);
        free(s->end[copy].displs_c);
    }
    free(s->buffer);
    free(s->blocks);
}
