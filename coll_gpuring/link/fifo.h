/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A link: a one-way FIFO of slots from one rank to another, on one channel.
 *
 *      writer ---- tail ----> [slot][slot][slot][slot] ---- head ----> reader
 *                  (written by the writer)   (written by the reader)
 *
 * The slots and both counters lie in the reader's memory (a slab of its pool, pool.h). Each counter
 * has one writer and only grows, over all leases of the slab. tail - head slots are full. At least
 * two slots: with one, fused receive-and-send steps deadlock from three ranks on.
 *
 * Order: the writer stores the data, then tail with release; the reader loads tail with acquire,
 * then the data. The reader loads the data, then stores head with release; the writer loads head
 * with acquire, then overwrites the slot.
 */
#ifndef GR_LINK_FIFO_H
#define GR_LINK_FIFO_H

#include "link/lease.h"

#include <stddef.h>

#define GR_MIN_SLOTS 2
#define GR_MAX_SLOTS 64

/*
 * Words that a writer says beside its slots: who reads a slot finds those of when it was pushed, or
 * newer ones.
 */
enum { GR_WORD_LAG, GR_WORD_RESYNC, GR_NWORDS }; /* both of timing/timer.h */

/* The shared part, at the start of a slab. */
struct gr_link_shared {
    struct gr_lease_user writer;
    _Alignas(GR_CACHE_LINE) _Atomic uint64_t tail; /* slots written, ever */
    _Atomic uint64_t words[GR_NWORDS];             /* of the writer's */
    /* and which of its links goes first: gr_link_set_slot_info() */
    _Atomic uint64_t turn;
    /* 1: the writer's call has failed: gr_link_withdraw() */
    _Atomic uint64_t withdrawn;
    _Alignas(GR_CACHE_LINE) _Atomic uint64_t head; /* slots read, ever */
    _Alignas(GR_CACHE_LINE) unsigned char slots[];
};

/*
 * Direct slots: where both ends agreed on it for a call, a slot begins with one word for each piece
 * of its message. It is the piece's address in the writer's memory, from where the reader fetches
 * it (cma.h): one copy instead of two; or 0, and the piece lies in the slot, behind the words.
 */
#define GR_DIRECT_PIECES 8
#define GR_DIRECT_HEAD (GR_DIRECT_PIECES * sizeof(uint64_t))

/* One end of a link; private to its process. */
struct gr_link {
    struct gr_link_shared *shared; /* NULL: not connected */
    uint64_t mine;  /* the counter that this end writes: tail of the writer, head of the reader */
    uint64_t other; /* the other end's counter when last looked at */
    uint32_t nslots;
    size_t slot_bytes;
    /*
     * [slot]: where its writer says how many bytes of it are in use, before the push: what lies
     * between the ends may be a network. NULL: nobody asks
     */
    uint32_t *fill;
    const void **from; /* beside fill: as in the FIFO that it is written for, */
    uint64_t *turns;   /* and how often links that have it in common were begun anew */
};

/*
 * Slots in a GPU's memory, which the host does not touch; the rest of the FIFO is the host's. What
 * a network writes there may be seen later than what the host says afterwards, but not later than a
 * flush.
 */
struct gr_fifo_gpu {
    int on; /* slots lie there */
    /* reader's, before the tail is raised; 0 or a negative error; NULL: there is no need */
    int (*flush)(void *gpu);
    void *gpu;
    struct gr_lease_user *user; /* of the memory of the slots, */
    uint64_t lease;             /* told as the FIFO's */
};

/*
 * A FIFO in this process's memory whose one end is a network (net/net.h); who is at the other, a
 * gr_link or kernels, is nothing to it. It belongs to whoever leased it, and stays until the
 * network has left it.
 */
struct gr_fifo {
    _Atomic uint64_t *tail, *head;
    unsigned char *slots;
    uint64_t count;    /* where its counters stand: no slot is full */
    uint32_t nslots;   /* GR_MIN_SLOTS .. GR_MAX_SLOTS */
    size_t slot_bytes; /* < 2^32 */
    /* writer's: [slot]: bytes that are to travel, written before the push; NULL: all of it */
    const uint32_t *fill;
    /*
     * writer's: [slot]: where they lie instead of in the slot, written before the push, until the
     * slot is free again; NULL: in the slot. NULL: all of them do
     */
    const void **from;
    /* writer's: where the slots begin that are not to travel yet, as tail; NULL: all may */
    const _Atomic uint64_t *until;
    _Atomic uint64_t *words; /* [GR_NWORDS], which travel with slots; NULL: nothing is said */
    /* writer's: slots of the FIFO where this is less are sent first; NULL: 0 */
    const _Atomic uint64_t *turn;
    struct gr_lease_user *user; /* that is told when the network has left it: */
    uint64_t lease;
    struct gr_fifo_gpu gpu;
};

/* Bytes of a slab for such a link. */
static inline size_t gr_link_bytes(uint32_t nslots, size_t slot_bytes)
{
    return sizeof(struct gr_link_shared) + nslots * slot_bytes;
}

/*
 * Behind the slots of a link that has its fill and from in the slab: bytes from the first slot to
 * where `from` begins.
 */
static inline size_t gr_link_from_offset(uint32_t nslots, size_t slot_bytes)
{
    size_t fill_end = nslots * (slot_bytes + sizeof(uint32_t));

    return (fill_end + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
}

/* Bytes of a slab for such a link; and where they are. */
static inline size_t gr_link_filled_bytes(uint32_t nslots, size_t slot_bytes)
{
    size_t bytes =
        gr_link_bytes(0, 0) + gr_link_from_offset(nslots, slot_bytes) + nslots * sizeof(void *);

    return (bytes + GR_CACHE_LINE - 1) / GR_CACHE_LINE * GR_CACHE_LINE;
}

static inline uint32_t *gr_link_valid_bytes(struct gr_link_shared *shared, uint32_t nslots,
                                            size_t slot_bytes)
{
    return (uint32_t *) (void *) (shared->slots + nslots * slot_bytes);
}

static inline const void **gr_link_from(struct gr_link_shared *shared, uint32_t nslots,
                                        size_t slot_bytes)
{
    return (const void **) (void *) (shared->slots + gr_link_from_offset(nslots, slot_bytes));
}

/* That of a link; without fill, from, and a lease. */
static inline struct gr_fifo gr_link_fifo(struct gr_link_shared *shared, uint64_t count,
                                          uint32_t nslots, size_t slot_bytes)
{
    return (struct gr_fifo) {.tail = &shared->tail,
                             .head = &shared->head,
                             .slots = shared->slots,
                             .count = count,
                             .nslots = nslots,
                             .slot_bytes = slot_bytes,
                             .words = shared->words,
                             .user = &shared->writer};
}

/*
 * Reader, at the begin of a lease, when nobody else touches the slab: a team that died may have
 * left slots unread, which are skipped, so that both counters stand alike. Returns where.
 */
static inline uint64_t gr_link_renew(struct gr_link_shared *shared)
{
    uint64_t count = atomic_load_explicit(&shared->tail, memory_order_acquire);

    atomic_store_explicit(&shared->head, count, memory_order_relaxed);
    atomic_store_explicit(&shared->withdrawn, 0, memory_order_relaxed);
    return count;
}

/*
 * Take an end of a link whose counters stand at `count` (no slot is full). Both ends must be given
 * the same.
 */
static inline void gr_link_attach(struct gr_link *l, struct gr_link_shared *shared, uint64_t count,
                                  uint32_t nslots, size_t slot_bytes)
{
    l->shared = shared;
    l->mine = l->other = count;
    l->nslots = nslots;
    l->slot_bytes = slot_bytes;
    l->fill = NULL;
    l->from = NULL;
    l->turns = NULL;
}

/* The slot that this end handles next. */
static inline void *gr_link_slot(const struct gr_link *l)
{
    return l->shared->slots + l->mine % l->nslots * l->slot_bytes;
}

/* Writer: whether a slot is free. */
static inline int gr_link_writable(struct gr_link *l)
{
    if (l->mine - l->other < l->nslots) {
        return 1;
    }
    l->other = atomic_load_explicit(&l->shared->head, memory_order_acquire);
    return l->mine - l->other < l->nslots;
}

/* Writer: whether the reader is through with all slots. */
static inline int gr_link_drained(struct gr_link *l)
{
    if (l->mine != l->other) {
        l->other = atomic_load_explicit(&l->shared->head, memory_order_acquire);
    }
    return l->mine == l->other;
}

/*
 * Beside data that other processes read by system calls. ThreadSanitizer, which does not see those,
 * knows no fences.
 */
static inline void gr_link_fence(memory_order order)
{
#if defined(__SANITIZE_THREAD__)
    (void) order;
#else
    atomic_thread_fence(order);
#endif
}

/*
 * Writer, whose call has failed, before the application gets its buffers back: what direct slots
 * point to may change from now on.
 */
static inline void gr_link_withdraw(struct gr_link *l)
{
    atomic_store_explicit(&l->shared->withdrawn, 1, memory_order_relaxed);
    gr_link_fence(memory_order_seq_cst);
}

/* Reader, when it has fetched what a direct slot points to: whether it may have changed before. */
static inline int gr_link_withdrawn(const struct gr_link *l)
{
    gr_link_fence(memory_order_acquire);
    return 0 != atomic_load_explicit(&l->shared->withdrawn, memory_order_relaxed);
}

/*
 * Writer, before it pushes a slot of which a network has to know more (fill): that many bytes are
 * in use, and lie there, or, with NULL, in the slot. To send takes a network long, so what was
 * pushed first goes first: a link in which nothing waits queues up behind the others.
 */
static inline void gr_link_set_slot_info(struct gr_link *l, size_t bytes, const void *from)
{
    l->fill[l->mine % l->nslots] = (uint32_t) bytes;
    l->from[l->mine % l->nslots] = from;
    if (gr_link_drained(l)) {
        atomic_store_explicit(&l->shared->turn, ++*l->turns, memory_order_relaxed);
    }
}

/* Writer: the slot's data are complete. */
static inline void gr_link_push(struct gr_link *l)
{
    atomic_store_explicit(&l->shared->tail, ++l->mine, memory_order_release);
}

/* Reader: whether a slot is full. */
static inline int gr_link_readable(struct gr_link *l)
{
    if (l->other != l->mine) {
        return 1;
    }
    l->other = atomic_load_explicit(&l->shared->tail, memory_order_acquire);
    return l->other != l->mine;
}

/* Reader: the slot's data are used up. */
static inline void gr_link_pop(struct gr_link *l)
{
    atomic_store_explicit(&l->shared->head, ++l->mine, memory_order_release);
}

#endif
