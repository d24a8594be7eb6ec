/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns what a collective moves, and checks that it did. See moves.h. */
#include "moves.h"

#include <stdlib.h>
#include <string.h>

/* Bytes behind the output that must stay as they were. */
enum { GUARD = 64 };

static int one(const struct shape *shape)
{
    return shape->out_count > 0;
}

static int one_per_rank(const struct shape *shape)
{
    return shape->out_count > 0 ? shape->ranks : 0;
}

/*
 * Rank 0 of an exscan has no output. It has room for one all the same, of which nothing is
 * demanded: Open MPI 5.0's coll/accelerator reads that, and writes it back. In place, its input
 * stays there.
 */
static int one_but_at_first(const struct shape *shape)
{
    return shape->rank > 0 || shape->shared;
}

static void reduction(const struct shape *shape, int index, struct segment *segment)
{
    (void) index;
    *segment = (struct segment) {MOVES_FIRST(shape->ranks), 0, shape->total};
}

static void my_block_of_reduction(const struct shape *shape, int index, struct segment *segment)
{
    (void) index;
    *segment = (struct segment) {MOVES_FIRST(shape->ranks), (size_t) shape->rank * shape->block,
                                 shape->block};
}

static void reduction_up_to_mine(const struct shape *shape, int index, struct segment *segment)
{
    (void) index;
    *segment = (struct segment) {MOVES_FIRST(shape->rank + 1), 0, shape->total};
}

/* Rank 0's input is the reduction of the first rank's. */
static void reduction_before_mine(const struct shape *shape, int index, struct segment *segment)
{
    (void) index;
    *segment = (struct segment) {MOVES_FIRST(shape->rank > 0 ? shape->rank : 1), 0, shape->total};
}

static void input_of_each(const struct shape *shape, int index, struct segment *segment)
{
    *segment = (struct segment) {index, 0, shape->block};
}

static void my_block_of_each(const struct shape *shape, int index, struct segment *segment)
{
    *segment = (struct segment) {index, (size_t) shape->rank * shape->block, shape->block};
}

static void input_of_root(const struct shape *shape, int index, struct segment *segment)
{
    (void) index;
    *segment = (struct segment) {shape->root, 0, shape->total};
}

/* In place, the root's blocks stay where they are, all of them. */
static void my_block_of_root(const struct shape *shape, int index, struct segment *segment)
{
    (void) index;
    *segment = (struct segment) {
        shape->root, shape->shared ? 0 : (size_t) shape->rank * shape->block, shape->out_count};
}

static void input_of_left(const struct shape *shape, int index, struct segment *segment)
{
    (void) index;
    *segment = (struct segment) {(shape->rank + shape->ranks - 1) % shape->ranks, 0, shape->total};
}

const struct moves moves_allreduce = {MOVES_REDUCED | MOVES_IN_PLACE, one, reduction};
const struct moves moves_reduce = {MOVES_REDUCED | MOVES_TO_ROOT | MOVES_IN_PLACE, one, reduction};
const struct moves moves_reduce_scatter = {
    MOVES_DIVIDED | MOVES_OUT_BLOCK | MOVES_REDUCED | MOVES_IN_PLACE, one, my_block_of_reduction};
const struct moves moves_allgather = {MOVES_DIVIDED | MOVES_IN_BLOCK | MOVES_IN_PLACE, one_per_rank,
                                      input_of_each};
const struct moves moves_gather = {MOVES_DIVIDED | MOVES_IN_BLOCK | MOVES_TO_ROOT | MOVES_IN_PLACE,
                                   one_per_rank, input_of_each};
const struct moves moves_scatter = {MOVES_DIVIDED | MOVES_OUT_BLOCK | MOVES_FROM_ROOT |
                                        MOVES_IN_PLACE | MOVES_NO_RECEIVE,
                                    one, my_block_of_root};
const struct moves moves_alltoall = {MOVES_DIVIDED | MOVES_IN_PLACE, one_per_rank,
                                     my_block_of_each};
const struct moves moves_bcast = {MOVES_FROM_ROOT | MOVES_IN_PLACE | MOVES_ONE_BUFFER, one,
                                  input_of_root};
const struct moves moves_scan = {MOVES_REDUCED | MOVES_IN_PLACE, one, reduction_up_to_mine};
const struct moves moves_exscan = {MOVES_REDUCED | MOVES_IN_PLACE, one_but_at_first,
                                   reduction_before_mine};
const struct moves moves_sendrecv = {0, one, input_of_left};

struct shape moves_shape(const struct moves *moves, size_t bytes, size_t element, int ranks,
                         int rank, int root, bool in_place)
{
    unsigned flags = moves->flags;
    size_t blocks = flags & MOVES_DIVIDED ? (size_t) ranks : 1;
    size_t block = bytes / element / blocks;
    bool is_root = rank == root;
    struct shape s = {moves, ranks, rank, root, element, 0, 0, 0, 0, false, 0};

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
    int n = shape->moves->segments(shape);

    for (int i = 0; i < n; i++) {
        struct segment s;
        shape->moves->segment(shape, i, &s);
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
