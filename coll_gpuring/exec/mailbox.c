/* SPDX-License-Identifier: BSD-3-Clause */
/* Mailboxes: posting and taking small messages. */
#include "exec/mailbox.h"

#include "sched/groups.h"

/*
 * Bytes of a post that are prefetched before they are reduced; after that, the processor prefetches
 * by itself.
 */
#define PREFETCH_READ ((size_t) 2048)

/* Most bytes of an element that gr_reduce() combines into one of its sources. */
#define MOST_IN_PLACE ((size_t) 4096)

size_t gr_mailbox_bytes(enum gr_coll coll, int p, size_t total_bytes, size_t largest_block_bytes)
{
    return GR_COLL_ALLGATHER == coll && !gr_is_grouped(p) ? largest_block_bytes : total_bytes;
}

/* The call's set on rank's board. */
static inline unsigned char *set_of(const struct gr_mailbox *box, int rank,
                                    const struct gr_mailbox_call *call)
{
    return box->boards[rank].sets + call->at;
}

int gr_mailbox_find_freed(struct gr_mailbox *box, uint64_t epoch)
{
    const struct gr_board *mine = &box->boards[box->rank];
    uint64_t least = box->taken, consumed;
    int r;

    for (r = 0; r < box->p; r++) {
        if (r != box->rank) {
            consumed = atomic_load_explicit(&mine->users[r].word, memory_order_acquire);
            least = gr_epochs_after(least, consumed) > 0 ? consumed : least;
        }
    }
    box->full = gr_mailbox_first_full(box, least);
    return gr_epochs_after(box->full, epoch) > 0;
}

/*
 * Receivers read the set's first line again and again, so of a long post it is written last: it
 * would leave this core's cache while the rest is copied.
 */
void gr_mailbox_write(unsigned char *set, const struct gr_mailbox_call *call)
{
    size_t bytes = call->post_bytes;

    if (bytes > GR_LONG_POST) {
        memcpy(set + GR_CACHE_LINE, call->in + GR_FIRST_LINE, bytes - GR_FIRST_LINE);
        bytes = GR_FIRST_LINE;
    }
    *gr_board_label(set) = call->kind | call->post_bytes;
    memcpy(set + GR_SET_HEAD, call->in, bytes);
    atomic_store_explicit(gr_board_epoch(set), call->epoch, memory_order_release);
}

void gr_mailbox_prefetch_lines(const unsigned char *set, size_t bytes)
{
    size_t at;

    for (at = GR_CACHE_LINE; at < GR_SET_HEAD + bytes; at += GR_CACHE_LINE) {
        gr_prefetch_write(set + at);
    }
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

size_t gr_mailbox_scattered(const struct gr_mailbox_call *call, int p)
{
    int last = p - 1;

    return gr_mailbox_block_at(call, last) + gr_mailbox_block_count(call, last);
}

/* Elements that this rank posts; 0: it only receives. */
static size_t post_count(const struct gr_mailbox *box, const struct gr_mailbox_call *call)
{
    switch (call->coll) {
    case GR_COLL_ALLGATHER:
        return gr_mailbox_block_count(call, box->rank);
    case GR_COLL_REDUCE_SCATTER:
        return gr_mailbox_scattered(call, box->p);
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
    unsigned char *set = set_of(box, r, call);
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

/*
 * Prefetch lines that another core has written: otherwise they arrive one after the other. The
 * first one of a post is there.
 */
static inline void prefetch_read(const unsigned char *data, size_t bytes)
{
    size_t at;

    for (at = GR_FIRST_LINE; at < bytes && at < PREFETCH_READ; at += GR_CACHE_LINE) {
        __builtin_prefetch(data + at, 0);
    }
}

/*
 * Reduce a part of all ranks' posts of `all` elements: n elements from element `at` on. Returns
 * whether all have been taken.
 */
static GR_INLINE int take_reduction(struct gr_mailbox *box, struct gr_mailbox_call *call,
                                    size_t all, size_t at, size_t n)
{
    size_t elem = call->reducer.elem_bytes, offset = at * elem;
    const unsigned char *own = NULL, *first = call->out, *data;
    /* ranks 0 and 1 are combined in one step, which saves a copy */
    int r = call->next > 1 ? call->next : 0;

    if (0 == n) {
        return 1;
    }
    if (reads_input(box, call, offset, n)) {
        own = call->in;
    }
    for (; r < box->p; r++) {
        data = r == box->rank && NULL != own ? own : posted_by(box, call, r, all * elem);
        if (NULL == data) {
            call->next = r;
            return 0;
        }
        data += offset;
        if (0 == r) {
            first = data;
            continue;
        }
        /* one of the two may be this rank's, which is in its cache */
        prefetch_read(box->rank == r ? first : data, n * elem);
        gr_reduce_pair(&call->reducer, call->out, first, data, n);
        first = call->out;
        box->moved += 1 == r ? 2 : 1;
    }
    return 1;
}

static int take_vector(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    return take_reduction(box, call, call->count, 0, call->count);
}

/*
 * The vectors of two ranks, of one cache line each. This rank's is read where it was posted, so that
 * its input may overlap the output in any way.
 */
static int take_pair(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    const int other = 1 - box->rank;
    const unsigned char *own = call->in, *data;

    data = posted_by(box, call, other, call->bytes);
    if (NULL == data) {
        call->next = other;
        return 0;
    }
    if (0 != call->post_bytes) {
        own = box->mine + call->at + GR_SET_HEAD;
    }
    box->moved += 2;
    gr_reduce_pair(&call->reducer, call->out, 0 == other ? data : own, 0 == other ? own : data,
                   call->count);
    return 1;
}

static int take_scatter(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    return take_reduction(box, call, gr_mailbox_scattered(call, box->p),
                          gr_mailbox_block_at(call, box->rank),
                          gr_mailbox_block_count(call, box->rank));
}

static int take_gather(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    size_t elem = call->reducer.elem_bytes, n;
    const unsigned char *from;
    unsigned char *to;
    int r;

    for (; call->next < box->p; call->next++) {
        r = taken_next(box, call);
        n = gr_mailbox_block_count(call, r) * elem;
        if (0 == n) {
            continue;
        }
        from = r == box->rank ? call->in : posted_by(box, call, r, n);
        if (NULL == from) {
            return 0;
        }
        to = call->out + gr_mailbox_block_at(call, r) * elem;
        if (to != from) {
            memmove(to, from, n); /* this rank's own block may overlap */
        }
        ++box->moved;
    }
    return 1;
}

/* The block for this rank that each rank has posted. */
static int take_blocks(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    size_t bytes = call->bytes;
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
        ++box->moved;
    }
    return 1;
}

/* Copy bytes; fast where they are one element. */
static inline void copy_few(unsigned char *to, const unsigned char *from, size_t bytes)
{
    if (8 == bytes) {
        memcpy(to, from, 8);
    } else if (4 == bytes) {
        memcpy(to, from, 4);
    } else {
        memcpy(to, from, bytes);
    }
}

static int take_bcast(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    const unsigned char *from;

    if (call->bytes > 0) {
        call->next = call->root;
        from = posted_by(box, call, call->root, call->bytes);
        if (NULL == from) {
            return 0;
        }
        copy_few(call->out, from, call->bytes);
        ++box->moved;
    }
    return 1;
}

/* Whether all ranks have posted: then all have entered. */
static int take_tokens(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    for (; call->next < box->p; call->next++) {
        if (call->next != box->rank && NULL == posted_by(box, call, call->next, call->bytes)) {
            return 0;
        }
        ++box->moved;
    }
    return 1;
}

static gr_mailbox_take_fn *const take[] = {
    [GR_COLL_ALLREDUCE] = take_vector, [GR_COLL_REDUCE] = take_vector,
    [GR_COLL_BCAST] = take_bcast,      [GR_COLL_REDUCE_SCATTER] = take_scatter,
    [GR_COLL_BARRIER] = take_tokens,   [GR_COLL_ALLGATHER] = take_gather,
    [GR_COLL_ALLTOALL] = take_blocks,
};

void gr_mailbox_prepare(const struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    bool root = box->rank == call->root;
    bool takes = GR_COLL_BCAST == call->coll ? !root : GR_COLL_REDUCE != call->coll || root;
    call->bytes = call->count * call->reducer.elem_bytes;
    call->post_bytes = post_count(box, call) * call->reducer.elem_bytes;
    assert(call->post_bytes <= gr_mailbox_room(box));
    call->expected = 0;
    call->take = takes ? take[call->coll] : NULL;
    if (take_vector == call->take && 2 == box->p && 0 != call->bytes &&
        call->bytes <= GR_FIRST_LINE) {
        call->take = take_pair;
    }
}

void gr_mailbox_begin(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    gr_mailbox_prepare(box, call);
    gr_mailbox_begin_again(box, call);
}

void gr_mailbox_tell_taken(struct gr_mailbox *box)
{
    int r;

    for (r = 0; r < box->p; r++) {
        if (r != box->rank) {
            atomic_store_explicit(&box->boards[r].users[box->rank].word, box->taken,
                                  memory_order_release);
        }
    }
    box->tell = box->taken + box->nsets / 2;
}

struct gr_label_pair gr_mailbox_difference(const struct gr_mailbox *box,
                                           const struct gr_mailbox_call *call)
{
    int r = taken_next(box, call);

    return (struct gr_label_pair) {
        .rank = r, .posted = *gr_board_label(set_of(box, r, call)), .expected = call->expected};
}

int gr_mailbox_difference_code(const struct gr_mailbox *box, const struct gr_mailbox_call *call)
{
    struct gr_label_pair pair = gr_mailbox_difference(box, call);

    return gr_label_error(&pair);
}

struct gr_awaited gr_mailbox_awaits(const struct gr_mailbox *box,
                                    const struct gr_mailbox_call *call)
{
    unsigned char *set = set_of(box, taken_next(box, call), call);

    return (struct gr_awaited) {.word = gr_board_epoch(set), .value = call->epoch};
}

int gr_mailbox_waits_for(const struct gr_mailbox *box, const struct gr_mailbox_call *call,
                         int *ranks)
{
    const struct gr_board *mine = &box->boards[box->rank];
    int n = 0, r;

    if (gr_epochs_after(call->epoch, box->posted) <= 0) {
        ranks[n++] = taken_next(box, call);
        return n;
    }
    for (r = 0; r < box->p; r++) {
        if (r != box->rank &&
            gr_epochs_after(
                call->epoch,
                gr_mailbox_first_full(
                    box, atomic_load_explicit(&mine->users[r].word, memory_order_relaxed))) >= 0) {
            ranks[n++] = r;
        }
    }
    return n;
}
