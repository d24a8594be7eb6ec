/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases of slabs (pool.h). A slab begins with one record for each process that may use it besides
 * its owner, where that process says that it has left a lease. Each record has a cache line of its
 * own, because each has another writer.
 */
#ifndef GR_LINK_LEASE_H
#define GR_LINK_LEASE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define GR_CACHE_LINE 64

/* The record of one user of a slab. */
struct gr_lease_user {
    _Alignas(GR_CACHE_LINE) _Atomic uint64_t left; /* number of the last lease that it has left */
    _Atomic uint64_t word;                         /* for the slab's own use; same writer */
};

enum gr_slab_state {
    GR_SLAB_FREE,
    GR_SLAB_LEASED,
    GR_SLAB_LEAVING, /* released by its owner; a user may not have left */
    GR_SLAB_KEPT     /* not leased, but part of no other slab: its pages are pinned */
};

/* What the memory of a slab is for. */
enum gr_slab_kind {
    GR_SLAB_WHOLE,  /* others write it: all its pages are there, on this process's NUMA node */
    GR_SLAB_SPARSE, /* its owner alone writes what lies behind the records: pages come by use */
    /* whole pages that are pinned: they serve slabs of this size only from then on, and stay */
    GR_SLAB_PINNED
};

static inline size_t gr_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/*
 * The user leaves the lease of that number, and does not touch the slab any more. Only after a
 * set-up that succeeded.
 */
static inline void gr_lease_leave(struct gr_lease_user *user, uint64_t lease)
{
    atomic_store_explicit(&user->left, lease, memory_order_release);
}

#endif
