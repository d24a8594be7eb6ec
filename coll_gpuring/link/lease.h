/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doors: where those who use a slab of another process (pool.h) say that they have left it.
 *
 * Every slab begins with one door per process that may touch it besides its owner, each in a cache
 * line of its own, since each has another writer.
 */
#ifndef GR_LINK_LEASE_H
#define GR_LINK_LEASE_H

#include <stdatomic.h>
#include <stdint.h>

#define GR_CACHE_LINE 64

struct gr_door {
    /* number of the last lease that its user has given up */
    _Alignas(GR_CACHE_LINE) _Atomic uint64_t left;
    _Atomic uint64_t word; /* of the same writer, free for the slab's use */
};

/* Its user leaves the lease: it will touch the slab no more. Only after a set-up that succeeded. */
static inline void gr_door_leave(struct gr_door *door, uint64_t lease)
{
    atomic_store_explicit(&door->left, lease, memory_order_release);
}

#endif
