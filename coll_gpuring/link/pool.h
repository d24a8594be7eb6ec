/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool: this process's shared memory, cut into slabs, and the mappings of other processes'
 * pools. A slab holds one incoming link (fifo.h) or one mailbox board (board.h).
 *
 * A slab lies in its owner's process (and so, by first touch, on the owner's NUMA node). It is
 * leased to one team at a time. A lease ends when all have left it: the owner by gr_pool_release(),
 * the others by gr_door_leave() on their mapping. No rank waits for another to free a communicator:
 * a slab that somebody is late to leave simply stays out of use until then.
 *
 * Segments are pieces of one unnamed file in /dev/shm that peers open through /proc/PID/fd: nothing
 * remains when a job is killed at any moment, and however often the pool grows, it has one file
 * descriptor. All pages are allocated when a segment is made, so that a full /dev/shm is an error
 * here and not a SIGBUS later. Segments are kept until gr_pool_close(); their sum is bounded.
 *
 * Thread-safe; no lock is held while waiting for anything.
 */
#ifndef GR_LINK_POOL_H
#define GR_LINK_POOL_H

#include "base/errors.h"
#include "link/lease.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process, whatever communicators it is in. */
struct gr_peer_id {
    uint64_t job, vpid;
};

/*
 * What an owner tells the others that use a slab; plain bytes, sent as they are between processes
 * of one host.
 */
struct gr_offer {
    struct gr_peer_id owner;
    uint64_t ino, dev; /* of the pool's file: proves that /proc/PID/fd is the right one */
    uint64_t start;    /* of the segment in the file */
    uint64_t segment_bytes;
    uint64_t offset; /* of the slab in the segment */
    uint64_t lease;  /* number of this lease of the slab */
    uint64_t count;  /* where the slab's counters stand; its user's business */
    int32_t pid, fd;
};

/* Bytes from the slab's begin to the segment's end; gr_pool_map() wants at least a door's. */
static inline uint64_t gr_offer_room(const struct gr_offer *offer)
{
    return offer->segment_bytes - offer->offset;
}

struct gr_slab;
struct gr_pool;

/*
 * Create an empty pool that will hold at most max_bytes. dir is "/dev/shm" but in tests. NULL: no
 * memory.
 */
struct gr_pool *gr_pool_open(const char *dir, struct gr_peer_id self, size_t max_bytes);

/* Unmap and close everything. Slabs and mappings must not be used afterwards. NULL is fine. */
void gr_pool_close(struct gr_pool *pool);

/*
 * Lease n slabs of frame_bytes each, which begin with ndoors doors: all or none. Slabs are written
 * to slabs[], still owned by the pool; their contents behind the doors are what the last lease left
 * (zero in the first), and the words of the doors too. 0, GR_ERR_SPACE, GR_ERR_LIMIT, GR_ERR_NOMEM,
 * or GR_ERR_SYS.
 */
int gr_pool_lease(struct gr_pool *pool, size_t frame_bytes, int ndoors, int n,
                  struct gr_slab **slabs);

/* What to tell the others; count is 0. */
struct gr_offer gr_pool_offer(const struct gr_pool *pool, const struct gr_slab *slab);

/* The slab's memory in this process, aligned to a cache line. */
void *gr_slab_base(const struct gr_slab *slab);

/*
 * The owner leaves. With used == 0 nobody else ever learnt that it may touch the slab (set-up
 * failed): the lease ends at once.
 */
void gr_pool_release(struct gr_pool *pool, struct gr_slab *slab, int used);

/*
 * Map a peer's slab; mappings are cached by segment and kept until gr_pool_close(). NULL on error,
 * with *error set to GR_ERR_FOREIGN, GR_ERR_SYS or GR_ERR_NOMEM.
 */
void *gr_pool_map(struct gr_pool *pool, const struct gr_offer *offer, int *error);

/*
 * Bytes of shared memory that the pool holds, of slabs that are leased now, and peers' segments
 * mapped.
 */
struct gr_pool_usage {
    size_t held, leased;
    int mapped;
};
struct gr_pool_usage gr_pool_usage(struct gr_pool *pool);

#endif
