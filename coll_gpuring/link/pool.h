/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool: this process's shared memory, cut into slabs, and the mappings of other processes'
 * pools. A slab holds one incoming link (fifo.h) or one mailbox board (board.h).
 *
 * A slab lies in its owner's process, and so, by first touch, on the owner's NUMA node. It is
 * leased to one team at a time. A lease ends when all have left it: the owner by gr_pool_release(),
 * the users by gr_lease_leave(). No rank waits for another to free a communicator: the memory of a
 * slab that a user has not left yet is not leased again. Then it serves slabs of any size.
 *
 * Segments (shm.h) are address space, each as large as all before it, so a process has few. The
 * pages of a link are allocated when its slab is leased, so that missing memory is an error here and
 * no signal later. The pages of a board are allocated when they are first touched, so only those
 * that messages need: of a large message by the owner, who writes it before others look, so on its
 * NUMA node, too. The pages that small messages use are counted when the board is leased.
 *
 * The pages that are held are bounded. Pages that no lease uses are given back, but for as many as
 * are leased, and 2 MiB, which the next communicator finds.
 *
 * Leasing and releasing cost the same whatever the number of slabs (ranges.h), mapping a slab grows
 * with the logarithm of the number of segments.
 *
 * Thread-safe. A thread that holds the lock does not wait.
 */
#ifndef GR_LINK_POOL_H
#define GR_LINK_POOL_H

#include "base/errors.h"
#include "link/lease.h"
#include "link/shm.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The id of a process in Open MPI. */
struct gr_peer_id {
    uint64_t job, vpid;
};

/*
 * What the owner of a slab sends to its users, which are processes of the same host. Plain bytes.
 */
struct gr_slab_handle {
    struct gr_peer_id owner;
    struct gr_shm_id segment; /* that the slab lies in; its pid is 0: there is no slab */
    uint64_t segment_bytes;   /* size of the segment */
    uint64_t offset;          /* of the slab in the segment */
    uint64_t lease;           /* number of this lease, which no other of the owner has */
};

/* Bytes from the start of the slab to the end of the segment. gr_pool_map() has checked offset. */
static inline uint64_t gr_slab_handle_room(const struct gr_slab_handle *handle)
{
    return handle->segment_bytes - handle->offset;
}

struct gr_slab;
struct gr_pool;

/* Open an empty pool, which holds at most max_bytes. NULL: no memory. */
struct gr_pool *gr_pool_open(struct gr_peer_id self, size_t max_bytes);

/* Detach everything; slabs and mappings end. pool may be NULL. */
void gr_pool_close(struct gr_pool *pool);

/*
 * Lease n slabs of slab_bytes each, with nusers records of users at their start: all or none. The
 * slabs, owned by the pool, are written to slabs[]. The records are zero; what lies behind them is
 * left from earlier leases. Returns 0, GR_ERR_SPACE, GR_ERR_LIMIT, GR_ERR_NOMEM or GR_ERR_SYS.
 */
int gr_pool_lease(struct gr_pool *pool, enum gr_slab_kind kind, size_t slab_bytes, int nusers,
                  int n, struct gr_slab **slabs);

/*
 * Count the page of a leased, sparse slab that contains byte `from` as held: its owner is going to
 * write it, which allocates it. *is_zero: no lease has used it before, so what the slab has there is
 * zero. Returns 0 or GR_ERR_LIMIT.
 */
int gr_pool_count(struct gr_pool *pool, struct gr_slab *slab, size_t from, int *is_zero);

/* The handle of a leased slab. */
struct gr_slab_handle gr_pool_export(const struct gr_pool *pool, const struct gr_slab *slab);

/* Address of a slab in this process, aligned to a cache line. */
void *gr_slab_base(const struct gr_slab *slab);

/*
 * The owner ends the lease. used: some user knows of it, and the slab stays out of use until all
 * users have left it, too.
 */
void gr_pool_release(struct gr_pool *pool, struct gr_slab *slab, int used);

/*
 * Map the slab of a handle. Mappings of segments are cached until gr_pool_close(), or until each
 * gr_pool_map() of a slab in the segment has had its gr_pool_unmap(). NULL: *error is an error of
 * gr_shm_attach(), or GR_ERR_NOMEM.
 */
void *gr_pool_map(struct gr_pool *pool, const struct gr_slab_handle *handle, int *error);

/* Links to the slab were refused: it is not used. */
void gr_pool_unmap(struct gr_pool *pool, const struct gr_slab_handle *handle);

/*
 * Whether the process has as much left as its calls may still allocate (base/memory.h): the
 * reserve, and beside it as much for others, where segments were attached since the last check.
 * Returns 0 or GR_ERR_SPACE. To be called before the ranks agree on links.
 */
int gr_pool_check(struct gr_pool *pool);

/* Give back what only later links would need: the other components do the work. */
void gr_pool_trim(struct gr_pool *pool);

struct gr_pool_usage {
    size_t held;   /* bytes of pages */
    size_t leased; /* bytes of slabs that are leased, or not left by all users */
    int mapped;    /* segments, or arenas, of other processes */
};
struct gr_pool_usage gr_pool_usage(struct gr_pool *pool);

#endif
