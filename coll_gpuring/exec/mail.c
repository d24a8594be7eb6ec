/* SPDX-License-Identifier: BSD-3-Clause */
/* Mailboxes: posting and taking small messages. */
#include "exec/mail.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bytes of a post that are prefetched before they are reduced; after that, the processor prefetches
 * by itself.
 */
#define PREFETCH_READ ((size_t) 2048)

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

size_t gr_mail_bytes(enum gr_coll coll, size_t total_bytes, size_t largest_block_bytes)
{
    return GR_COLL_ALLGATHER == coll ? largest_block_bytes : total_bytes;
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

static size_t block_count(const struct gr_mail *mail, int r)
{
    return NULL != mail->counts ? mail->counts[r] : mail->count;
}

static size_t block_at(const struct gr_mail *mail, int r)
{
    size_t at = 0;
    int k;

    if (NULL != mail->displs) {
        return mail->displs[r];
    }
    if (NULL == mail->counts) {
        return (size_t) r * mail->count;
    }
    for (k = 0; k < r; k++) {
        at += mail->counts[k];
    }
    return at;
}

/* Elements that this rank posts; 0: it only receives. */
static size_t post_count(const struct gr_mailbox *box, const struct gr_mail *mail)
{
    int last = box->p - 1;

    switch (mail->coll) {
    case GR_COLL_ALLGATHER:
        return block_count(mail, box->rank);
    case GR_COLL_REDUCE_SCATTER:
        return block_at(mail, last) + block_count(mail, last);
    case GR_COLL_BCAST:
        return box->rank == mail->root ? mail->count : 0;
    default: /* also at the root of a reduce, which reads its contribution there */
        return mail->count;
    }
}

int gr_mail_post(struct gr_mailbox *box, const struct gr_mail *mail)
{
    unsigned char *set;
    size_t bytes;

    assert(mail->epoch == box->posted + 1);
    if (!set_is_free(box, mail->epoch, box->freed) && !find_freed(box, mail->epoch)) {
        return 0;
    }
    bytes = post_count(box, mail) * mail->reducer.elem_bytes;
    if (bytes > 0) {
        assert(bytes <= gr_mailbox_room(box));
        set = set_of(box, box->rank, mail->epoch);
        memcpy(set + GR_SET_HEAD, mail->in, bytes);
        atomic_store_explicit(gr_board_epoch(set), mail->epoch, memory_order_release);
    }
    box->posted = mail->epoch;
    return 1;
}

/* Rank r's data of the call; NULL: it has not posted yet. */
static const unsigned char *posted_by(const struct gr_mailbox *box, const struct gr_mail *mail,
                                      int r)
{
    unsigned char *set = set_of(box, r, mail->epoch);

    return mail->epoch == atomic_load_explicit(gr_board_epoch(set), memory_order_acquire)
               ? set + GR_SET_HEAD
               : NULL;
}

/* Prefetch lines that another core has written: otherwise they arrive one after the other. */
static void prefetch_read(const unsigned char *data, size_t bytes)
{
    size_t at;

    for (at = 0; at < bytes && at < PREFETCH_READ; at += GR_CACHE_LINE) {
        __builtin_prefetch(data + at, 0);
    }
}

/* Reduce n elements, from element `at` of all ranks' posts. Returns whether all have been taken. */
static int take_reduction(struct gr_mailbox *box, struct gr_mail *mail, size_t at, size_t n,
                          uint64_t *moved)
{
    size_t offset = at * mail->reducer.elem_bytes;
    void *out = mail->out;
    const unsigned char *first, *other;
    const void *source;

    if (0 == n) {
        return 1;
    }
    for (; mail->next < box->p; mail->next++) {
        other = posted_by(box, mail, mail->next);
        if (NULL == other) {
            return 0;
        }
        ++*moved;
        if (0 == mail->next) {
            continue; /* reduced together with rank 1: saves a copy */
        }
        first = 1 == mail->next ? posted_by(box, mail, 0) + offset : mail->out;
        source = other + offset;
        /* one of the two may be this rank's, which is in its cache */
        prefetch_read(box->rank == mail->next ? first : other + offset,
                      n * mail->reducer.elem_bytes);
        gr_reduce(&mail->reducer, &out, 1, first, &source, 1, n);
    }
    return 1;
}

static int take_gather(struct gr_mailbox *box, struct gr_mail *mail, uint64_t *moved)
{
    size_t elem = mail->reducer.elem_bytes, n;
    const unsigned char *from;
    unsigned char *to;

    for (; mail->next < box->p; mail->next++) {
        n = block_count(mail, mail->next) * elem;
        if (0 == n) {
            continue;
        }
        from = posted_by(box, mail, mail->next);
        if (NULL == from) {
            return 0;
        }
        to = mail->out + block_at(mail, mail->next) * elem;
        if (mail->next != box->rank || to != mail->in) {
            memcpy(to, from, n);
        }
        ++*moved;
    }
    return 1;
}

static int take_bcast(struct gr_mailbox *box, struct gr_mail *mail, uint64_t *moved)
{
    const unsigned char *from;

    if (box->rank != mail->root && mail->count > 0) {
        mail->next = mail->root;
        from = posted_by(box, mail, mail->root);
        if (NULL == from) {
            return 0;
        }
        memcpy(mail->out, from, mail->count * mail->reducer.elem_bytes);
        ++*moved;
    }
    return 1;
}

static int take(struct gr_mailbox *box, struct gr_mail *mail, uint64_t *moved)
{
    switch (mail->coll) {
    case GR_COLL_ALLREDUCE:
        return take_reduction(box, mail, 0, mail->count, moved);
    case GR_COLL_ALLGATHER:
        return take_gather(box, mail, moved);
    case GR_COLL_REDUCE_SCATTER:
        return take_reduction(box, mail, block_at(mail, box->rank), block_count(mail, box->rank),
                              moved);
    case GR_COLL_BCAST:
        return take_bcast(box, mail, moved);
    default:
        return box->rank != mail->root || take_reduction(box, mail, 0, mail->count, moved);
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

/*
 * The next call is probably like this one: prefetch its set for writing. Otherwise the post would
 * have to wait for the caches of the readers, which still hold it.
 */
static void prefetch_next(struct gr_mailbox *box, const struct gr_mail *mail)
{
    size_t bytes = post_count(box, mail) * mail->reducer.elem_bytes, at;
    unsigned char *set = set_of(box, box->rank, mail->epoch + 1);

    for (at = 0; 0 != bytes && at < GR_SET_HEAD + bytes; at += GR_CACHE_LINE) {
        prefetch_write(set + at);
    }
}

int gr_mail_take(struct gr_mailbox *box, struct gr_mail *mail, uint64_t *moved)
{
    assert(mail->epoch == box->taken + 1);
    if (!take(box, mail, moved)) {
        return 0;
    }
    box->taken = mail->epoch;
    if (box->posted == mail->epoch) {
        prefetch_next(box, mail);
    }
    if (box->taken - box->acked >= box->nsets / 2) {
        tell_consumed(box);
    }
    return 1;
}

int gr_mail_waits_for(const struct gr_mailbox *box, const struct gr_mail *mail, int *ranks)
{
    const struct gr_board *mine = &box->boards[box->rank];
    int n = 0, r;

    if (after(mail->epoch, box->posted) <= 0) {
        ranks[n++] = mail->next;
        return n;
    }
    for (r = 0; r < box->p; r++) {
        if (r != box->rank &&
            !set_is_free(box, mail->epoch,
                         atomic_load_explicit(&mine->users[r].word, memory_order_relaxed))) {
            ranks[n++] = r;
        }
    }
    return n;
}
