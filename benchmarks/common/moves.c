/* SPDX-License-Identifier: BSD-3-Clause */
/* The counts, buffers and checks of moves.h. */
#include "moves.h"

#include <stdlib.h>
#include <string.h>

/* Bytes behind the output that must stay as they were. */
enum { GUARD = 64 };

/* A run of the output: elements of a rank's input, or of a reduction. */
struct segment {
    int source;   /* a rank, or MOVES_FIRST(n): the reduction of the first n ranks' inputs */
    size_t from;  /* the first element's index there */
    size_t count; /* elements */
};

#define MOVES_FIRST(n) (-(n))

enum { REDUCED_IN_PLACE = MOVES_REDUCED | MOVES_IN_PLACE };

const struct moves moves_allreduce = {REDUCED_IN_PLACE, FROM_ALL, WHOLE};
const struct moves moves_reduce = {REDUCED_IN_PLACE | MOVES_TO_ROOT, FROM_ALL, WHOLE};
const struct moves moves_reduce_scatter = {REDUCED_IN_PLACE | MOVES_DIVIDED | MOVES_OUT_BLOCK,
                                           FROM_ALL, MY_BLOCK};
const struct moves moves_allgather = {MOVES_DIVIDED | MOVES_IN_BLOCK | MOVES_IN_PLACE, FROM_EACH,
                                      BLOCK};
const struct moves moves_gather = {MOVES_DIVIDED | MOVES_IN_BLOCK | MOVES_TO_ROOT | MOVES_IN_PLACE,
                                   FROM_EACH, BLOCK};
const struct moves moves_scatter = {MOVES_DIVIDED | MOVES_OUT_BLOCK | MOVES_FROM_ROOT |
                                        MOVES_IN_PLACE | MOVES_NO_RECEIVE,
                                    FROM_ROOT, MY_BLOCK};
const struct moves moves_alltoall = {MOVES_DIVIDED | MOVES_IN_PLACE, FROM_EACH, MY_BLOCK};
const struct moves moves_bcast = {MOVES_FROM_ROOT | MOVES_IN_PLACE | MOVES_ONE_BUFFER, FROM_ROOT,
                                  WHOLE};
const struct moves moves_scan = {REDUCED_IN_PLACE, FROM_UP_TO_MINE, WHOLE};
const struct moves moves_exscan = {REDUCED_IN_PLACE, FROM_BEFORE_MINE, WHOLE};
const struct moves moves_sendrecv = {0, FROM_LEFT, WHOLE};
const struct moves moves_barrier = {MOVES_NOTHING, FROM_ALL, WHOLE};

/*
 * Rank 0 of an exscan has no output. It has a receive buffer, which is not checked: Open MPI 5.0's
 * coll/accelerator reads it and writes it back. In place, its input stays there.
 */
int moves_segments(const struct shape *s)
{
    if (0 == s->out_count || (FROM_BEFORE_MINE == s->moves->from && 0 == s->rank && !s->shared)) {
        return 0;
    }
    return FROM_EACH == s->moves->from ? s->ranks : 1;
}

/* A rank, or MOVES_FIRST(n). */
static int source_of(const struct shape *s, int index)
{
    switch (s->moves->from) {
    case FROM_ALL:
        return MOVES_FIRST(s->ranks);
    case FROM_UP_TO_MINE:
        return MOVES_FIRST(s->rank + 1);
    case FROM_BEFORE_MINE: /* rank 0's input is the reduction of the first rank's */
        return MOVES_FIRST(s->rank > 0 ? s->rank : 1);
    case FROM_ROOT:
        return s->root;
    case FROM_LEFT:
        return (s->rank + s->ranks - 1) % s->ranks;
    case FROM_EACH:
        break;
    }
    return index;
}

static struct segment segment_of(const struct shape *s, int index)
{
    bool all_at_root = FROM_ROOT == s->moves->from && s->shared; /* blocks stay where they are */
    struct segment segment = {.source = source_of(s, index)};

    segment.from = MY_BLOCK == s->moves->part && !all_at_root ? (size_t) s->rank * s->block : 0;
    segment.count = WHOLE == s->moves->part ? s->total : all_at_root ? s->out_count : s->block;
    return segment;
}

struct shape moves_shape(const struct moves *moves, size_t bytes, size_t element, int ranks,
                         int rank, int root, bool in_place)
{
    unsigned flags = moves->flags;
    size_t blocks = flags & MOVES_DIVIDED ? (size_t) ranks : 1;
    size_t block = bytes / element / blocks;
    bool is_root = rank == root;
    struct shape s = {moves, ranks, rank, root, element, 0, 0, 0, 0, false, 0};

    if (flags & MOVES_NOTHING) {
        return s;
    }
    s.block = block > 0 ? block : 1;
    s.total = s.block * blocks;
    s.in_count = flags & MOVES_IN_BLOCK ? s.block : s.total;
    s.out_count = flags & MOVES_OUT_BLOCK ? s.block : s.total;
    s.shared = flags & MOVES_ONE_BUFFER ||
               (in_place && (is_root || !(flags & (MOVES_FROM_ROOT | MOVES_TO_ROOT))));
    if (flags & MOVES_FROM_ROOT && !is_root) {
        s.in_count = 0;
    }
    if (flags & MOVES_TO_ROOT && !is_root) {
        s.out_count = 0;
    }
    if (s.shared && flags & MOVES_IN_BLOCK) {
        s.in_at = (size_t) rank * s.block;
    }
    if (s.shared && flags & MOVES_NO_RECEIVE) {
        s.out_count = s.total;
    }
    return s;
}

/* Bytes of the receive buffer that belong to the call; the guard follows them. */
static size_t recv_bytes(const struct shape *s)
{
    size_t in_end = s->shared ? s->in_at + s->in_count : 0;

    return s->element * (in_end > s->out_count ? in_end : s->out_count);
}

size_t moves_bytes(const struct shape *shape)
{
    return recv_bytes(shape) + GUARD + (shape->shared ? 0 : shape->in_count * shape->element);
}

int moves_alloc(struct buffers *b, const struct memory *memory, const struct shape *shape)
{
    size_t tile = ELEMENT_TILE * shape->element;
    bool need_send = !shape->shared && shape->in_count > 0;

    *b = (struct buffers) {.memory = memory};
    b->send = need_send ? memory->alloc(shape->in_count * shape->element) : NULL;
    b->recv = memory->alloc(recv_bytes(shape) + GUARD);
    b->tile = malloc(tile);
    b->bounce = malloc(tile);
    return (need_send && NULL == b->send) || NULL == b->recv || NULL == b->tile || NULL == b->bounce
               ? -1
               : 0;
}

void moves_release(struct buffers *b)
{
    b->memory->release(b->send);
    b->memory->release(b->recv);
    free(b->tile);
    free(b->bounce);
}

static char *input(const struct buffers *b, const struct shape *shape)
{
    return shape->shared ? b->recv + shape->in_at * shape->element : b->send;
}

/* Elements of the pattern from index on, up to the end of a period. */
static size_t run_length(size_t index, size_t left)
{
    size_t period = ELEMENT_TILE - index % ELEMENT_TILE;

    return left < period ? left : period;
}

/* Another byte for another seed: a value that equals one poison does not equal the other. */
static int poison(const struct element_rule *rule)
{
    return rule->seed & 1 ? 0xa5 : 0x5a;
}

void moves_prepare(const struct buffers *b, const struct shape *shape,
                   const struct element_rule *rule)
{
    size_t size = shape->element, n;
    char *to = input(b, shape);

    b->memory->set(b->recv, poison(rule), recv_bytes(shape) + GUARD);
    element_tile_input(rule, shape->rank, b->tile);
    for (size_t i = 0; i < shape->in_count; i += n) {
        n = run_length(i, shape->in_count - i);
        b->memory->write(to + i * size, b->tile + i % ELEMENT_TILE * size, n * size);
    }
}

static size_t count_unequal(const char *a, const char *b, size_t size, size_t n)
{
    size_t wrong = 0;

    if (0 == memcmp(a, b, n * size)) { /* the usual case, at memory speed */
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        wrong += 0 != memcmp(a + i * size, b + i * size, size);
    }
    return wrong;
}

/* Compares count elements at data with the pattern of the tile from index from on. */
static size_t check_run(const struct buffers *b, const char *data, size_t size, size_t from,
                        size_t count)
{
    size_t wrong = 0, n;

    for (size_t i = 0; i < count; i += n) {
        n = run_length(from + i, count - i);
        wrong += count_unequal(b->memory->view(data + i * size, b->bounce, n * size),
                               b->tile + (from + i) % ELEMENT_TILE * size, size, n);
    }
    return wrong;
}

static size_t check_guard(const struct buffers *b, const struct shape *shape, int byte)
{
    char bounce[GUARD];
    const char *guard = b->memory->view(b->recv + recv_bytes(shape), bounce, GUARD);
    size_t wrong = 0;

    for (size_t i = 0; i < GUARD; i += shape->element) {
        for (size_t k = 0; k < shape->element; k++) {
            if (guard[i + k] != (char) byte) {
                wrong++;
                break;
            }
        }
    }
    return wrong;
}

size_t moves_check(const struct buffers *b, const struct shape *shape,
                   const struct element_rule *rule)
{
    size_t wrong = check_guard(b, shape, poison(rule)), at = 0;
    int n = moves_segments(shape);

    for (int i = 0; i < n; i++) {
        struct segment s = segment_of(shape, i);
        if (s.source < 0) {
            element_tile_reduced(rule, -s.source, b->tile);
        } else {
            element_tile_input(rule, s.source, b->tile);
        }
        wrong += check_run(b, b->recv + at, shape->element, s.from, s.count);
        at += s.count * shape->element;
    }
    if (!shape->shared && shape->in_count > 0) {
        element_tile_input(rule, shape->rank, b->tile);
        wrong += check_run(b, b->send, shape->element, 0, shape->in_count);
    }
    return wrong;
}

void moves_corrupt(const struct buffers *b, const struct shape *shape)
{
    char bounce[16], wrong[16];
    const char *right = b->memory->view(b->recv, bounce, shape->element);

    for (size_t i = 0; i < shape->element; i++) {
        wrong[i] = (char) ~right[i];
    }
    b->memory->write(b->recv, wrong, shape->element);
}
