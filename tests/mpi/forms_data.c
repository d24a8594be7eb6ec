/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers of a call: numbers of elements, contents before and after it (forms.h). */
#include <stdlib.h>
#include <string.h>

#include "forms.h"
#include "rng.h"
#include "tap.h"

/* ---- where its elements lie ---- */

/*
 * Blocks of about c->count elements, in another order than the ranks and with gaps between them
 * where the collective has displacements. Returns the room that they take at the output of an
 * allgatherv.
 */
static int place_blocks(struct form_call *c)
{
    uint64_t rng = rng_key(c->shape.key, 6, 0);
    int way = rng_below(&rng, 4), first = rng_below(&rng, c->size), at = 0;

    for (int r = 0; r < c->size; r++) {
        switch (way) {
        case 0:
            c->counts[r] = c->count;
            break;
        case 1:
            c->counts[r] = rng_below(&rng, 2 * c->count + 1);
            break;
        case 2:
            c->counts[r] = r % 2 ? 0 : c->count;
            break;
        default:
            c->counts[r] = r == first ? c->count : 0;
            break;
        }
    }
    for (int i = 0; i < c->size; i++) {
        int r = (first + i) % c->size;

        at += rng_below(&rng, 3);
        c->displs[r] = at;
        at += c->counts[r];
    }
    return at + rng_below(&rng, 3);
}

static int blocks_before(const struct form_call *c, int rank)
{
    int n = 0;

    for (int r = 0; r < rank; r++) {
        n += c->counts[r];
    }
    return n;
}

/* Elements of input, and of output that MPI defines, on this rank. */
static void plan(struct form_call *c)
{
    int room = place_blocks(c);

    c->inputs = c->compared = c->count;
    c->in_place_at = 0;
    switch (c->shape.coll) {
    case COLL_ALLGATHER:
        c->compared = c->count * c->size;
        c->in_place_at = c->count * c->rank;
        break;
    case COLL_ALLGATHERV:
        c->inputs = c->counts[c->rank];
        c->compared = room;
        c->in_place_at = c->displs[c->rank];
        break;
    case COLL_REDUCE_SCATTER:
        c->inputs = blocks_before(c, c->size);
        c->compared = c->counts[c->rank];
        break;
    case COLL_REDUCE_SCATTER_BLOCK:
        c->inputs = c->count * c->size;
        break;
    case COLL_BCAST:
        c->inputs = 0;
        break;
    case COLL_ALLTOALL:
        c->inputs = c->compared = c->count * c->size;
        break;
    case COLL_REDUCE:
        c->compared = c->rank == c->root ? c->count : 0;
        break;
    default:
        break;
    }
}

static void widen(struct form_call *c)
{
    for (int r = 0; r < c->size; r++) {
        c->wide_counts[r] = c->counts[r];
        c->wide_displs[r] = c->displs[r];
    }
}

size_t form_arrays(struct form_call *c)
{
    const struct form_call had = *c;
    size_t n = (size_t) c->size;
    size_t bytes = n * (sizeof *c->wide_counts + sizeof *c->wide_displs + 2 * sizeof *c->counts);

    c->wide_counts = malloc(bytes);
    if (NULL == c->wide_counts) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    c->wide_displs = (MPI_Aint *) (c->wide_counts + n);
    c->counts = (int *) (c->wide_displs + n);
    c->displs = c->counts + n;
    for (size_t r = 0; r < n; r++) {
        c->counts[r] = NULL != had.counts ? had.counts[r] : 0;
        c->displs[r] = NULL != had.displs ? had.displs[r] : 0;
    }
    widen(c);
    return bytes;
}

static char *lend(const struct form_call *c, struct guarded *g)
{
    return c->shape.on_host ? guarded_lend_kind(g, DEVMEM_HOST) : guarded_lend(g);
}

void form_make(struct form_call *c, MPI_Comm comm, const struct form_shape *shape)
{
    const struct kind *k = &kinds[shape->kind];
    const struct coll_info *info = &coll_infos[shape->coll];
    bool in_place;
    int room;

    *c = (struct form_call) {
        .shape = *shape, .comm = comm, .type = k->type, .op = k->op, .count = shape->count};
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->size);
    c->root = shape->root % c->size;
    if (info->blocks && (long) c->count * k->extent > 65536) {
        c->count /= c->size;
    }
    (void) form_arrays(c);
    plan(c);
    widen(c);
    in_place =
        shape->in_place && info->in_place && (COLL_REDUCE != shape->coll || c->rank == c->root);
    room = in_place && c->inputs > c->compared ? c->inputs : c->compared;
    c->in = guarded_alloc((in_place ? 0 : (size_t) c->inputs) * (size_t) k->extent, 0);
    c->out = guarded_alloc((size_t) room * (size_t) k->extent, shape->key % 3 * (size_t) k->extent);
    c->send = in_place ? MPI_IN_PLACE : lend(c, &c->in);
    c->recv = lend(c, &c->out);
}

/* ---- inputs and results ---- */

#define UNWRITTEN 0x36

static char *element(const struct form_call *c, char *base, int i)
{
    return base + (size_t) i * (size_t) kinds[c->shape.kind].extent;
}

/* What the buffers hold before the call. */
static void fill_in(const struct form_call *c, char *to)
{
    memset(to, UNWRITTEN, c->in.bytes);
    kind_fill(&kinds[c->shape.kind], to, 0, MPI_IN_PLACE == c->send ? 0 : c->inputs, c->salt,
              c->rank);
}

static void fill_out(const struct form_call *c, char *to)
{
    const struct kind *k = &kinds[c->shape.kind];

    memset(to, UNWRITTEN, c->out.bytes);
    if (COLL_BCAST == c->shape.coll && c->rank == c->root) {
        kind_fill(k, to, 0, c->count, c->salt, c->rank);
    } else if (MPI_IN_PLACE == c->send) {
        kind_fill(k, element(c, to, c->in_place_at), 0, c->inputs, c->salt, c->rank);
    }
}

static void gathered(const struct form_call *c, char *to)
{
    bool v = COLL_ALLGATHERV == c->shape.coll;

    for (int r = 0; r < c->size; r++) {
        kind_fill(&kinds[c->shape.kind], element(c, to, v ? c->displs[r] : r * c->count), 0,
                  v ? c->counts[r] : c->count, c->salt, r);
    }
}

/* What each rank had for this one. */
static void exchanged(const struct form_call *c, char *to)
{
    for (int r = 0; r < c->size; r++) {
        kind_fill(&kinds[c->shape.kind], element(c, to, r * c->count), c->rank * c->count, c->count,
                  c->salt, r);
    }
}

/* What the output holds after the call, in its first c->compared elements. */
static void result(const struct form_call *c, char *to)
{
    const struct kind *k = &kinds[c->shape.kind];

    memset(to, UNWRITTEN, c->out.bytes);
    switch (c->shape.coll) {
    case COLL_ALLGATHER:
    case COLL_ALLGATHERV:
        gathered(c, to);
        break;
    case COLL_ALLTOALL:
        exchanged(c, to);
        break;
    case COLL_BCAST:
        kind_fill(k, to, 0, c->count, c->salt, c->root);
        break;
    case COLL_REDUCE_SCATTER:
        kind_reduce(k, to, blocks_before(c, c->rank), c->compared, c->salt, c->size);
        break;
    case COLL_REDUCE_SCATTER_BLOCK:
        kind_reduce(k, to, c->rank * c->count, c->compared, c->salt, c->size);
        break;
    default:
        kind_reduce(k, to, 0, c->compared, c->salt, c->size);
        break;
    }
}

void form_fill(struct form_call *c, uint64_t salt)
{
    c->salt = salt;
    c->filled = true;
    fill_in(c, c->in.data);
    fill_out(c, c->out.data);
    guarded_put(&c->in);
    guarded_put(&c->out);
}

bool form_check(struct form_call *c)
{
    const struct kind *k = &kinds[c->shape.kind];
    char *expected = malloc(c->out.bytes + c->in.bytes + 1);
    const char *what = NULL;
    long at;

    c->filled = false;
    guarded_get(&c->in);
    guarded_get(&c->out);
    result(c, expected);
    at = first_difference(c->out.data, expected, (size_t) c->compared * (size_t) k->extent);
    if (at >= 0) {
        what = "wrong output";
    } else if (!guarded_intact(&c->out)) {
        what = "written beside the output";
    } else {
        fill_in(c, expected);
        at = first_difference(c->in.data, expected, c->in.bytes);
        what = at >= 0 || !guarded_intact(&c->in) ? "written to the input" : NULL;
    }
    free(expected);
    if (NULL != what) {
        tap_fault("%s: %s, %s, count %d, root %d, in place %d, key 0x%llx, salt 0x%llx, rank %d of "
                  "%d, byte %ld",
                  what, coll_infos[c->shape.coll].name, k->name, c->count, c->root,
                  MPI_IN_PLACE == c->send, (unsigned long long) c->shape.key,
                  (unsigned long long) c->salt, c->rank, c->size, at);
    }
    return NULL == what;
}

void form_free(struct form_call *c)
{
    guarded_free(&c->in);
    guarded_free(&c->out);
    free(c->wide_counts);
    c->wide_counts = NULL;
}
