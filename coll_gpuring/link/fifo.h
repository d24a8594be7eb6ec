/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A link: a one-way FIFO of slots from one rank to another, on one channel.
 *
 *      writer ---- tail ----> [slot][slot][slot][slot] ---- head ----> reader
 *                  (written by the writer)   (written by the reader)
 *
 * The slots and both counters lie in the reader's memory, in a slab of its pool (pool.h). Each
 * counter has one writer, and only grows, over all leases of the slab. tail - head slots are full.
 * A link has two slots at least: with one, steps that receive and send at once deadlock on three or
 * more ranks.
 *
 * Ordering: the writer stores the data, then tail with release; the reader loads tail with acquire,
 * then the data. The reader loads the data, then stores head with release; the writer loads head
 * with acquire, then overwrites the slot.
 */
#ifndef GR_LINK_FIFO_H
#define GR_LINK_FIFO_H

#include "link/lease.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- doorbells ---- */

/*
 * A doorbell: with it an executor tells a network which FIFO it has changed, so that the network
 * need not look at all of them.
 *
 *      executor    stores tail or head, then rings
 *      network     takes the list of rung doorbells, clears each, then loads tail and head
 *
 * An executor may ring while another thread takes the list. Kernels cannot ring: the executor holds
 * the doorbells of their FIFOs while a kernel may run.
 */
struct gr_doorbell;

/* The doorbells that were rung and not taken yet, last one first. All zero at first. */
struct gr_doorbells {
    _Atomic(struct gr_doorbell *) first;
};

struct gr_doorbell {
    struct gr_doorbells *list; /* of the network */
    struct gr_doorbell *next;  /* in the list */
    atomic_int rung;           /* 1: in the list */
    atomic_int held;           /* 1: the network is to look at the FIFO each time */
};

/* Ring, after a store to tail or head. */
static inline void gr_doorbell_ring(struct gr_doorbell *bell)
{
    struct gr_doorbells *list = bell->list;

    if (0 == atomic_exchange_explicit(&bell->rung, 1, memory_order_acq_rel)) {
        bell->next = atomic_load_explicit(&list->first, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&list->first, &bell->next, bell,
                                                      memory_order_release, memory_order_relaxed)) {
        }
    }
}

/* Begin (1) or end (0) to have the network look at the FIFO each time. */
static inline void gr_doorbell_hold(struct gr_doorbell *bell, int hold)
{
    atomic_store_explicit(&bell->held, hold, memory_order_relaxed);
    gr_doorbell_ring(bell); /* at the end, for what was stored last */
}

/* Network: take all doorbells out of the list. Returns the first, to be passed to next(). */
static inline struct gr_doorbell *gr_doorbells_take(struct gr_doorbells *list)
{
    return NULL == atomic_load_explicit(&list->first, memory_order_relaxed)
               ? NULL
               : atomic_exchange_explicit(&list->first, NULL, memory_order_acquire);
}

/* Network: clear a doorbell that was taken, before its FIFO is looked at. Returns the one after. */
static inline struct gr_doorbell *gr_doorbell_clear(struct gr_doorbell *bell)
{
    struct gr_doorbell *next = bell->next; /* which the next ring changes */

    (void) atomic_exchange_explicit(&bell->rung, 0, memory_order_acq_rel);
    return next;
}

/* ---- FIFOs ---- */

#define GR_MIN_SLOTS 2
#define GR_MAX_SLOTS 64

/*
 * Sideband: words that the writer sends with its slots. The reader of a slot sees their values at
 * the time of the push, or newer ones.
 */
enum {
    GR_SIDEBAND_LAG,    /* see timing/timer.h; of steps that are not timed: exec/op.h */
    GR_SIDEBAND_RESYNC, /* see timing/timer.h */
    GR_NSIDEBAND
};

/*
 * A link inside a node has a label for each slot (exec/label.h) if it has no more slots than this:
 * then the labels are in the cache line of tail, which the reader reads anyway.
 */
#define GR_LINK_LABELS 4

/* A link in shared memory, at the start of a slab: what both its ends use. */
struct gr_link_shared {
    struct gr_lease_user writer;                   /* the writer's record */
    _Alignas(GR_CACHE_LINE) _Atomic uint64_t tail; /* slots written, in this lease */
    _Atomic uint64_t sideband[GR_NSIDEBAND];       /* written by the writer */
    _Atomic uint64_t withdrawn;                    /* 1 after gr_link_withdraw() */
    _Atomic uint64_t label[GR_LINK_LABELS];        /* [slot]; written by the writer */
    _Alignas(GR_CACHE_LINE) _Atomic uint64_t head; /* slots read, in this lease */
    _Atomic uint64_t refused;                      /* 1 after gr_link_refuse() */
    _Alignas(GR_CACHE_LINE) unsigned char slots[]; /* nslots * slot_bytes */
};

/*
 * Direct slots, where both ends use them for a call: a slot begins with one word for each piece of
 * its message. The word is the piece's address in the writer's memory, which the reader copies from
 * (cma.h), or 0: the piece lies in the slot, behind the head. An address saves a copy. The head
 * fills a cache line, so that what lies behind it is aligned; today's algorithms have one piece in
 * a slot (gr_algo_may_fetch()).
 *
 * While the reader copies, the writer may have nothing to do. So the reader can offer it a part of
 * the message, which the writer then copies into the reader's memory. A part is copied by the one
 * that changes the state from open:
 *
 *      reader   none -> open, copies the other part, open -> none: copies this part, too
 *      writer           open -> taken -> done, or refused: the reader copies it
 *
 * Where the kernel refuses the reader the writer's memory, the reader asks for a copy through the
 * slot, of as many bytes at a time as the slot has room for behind the head:
 *
 *      reader   none -> asked            copied: copies it out of the slot, -> asked for more, or none
 *      writer           asked -> copied
 */
#define GR_DIRECT_PIECES 4

enum gr_offer_state {
    GR_OFFER_NONE,
    GR_OFFER_OPEN,
    GR_OFFER_TAKEN,
    GR_OFFER_DONE,
    GR_OFFER_REFUSED,
    GR_OFFER_ASKED,
    GR_OFFER_COPIED
};

struct gr_offer {
    _Atomic uint64_t state; /* enum gr_offer_state */
    uint64_t from;          /* address in the writer's memory */
    uint64_t to;            /* address in the reader's memory; asked: offset in the slot */
    uint64_t bytes;
};

struct gr_direct_head {
    uint64_t at[GR_DIRECT_PIECES]; /* [piece]: address in the writer's memory, or 0 */
    struct gr_offer offer;
};
#define GR_DIRECT_HEAD sizeof(struct gr_direct_head)

/* A link as its writer or reader on the host uses it; private to its process. */
struct gr_link {
    struct gr_link_shared *shared; /* NULL: not connected */
    uint64_t mine;                 /* this end's counter: the writer's tail, or the reader's head */
    uint64_t other;                /* the other end's counter when it was last read */
    uint32_t nslots;               /* number of slots */
    size_t slot_bytes;             /* size of a slot */
    uint32_t *valid_bytes;         /* inter-node writer: as in gr_fifo; otherwise NULL */
    const void **data_at;          /* inter-node writer: as in gr_fifo; otherwise NULL */
    struct gr_doorbell *bell;      /* of the network at the other end; NULL: none. Borrowed */
    struct gr_link *next_unread;   /* for the writer's executor (exec/host.c) */
    uint64_t unread_from; /* the same: number of the first slot that the call has written */
    bool may_not_write;   /* writer: the kernel refuses it the reader's memory */
};

/* Where the slots of a FIFO lie in device memory, which the host does not access. */
struct gr_fifo_gpu {
    int on; /* they do */
    /*
     * Make what the network has written visible to kernels, before the reader's tail is stored.
     * Returns 0 or a negative error. NULL: it is visible.
     */
    int (*flush)(void *gpu);
    void *gpu;                  /* argument of flush */
    struct gr_lease_user *user; /* the network's record in the host slab of the slots */
    uint64_t lease;             /* number of their lease */
};

/*
 * A FIFO in this process's memory whose one end is a network (net/net.h). The other end is a
 * gr_link or kernels. Its memory is owned by its creator, until the network has left it, too.
 */
struct gr_fifo {
    _Atomic uint64_t *tail; /* slots written */
    _Atomic uint64_t *head; /* slots read */
    unsigned char *slots;   /* nslots * slot_bytes */
    uint64_t count;         /* value of both counters at the start */
    uint32_t nslots;        /* GR_MIN_SLOTS to GR_MAX_SLOTS */
    size_t slot_bytes;      /* size of a slot, below 2^32 */
    /* Writer: [slot]: bytes to send, set before the push. NULL: whole slots are sent. */
    const uint32_t *valid_bytes;
    /*
     * Writer: [slot]: address of the data, set before the push and valid until the slot is free
     * again; NULL: in the slot. data_at itself is NULL if all data are in slots.
     */
    const void **data_at;
    /* Writer: slots from this count on are not sent yet. NULL: all may be sent. */
    const _Atomic uint64_t *send_limit;
    /* [GR_NSIDEBAND]: words that are sent with slots. NULL: none. */
    _Atomic uint64_t *sideband;
    struct gr_lease_user *user; /* the network's record in the slab */
    uint64_t lease;             /* number of the lease that the network leaves at the end */
    atomic_bool *failed;        /* set when the link fails, until it is closed. NULL: none */
    struct gr_fifo_gpu gpu;     /* slots in device memory */
};

/* Size of the slab of a link inside a node. */
static inline size_t gr_link_bytes(uint32_t nslots, size_t slot_bytes)
{
    return sizeof(struct gr_link_shared) + nslots * slot_bytes;
}

/* Offset of data_at[] in an inter-node writer's slab, from the first slot. */
static inline size_t gr_link_data_at_offset(uint32_t nslots, size_t slot_bytes)
{
    return gr_round_up(nslots * (slot_bytes + sizeof(uint32_t)), sizeof(void *));
}

/* Size of the slab of an inter-node writer: slots, valid_bytes[], data_at[]. */
static inline size_t gr_link_net_bytes(uint32_t nslots, size_t slot_bytes)
{
    return gr_round_up(gr_link_bytes(0, 0) + gr_link_data_at_offset(nslots, slot_bytes) +
                           nslots * sizeof(void *),
                       GR_CACHE_LINE);
}

/* valid_bytes[] of an inter-node writer's slab. */
static inline uint32_t *gr_link_valid_bytes(struct gr_link_shared *shared, uint32_t nslots,
                                            size_t slot_bytes)
{
    return (uint32_t *) (void *) (shared->slots + nslots * slot_bytes);
}

/* data_at[] of an inter-node writer's slab. */
static inline const void **gr_link_data_at(struct gr_link_shared *shared, uint32_t nslots,
                                           size_t slot_bytes)
{
    return (const void **) (void *) (shared->slots + gr_link_data_at_offset(nslots, slot_bytes));
}

/* The FIFO of a link. valid_bytes, data_at and lease are left to the caller. */
static inline struct gr_fifo gr_link_fifo(struct gr_link_shared *shared, uint64_t count,
                                          uint32_t nslots, size_t slot_bytes)
{
    return (struct gr_fifo) {.tail = &shared->tail,
                             .head = &shared->head,
                             .slots = shared->slots,
                             .count = count,
                             .nslots = nslots,
                             .slot_bytes = slot_bytes,
                             .sideband = shared->sideband,
                             .user = &shared->writer};
}

/*
 * Reader, at the start of a lease, when nothing else uses the slab: the counters and words are 0,
 * whatever an earlier lease of this memory has left there. The writer's record is the pool's.
 */
static inline void gr_link_renew(struct gr_link_shared *shared)
{
    int k;

    atomic_store_explicit(&shared->tail, 0, memory_order_relaxed);
    atomic_store_explicit(&shared->head, 0, memory_order_relaxed);
    atomic_store_explicit(&shared->withdrawn, 0, memory_order_relaxed);
    atomic_store_explicit(&shared->refused, 0, memory_order_relaxed);
    for (k = 0; k < GR_NSIDEBAND; k++) {
        atomic_store_explicit(&shared->sideband[k], 0, memory_order_relaxed);
    }
}

/*
 * Connect an end of a link. count: the value of both counters, the same at both ends; no slot is
 * full.
 */
static inline void gr_link_attach(struct gr_link *l, struct gr_link_shared *shared, uint64_t count,
                                  uint32_t nslots, size_t slot_bytes)
{
    l->shared = shared;
    l->mine = l->other = count;
    l->nslots = nslots;
    l->slot_bytes = slot_bytes;
    l->valid_bytes = NULL;
    l->data_at = NULL;
    l->bell = NULL;
    l->may_not_write = false;
}

/* The next slot of this end. */
static inline void *gr_link_slot(const struct gr_link *l)
{
    return l->shared->slots + l->mine % l->nslots * l->slot_bytes;
}

/* Writer: the oldest slot that the reader had not read when this end last looked. */
static inline void *gr_link_oldest_unread(const struct gr_link *l)
{
    return l->shared->slots + l->other % l->nslots * l->slot_bytes;
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

/* Writer: whether the reader has read all slots. */
static inline int gr_link_drained(struct gr_link *l)
{
    if (l->mine != l->other) {
        l->other = atomic_load_explicit(&l->shared->head, memory_order_acquire);
    }
    return l->mine == l->other;
}

/*
 * A fence next to data that other processes read by system calls. ThreadSanitizer does not see such
 * reads, and does not support fences.
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
 * Writer, if its call fails, before the application gets its buffers back: what direct slots point
 * to may change from now on.
 */
static inline void gr_link_withdraw(struct gr_link *l)
{
    atomic_store_explicit(&l->shared->withdrawn, 1, memory_order_relaxed);
    gr_link_fence(memory_order_seq_cst);
}

/* Reader, after it has copied what a direct slot points to: whether the data may have changed. */
static inline int gr_link_withdrawn(const struct gr_link *l)
{
    gr_link_fence(memory_order_acquire);
    return 0 != atomic_load_explicit(&l->shared->withdrawn, memory_order_relaxed);
}

/*
 * Reader: the kernel will refuse this process the writer's memory from now on. The writer puts what
 * fits a slot into the slot, and the reader fetches nothing more.
 */
static inline void gr_link_refuse(struct gr_link *l)
{
    atomic_store_explicit(&l->shared->refused, 1, memory_order_relaxed);
}

/* Both ends: whether the reader is refused the writer's memory. */
static inline bool gr_link_is_refused(const struct gr_link *l)
{
    return 0 != atomic_load_explicit(&l->shared->refused, memory_order_relaxed);
}

/*
 * Inter-node writer, before it pushes a slot: the number of bytes to send, and their address; NULL:
 * in the slot.
 */
static inline void gr_link_set_slot_info(struct gr_link *l, size_t bytes, const void *data)
{
    l->valid_bytes[l->mine % l->nslots] = (uint32_t) bytes;
    l->data_at[l->mine % l->nslots] = data;
}

static inline bool gr_link_has_labels(const struct gr_link *l)
{
    return l->nslots <= GR_LINK_LABELS && NULL == l->bell;
}

/* Writer, before it pushes a slot: what the slot is of. */
static inline void gr_link_set_label(struct gr_link *l, uint64_t label)
{
    if (gr_link_has_labels(l)) {
        atomic_store_explicit(&l->shared->label[l->mine % GR_LINK_LABELS], label,
                              memory_order_relaxed);
    }
}

/* Reader of a full slot: its label; `otherwise` where the link has none. */
static inline uint64_t gr_link_label(const struct gr_link *l, uint64_t otherwise)
{
    return gr_link_has_labels(l) ? atomic_load_explicit(&l->shared->label[l->mine % GR_LINK_LABELS],
                                                        memory_order_relaxed)
                                 : otherwise;
}

/* Writer: the slot is full. */
static inline void gr_link_push(struct gr_link *l)
{
    atomic_store_explicit(&l->shared->tail, ++l->mine, memory_order_release);
    if (NULL != l->bell) {
        gr_doorbell_ring(l->bell);
    }
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

/* Reader: the slot is free. */
static inline void gr_link_pop(struct gr_link *l)
{
    atomic_store_explicit(&l->shared->head, ++l->mine, memory_order_release);
    if (NULL != l->bell) {
        gr_doorbell_ring(l->bell);
    }
}

#endif
