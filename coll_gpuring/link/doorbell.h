/* SPDX-License-Identifier: BSD-3-Clause */
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
#ifndef GR_LINK_DOORBELL_H
#define GR_LINK_DOORBELL_H

#include <stdatomic.h>
#include <stddef.h>

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

#endif
