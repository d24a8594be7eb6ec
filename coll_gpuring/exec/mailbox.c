/* SPDX-License-Identifier: BSD-3-Clause */
/* Mailboxes: posting and taking small messages. */
#include "exec/mailbox.h"

#include "sched/groups.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bytes of a post that are prefetched before they are reduced; after that, the processor prefetches
 * by itself.
 */
#define PREFETCH_READ ((size_t) 2048)

/* Most bytes of an element that gr_reduce() combines into one of its sources. */
#define MOST_IN_PLACE ((size_t) 4096)

/*
 * Prefetch a line for writing. On x86-64 the compiler's built-in does not emit the instruction for
 * that.
 */
static inline void prefetch_write(const unsigned char *line)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

size_t gr_mailbox_bytes(enum gr_coll coll, int p, size_t total_bytes, size_t largest_block_bytes)
{
    return GR_COLL_ALLGATHER == coll && !gr_is_grouped(p) ? largest_block_bytes : total_bytes;
}

/* The epoch's set on rank's board. */
static unsigned char *set_of(const struct gr_mailbox *box, int rank, uint64_t epoch)
{
    return box->boards[rank].sets + (epoch & (box->nsets - 1)) * box->stride;
}

/* How far epoch a is after b, which may be after a. Epochs wrap, so only differences count. */
static int64_t after(uint64_t a, uint64_t b)
{
    return (int64_t) (a - b);
}

/*
 * Whether the set of `epoch` is free, where all have completed `consumed`. That may be more than
 * this rank has: others that only post may be ahead.
 */
static int set_is_free(const struct gr_mailbox *box, uint64_t epoch, uint64_t consumed)
{
    return after(epoch, consumed) <= (int64_t) box->nsets;
}

/* Read the consumed epochs of all readers of this rank's board. 1: the set of `epoch` is free. */
static int find_freed(struct gr_mailbox *box, uint64_t epoch)
{
    const struct gr_board *mine = &box->boards[box->rank];
    uint64_t least = box->taken, consumed;
    int r;

    for (r = 0; r < box->p; r++) {
        if (r != box->rank) {
            consumed = atomic_load_explicit(&mine->users[r].word, memory_order_acquire);
            least = after(least, consumed) > 0 ? consumed : least;
        }
    }
    box->freed = least;
    return set_is_free(box, epoch, least);
}

static size_t block_count(const struct gr_mailbox_call *call, int r)
{
    return NULL != call->counts ? call->counts[r] : call->count;
}

static size_t block_at(const struct gr_mailbox_call *call, int r)
{
    size_t at = 0;
    int k;

    if (NULL != call->displs) {
        return call->displs[r];
    }
    if (NULL == call->counts) {
        return (size_t) r * call->count;
    }
    for (k = 0; k < r; k++) {
        at += call->counts[k];
    }
    return at;
}

/*
 * Whether this rank reads its own contribution in its input, where no other core reads it, and not
 * on its board: from byte `offset`, when its turn to be combined comes, nothing was stored over it.
 */
static int reads_input(const struct gr_mailbox *box, const struct gr_mailbox_call *call,
                       size_t offset, size_t n)
{
    size_t elem = call->reducer.elem_bytes;
    uintptr_t in = (uintptr_t) call->in + offset, out = (uintptr_t) call->out;

    if (in == out) {
        return box->rank <= 1 && elem <= MOST_IN_PLACE; /* combined first, in place */
    }
    return in + n * elem <= out || out + n * elem <= in;
}

/* Elements of all blocks of a reduce_scatter. */
static size_t scattered_count(const struct gr_mailbox *box, const struct gr_mailbox_call *call)
{
    int last = box->p - 1;

    return block_at(call, last) + block_count(call, last);
}

/* Elements that this rank posts; 0: it only receives. */
static size_t post_count(const struct gr_mailbox *box, const struct gr_mailbox_call *call)
{
    switch (call->coll) {
    case GR_COLL_ALLGATHER:
        return block_count(call, box->rank);
    case GR_COLL_REDUCE_SCATTER:
        return scattered_count(box, call);
    case GR_COLL_ALLTOALL:
        return (size_t) box->p * call->count;
    case GR_COLL_BCAST:
        return box->rank == call->root ? call->count : 0;
    case GR_COLL_REDUCE:
        return box->rank == call->root && reads_input(box, call, 0, call->count) ? 0 : call->count;
    default:
        return call->count;
    }
}

/*
 * Prefetch the set of the call after `epoch` for writing. Otherwise the post would have to wait for
 * the caches of the readers, which still hold it. That call is taken to be like the one before
 * `epoch`, which posted so many bytes: so are calls of one kind, and those with barriers between.
 */
static void prefetch_next(const struct gr_mailbox *box, uint64_t epoch, size_t bytes)
{
    unsigned char *set = set_of(box, box->rank, epoch + 1);
    size_t at;

    for (at = 0; 0 != bytes && at < GR_SET_HEAD + bytes; at += GR_CACHE_LINE) {
        prefetch_write(set + at);
    }
}

int gr_mailbox_post(struct gr_mailbox *box, const struct gr_mailbox_call *call)
{
    unsigned char *set;
    size_t bytes;

    assert(call->epoch == box->posted + 1);
    if (!set_is_free(box, call->epoch, box->freed) && !find_freed(box, call->epoch)) {
        return 0;
    }
    bytes = post_count(box, call) * call->reducer.elem_bytes;
    if (bytes > 0) {
        assert(bytes <= gr_mailbox_room(box));
        set = set_of(box, box->rank, call->epoch);
        *gr_board_label(set) = call->kind | bytes;
        memcpy(set + GR_SET_HEAD, call->in, bytes);
        atomic_store_explicit(gr_board_epoch(set), call->epoch, memory_order_release);
    }
    box->posted = call->epoch;
    prefetch_next(box, call->epoch, box->posted_bytes);
    box->posted_bytes = bytes;
    return 1;
}

/*
 * The rank whose data are taken next. Blocks are taken from this rank's own on, which is in its
 * input: meanwhile the others' arrive. All else is taken in the order of ranks.
 */
static int taken_next(const struct gr_mailbox *box, const struct gr_mailbox_call *call)
{
    return GR_COLL_ALLGATHER == call->coll || GR_COLL_ALLTOALL == call->coll
               ? (box->rank + call->next) % box->p
               : call->next;
}

/*
 * Rank r's data of the call, of which it posts so many bytes. NULL: it has not posted yet, or
 * another call: then call->expected is set. Inline, as contribution(): a rank that waits comes here
 * in each poll, and between the arrival of the last post and the result.
 */
static inline const unsigned char *posted_by(const struct gr_mailbox *box,
                                             struct gr_mailbox_call *call, int r, size_t bytes)
{
    unsigned char *set = set_of(box, r, call->epoch);
    uint64_t label = call->kind | bytes;

    if (call->epoch != atomic_load_explicit(gr_board_epoch(set), memory_order_acquire)) {
        return NULL;
    }
    if (label != *gr_board_label(set)) {
        call->expected = label;
        return NULL;
    }
    return set + GR_SET_HEAD;
}

/* Which part of the posts of a reduction is combined, in elements. */
struct part {
    size_t all;   /* of a post */
    size_t at, n; /* of the part */
};

/* Rank r's contribution to a reduction; NULL as in posted_by(). */
static inline const unsigned char *contribution(const struct gr_mailbox *box,
                                                struct gr_mailbox_call *call, int r,
                                                const struct part *part)
{
    size_t elem = call->reducer.elem_bytes, offset = part->at * elem;
    const unsigned char *data = r == box->rank && reads_input(box, call, offset, part->n)
                                    ? call->in
                                    : posted_by(box, call, r, part->all * elem);

    return NULL != data ? data + offset : NULL;
}

/* Prefetch lines that another core has written: otherwise they arrive one after the other. */
static void prefetch_read(const unsigned char *data, size_t bytes)
{
    size_t at;

    for (at = 0; at < bytes && at < PREFETCH_READ; at += GR_CACHE_LINE) {
        __builtin_prefetch(data + at, 0);
    }
}

/* Reduce a part of all ranks' posts. Returns whether all have been taken. */
static int take_reduction(struct gr_mailbox *box, struct gr_mailbox_call *call,
                          const struct part *part, uint64_t *moved)
{
    void *out = call->out;
    const unsigned char *first, *other;
    const void *source;

    if (0 == part->n) {
        return 1;
    }
    for (; call->next < box->p; call->next++) {
        other = contribution(box, call, call->next, part);
        if (NULL == other) {
            return 0;
        }
        ++*moved;
        if (0 == call->next) {
            continue; /* reduced together with rank 1: saves a copy */
        }
        first = 1 == call->next ? contribution(box, call, 0, part) : call->out;
        source = other;
        /* one of the two may be this rank's, which is in its cache */
        prefetch_read(box->rank == call->next ? first : other, part->n * call->reducer.elem_bytes);
        gr_reduce(&call->reducer, &out, 1, first, &source, 1, part->n);
    }
    return 1;
}

static int take_vector(struct gr_mailbox *box, struct gr_mailbox_call *call, uint64_t *moved)
{
    struct part part = {.all = call->count, .at = 0, .n = call->count};

    return take_reduction(box, call, &part, moved);
}

static int take_scatter(struct gr_mailbox *box, struct gr_mailbox_call *call, uint64_t *moved)
{
    struct part part = {.all = scattered_count(box, call),
                        .at = block_at(call, box->rank),
                        .n = block_count(call, box->rank)};

    return take_reduction(box, call, &part, moved);
}

static int take_gather(struct gr_mailbox *box, struct gr_mailbox_call *call, uint64_t *moved)
{
    size_t elem = call->reducer.elem_bytes, n;
    const unsigned char *from;
    unsigned char *to;
    int r;

    for (; call->next < box->p; call->next++) {
        r = taken_next(box, call);
        n = block_count(call, r) * elem;
        if (0 == n) {
            continue;
        }
        from = r == box->rank ? call->in : posted_by(box, call, r, n);
        if (NULL == from) {
            return 0;
        }
        to = call->out + block_at(call, r) * elem;
        if (to != from) {
            memmove(to, from, n); /* this rank's own block may overlap */
        }
        ++*moved;
    }
    return 1;
}

/* The block for this rank that each rank has posted. */
static int take_blocks(struct gr_mailbox *box, struct gr_mailbox_call *call, uint64_t *moved)
{
    size_t bytes = call->count * call->reducer.elem_bytes;
    const unsigned char *from;
    unsigned char *to;
    int r;

    for (; 0 != bytes && call->next < box->p; call->next++) {
        r = taken_next(box, call);
        from = r == box->rank ? call->in : posted_by(box, call, r, (size_t) box->p * bytes);
        if (NULL == from) {
            return 0;
        }
        from += (size_t) box->rank * bytes;
        to = call->out + (size_t) r * bytes;
        if (to != from) {
            memmove(to, from, bytes);
        }
        ++*moved;
    }
    return 1;
}

static int take_bcast(struct gr_mailbox *box, struct gr_mailbox_call *call, uint64_t *moved)
{
    size_t bytes = call->count * call->reducer.elem_bytes;
    const unsigned char *from;

    if (box->rank != call->root && bytes > 0) {
        call->next = call->root;
        from = posted_by(box, call, call->root, bytes);
        if (NULL == from) {
            return 0;
        }
        memcpy(call->out, from, bytes);
        ++*moved;
    }
    return 1;
}

/* Whether all ranks have posted: then all have entered. */
static int take_tokens(struct gr_mailbox *box, struct gr_mailbox_call *call, uint64_t *moved)
{
    size_t bytes = call->count * call->reducer.elem_bytes;

    for (; call->next < box->p; call->next++) {
        if (NULL == posted_by(box, call, call->next, bytes)) {
            return 0;
        }
        ++*moved;
    }
    return 1;
}

static int take(struct gr_mailbox *box, struct gr_mailbox_call *call, uint64_t *moved)
{
    switch (call->coll) {
    case GR_COLL_ALLREDUCE:
        return take_vector(box, call, moved);
    case GR_COLL_ALLGATHER:
        return take_gather(box, call, moved);
    case GR_COLL_REDUCE_SCATTER:
        return take_scatter(box, call, moved);
    case GR_COLL_BCAST:
        return take_bcast(box, call, moved);
    case GR_COLL_BARRIER:
        return take_tokens(box, call, moved);
    case GR_COLL_ALLTOALL:
        return take_blocks(box, call, moved);
    default:
        return box->rank != call->root || take_vector(box, call, moved);
    }
}

/* Store this rank's consumed epoch on all boards. */
static void tell_consumed(struct gr_mailbox *box)
{
    int r;

    for (r = 0; r < box->p; r++) {
        if (r != box->rank) {
            atomic_store_explicit(&box->boards[r].users[box->rank].word, box->taken,
                                  memory_order_release);
        }
    }
    box->acked = box->taken;
}

struct gr_label_pair gr_mailbox_difference(const struct gr_mailbox *box,
                                           const struct gr_mailbox_call *call)
{
    int r = taken_next(box, call);

    return (struct gr_label_pair) {.rank = r,
                                   .posted = *gr_board_label(set_of(box, r, call->epoch)),
                                   .expected = call->expected};
}

/* The error of a call that meets another one. */
static int difference_code(const struct gr_mailbox *box, const struct gr_mailbox_call *call)
{
    struct gr_label_pair pair = gr_mailbox_difference(box, call);

    return gr_label_error(&pair);
}

int gr_mailbox_take(struct gr_mailbox *box, struct gr_mailbox_call *call, uint64_t *moved)
{
    assert(call->epoch == box->taken + 1);
    if (!take(box, call, moved)) {
        return 0 != call->expected ? difference_code(box, call) : 0;
    }
    box->taken = call->epoch;
    if (box->taken - box->acked >= box->nsets / 2) {
        tell_consumed(box);
    }
    return 1;
}

int gr_mailbox_poll(struct gr_mailbox *box, struct gr_mailbox_call *call, uint64_t *moved)
{
    if (!gr_mailbox_is_posted(box, call) && !gr_mailbox_post(box, call)) {
        return 0;
    }
    return gr_mailbox_take(box, call, moved);
}

struct gr_awaited gr_mailbox_awaits(const struct gr_mailbox *box,
                                    const struct gr_mailbox_call *call)
{
    unsigned char *set = set_of(box, taken_next(box, call), call->epoch);

    return (struct gr_awaited) {.word = gr_board_epoch(set), .value = call->epoch};
}

int gr_mailbox_waits_for(const struct gr_mailbox *box, const struct gr_mailbox_call *call,
                         int *ranks)
{
    const struct gr_board *mine = &box->boards[box->rank];
    int n = 0, r;

    if (after(call->epoch, box->posted) <= 0) {
        ranks[n++] = taken_next(box, call);
        return n;
    }
    for (r = 0; r < box->p; r++) {
        if (r != box->rank &&
            !set_is_free(box, call->epoch,
                         atomic_load_explicit(&mine->users[r].word, memory_order_relaxed))) {
            ranks[n++] = r;
        }
    }
    return n;
}
