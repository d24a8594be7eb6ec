/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mailboxes: small messages without schedule and stepper.
 *
 * Every rank of a mailbox has a board in its own shared memory (a slab, pool.h), which all others of
 * the mailbox read. A call is one epoch:
 *
 *      rank w's board     for each reader   set 0                set nsets-1
 *                         [left|consumed]   [epoch|label|data] ... [epoch|label|data]
 *
 *      post      a sender copies its data into set (epoch mod nsets) of its own board, then stores
 *                the epoch with release: up to 48 bytes are one cache line, one exchange
 *      take      a receiver waits for the epoch on the boards of the senders, and copies or combines
 *                the data there: in the order of ranks what it combines, blocks from its own rank on
 *
 * A set is used again nsets calls later. By then all readers must have taken its data. In a Bcast
 * or Reduce the writer gets no answer, so each reader stores its consumed epoch, the last call that
 * it has completed, into its entry of every board, every nsets/2 calls. The writer reads these
 * entries only if what it read last does not show that the set is free.
 *
 * There is no deadlock: to post epoch e, a rank waits until all ranks have taken e - nsets. That
 * needs only posts up to e - nsets, and consumed epochs up to there have been stored by then.
 *
 * The label says which call the data are of: its collective, its root, and the number of posted
 * bytes. A receiver compares it with its own call before it touches the data. So ranks whose calls
 * do not match get an error, not a wrong result. The label is in the cache line of the epoch, which
 * the receiver has anyway.
 *
 * Epochs are 64 bits and may begin anywhere. A new lease of a board begins with all sets cleaned to
 * the epoch before the first, which no reader waits for.
 *
 * Every rank reduces in the order of ranks, ((x_0 op x_1) op x_2) op ..., so an Allreduce gives the
 * same bits on all ranks, and the same as Reduce and Reduce_scatter.
 */
#ifndef GR_EXEC_MAILBOX_H
#define GR_EXEC_MAILBOX_H

#include "exec/label.h"
#include "exec/reduce.h"
#include "link/board.h"

#include <assert.h>
#include <string.h>

/* On the path of each small call, where a function's call would take as long as what it does. */
#define GR_INLINE inline __attribute__((always_inline))

/* Most bytes of a set's data. */
static inline size_t gr_mailbox_room(const struct gr_mailbox *box)
{
    return box->stride - GR_SET_HEAD;
}

/*
 * Most bytes that a rank posts in a call among p ranks: in an allgather, its block where all share
 * one mailbox, and all blocks in groups (grouped.h). Equal on all ranks.
 */
size_t gr_mailbox_bytes(enum gr_coll coll, int p, size_t total_bytes, size_t largest_block_bytes);

struct gr_mailbox_call;

/* Takes other ranks' posts; returns whether it has all. */
typedef int gr_mailbox_take_fn(struct gr_mailbox *box, struct gr_mailbox_call *call);

/*
 * One call. Buffers belong to the caller, who keeps them until the call is done. in and out may
 * overlap. A rank reads its own block, or contribution, in `in` where nothing was stored over it.
 */
struct gr_mailbox_call {
    enum gr_coll coll;
    int root; /* rank; bcast, reduce */
    /*
     * gr_label_kind() of the call that this one is, or is a part of. 0 on all ranks: only bytes are
     * compared.
     */
    uint64_t kind;
    /*
     * what this rank posts: the vector, all blocks (reduce_scatter, alltoall), or its block
     * (allgather)
     */
    const unsigned char *in;
    /* the vector, all blocks (allgather, alltoall), or this rank's block (reduce_scatter) */
    unsigned char *out;
    size_t count;         /* elements of the vector, or of each block where counts is NULL */
    const size_t *counts; /* elements of each rank's block, or NULL */
    /*
     * [rank]: first element of the block, in the posted vector (reduce_scatter; ascending) or in
     * out (allgather); NULL: blocks follow each other
     */
    const size_t *displs;
    struct gr_reducer reducer; /* elem_bytes always; the functions only for reductions */

    /* Private. */
    size_t bytes;             /* of the vector, or of each block where counts is NULL */
    size_t post_bytes;        /* what this rank posts; 0: nothing */
    gr_mailbox_take_fn *take; /* NULL: it takes nothing */
    uint64_t epoch;
    size_t at; /* of the epoch's set among the sets of a board */
    int next;  /* ranks whose data have been taken; a bcast's root while it is awaited */
    /* after an error: the label that the next post to be taken should have. Else 0 */
    uint64_t expected;
};

/* Elements of the blocks of the ranks from first up to, but without, end. */
static inline size_t gr_mailbox_elems(const struct gr_mailbox_call *call, int first, int end)
{
    size_t n = 0;
    int r;

    if (NULL == call->counts) {
        return (size_t) (end - first) * call->count;
    }
    for (r = first; r < end; r++) {
        n += call->counts[r];
    }
    return n;
}

/* Elements of a rank's block. */
static inline size_t gr_mailbox_block_count(const struct gr_mailbox_call *call, int r)
{
    return NULL != call->counts ? call->counts[r] : call->count;
}

/* The element that a rank's block begins at. */
static inline size_t gr_mailbox_block_at(const struct gr_mailbox_call *call, int r)
{
    return NULL != call->displs ? call->displs[r] : gr_mailbox_elems(call, 0, r);
}

/* Elements of the vector of a reduce_scatter among p ranks: all blocks, and what is between them. */
size_t gr_mailbox_scattered(const struct gr_mailbox_call *call, int p);

/* Find what the call posts and takes. */
void gr_mailbox_prepare(const struct gr_mailbox *box, struct gr_mailbox_call *call);

/* Prepare the call, and give it its epoch, the next one of the mailbox. */
void gr_mailbox_begin(struct gr_mailbox *box, struct gr_mailbox_call *call);

/* Offset of the epoch's set among the sets of a board. */
static inline size_t gr_mailbox_set(const struct gr_mailbox *box, uint64_t epoch)
{
    return (epoch & (box->nsets - 1)) * box->stride;
}

/*
 * The same for a call that was prepared before, and has met no error. A reduce is prepared again
 * for other buffers: its root posts nothing where its input does not overlap its output.
 */
static GR_INLINE void gr_mailbox_begin_again(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    call->epoch = ++box->begun;
    call->at = gr_mailbox_set(box, call->epoch);
    call->next = 0;
}

/* How far epoch a is after b, which may be after a. Epochs wrap, so only differences count. */
static inline int64_t gr_epochs_after(uint64_t a, uint64_t b)
{
    return (int64_t) (a - b);
}

/* Read the consumed epochs of all readers of this rank's board. 1: the set of `epoch` is free. */
int gr_mailbox_find_freed(struct gr_mailbox *box, uint64_t epoch);

/*
 * Prefetch a line for writing. On x86-64 the compiler's built-in does not emit the instruction for
 * that.
 */
static inline void gr_prefetch_write(const unsigned char *line)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/*
 * Write a call's post of `bytes`, which are few, into its set; the epoch last. bytes is
 * call->post_bytes, which compilers do not take for constant.
 */
static GR_INLINE void gr_mailbox_write_few(unsigned char *set, const struct gr_mailbox_call *call,
                                           size_t bytes)
{
    *gr_board_label(set) = call->kind | bytes;
    memcpy(set + GR_SET_HEAD, call->in, bytes);
    atomic_store_explicit(gr_board_epoch(set), call->epoch, memory_order_release);
}

/* A post of more bytes than this takes so long that its first line may be lost meanwhile. */
#define GR_LONG_POST ((size_t) 256)

/* The same of any number of bytes. */
void gr_mailbox_write(unsigned char *set, const struct gr_mailbox_call *call);

/* Bytes of a post in the line of the epoch. */
#define GR_FIRST_LINE (GR_CACHE_LINE - GR_SET_HEAD)

/* Prefetch a set for writing so many bytes, all but the first line. */
void gr_mailbox_prefetch_lines(const unsigned char *set, size_t bytes);

/*
 * Post the call; all calls before it have been posted. 1; 0: its set is in use, try again. What is
 * rare is in functions of its own: so compilers save few registers.
 *
 * Where box->prefetches, the set of the next call is prefetched for writing: otherwise that post
 * would have to wait for the caches of the readers, which still hold it. The next call is taken to
 * be like the one before this one: so are calls of one kind, and those with barriers between.
 */
static GR_INLINE int gr_mailbox_post(struct gr_mailbox *box, const struct gr_mailbox_call *call)
{
    size_t bytes = call->post_bytes, next_bytes;
    unsigned char *set, *next;

    if (call->epoch == box->full && !gr_mailbox_find_freed(box, call->epoch)) {
        return 0;
    }
    assert(call->epoch == box->posted + 1);
    box->posted = call->epoch;
    set = box->mine + call->at;
    if (8 == bytes) {
        gr_mailbox_write_few(set, call, 8);
    } else if (4 == bytes) {
        gr_mailbox_write_few(set, call, 4);
    } else if (1 == bytes) { /* a barrier's */
        gr_mailbox_write_few(set, call, 1);
    } else if (0 != bytes) {
        gr_mailbox_write(set, call);
    }
    if (box->prefetches) {
        next_bytes = box->posted_bytes;
        box->posted_bytes = call->post_bytes;
        if (0 != next_bytes) {
            next = box->mine + gr_mailbox_set(box, call->epoch + 1);
            gr_prefetch_write(next);
            if (next_bytes > GR_FIRST_LINE) {
                gr_mailbox_prefetch_lines(next, next_bytes);
            }
        }
    }
    return 1;
}

/* Whether the call has been posted. */
static inline int gr_mailbox_is_posted(const struct gr_mailbox *box,
                                       const struct gr_mailbox_call *call)
{
    return box->posted - call->epoch < box->nsets;
}

/* Store on all boards how far this rank has taken. */
void gr_mailbox_tell_taken(struct gr_mailbox *box);

/* The error of a call that meets another one. */
int gr_mailbox_difference_code(const struct gr_mailbox *box, const struct gr_mailbox_call *call);

/*
 * Take what other ranks have posted; the call has been posted, and all calls before it are done. 1:
 * the call is done; 0: it waits for the ranks of gr_mailbox_waits_for(). GR_ERR_DIFFER: a rank has
 * posted another call, or one of another root; GR_ERR_TRUNCATE: only the number of its bytes
 * differs. After an error, another attempt returns the same.
 */
static GR_INLINE int gr_mailbox_try_take(struct gr_mailbox *box, struct gr_mailbox_call *call)
{
    if (NULL != call->take && !call->take(box, call)) {
        return 0 != call->expected ? gr_mailbox_difference_code(box, call) : 0;
    }
    box->taken = call->epoch;
    if (call->epoch == box->tell) {
        gr_mailbox_tell_taken(box);
    }
    return 1;
}

/* The same; *moved is increased by the number of boards that were taken. */
static inline int gr_mailbox_take(struct gr_mailbox *box, struct gr_mailbox_call *call,
                                  uint64_t *moved)
{
    uint64_t before = box->moved;
    int rc;

    assert(call->epoch == box->taken + 1);
    rc = gr_mailbox_try_take(box, call);
    *moved += box->moved - before;
    return rc;
}

/* gr_mailbox_post(), unless the call has been posted; then gr_mailbox_take(), which is returned. */
static inline int gr_mailbox_poll(struct gr_mailbox *box, struct gr_mailbox_call *call,
                                  uint64_t *moved)
{
    if (!gr_mailbox_is_posted(box, call) && !gr_mailbox_post(box, call)) {
        return 0;
    }
    return gr_mailbox_take(box, call, moved);
}

/* A word that another rank changes, and the value that it is to have. word NULL: nothing is known. */
struct gr_awaited {
    const _Atomic uint64_t *word;
    uint64_t value;
};

/*
 * After gr_mailbox_take() has returned 0: the epoch without which it takes nothing; until that has
 * come, it would return 0 again.
 */
struct gr_awaited gr_mailbox_awaits(const struct gr_mailbox *box,
                                    const struct gr_mailbox_call *call);

/*
 * The ranks that the call waits for: before it is posted, those that must take an older call first;
 * then the rank whose post is taken next. Writes up to p entries; returns their number.
 */
int gr_mailbox_waits_for(const struct gr_mailbox *box, const struct gr_mailbox_call *call,
                         int *ranks);

/* After an error of gr_mailbox_take(): the post that is not of the call. */
struct gr_label_pair gr_mailbox_difference(const struct gr_mailbox *box,
                                           const struct gr_mailbox_call *call);

#endif
