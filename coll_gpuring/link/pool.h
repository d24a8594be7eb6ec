/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool: this process's shared memory, cut into slabs, and the mappings of other processes'
 * pools. A slab holds one incoming link (fifo.h) or one mailbox board (board.h).
 *
 * A slab lies in its owner's process, and so, by first touch, on the owner's NUMA node. It is
 * leased to one team at a time. A lease ends when all have left it: the owner by gr_pool_release(),
 * the users by gr_lease_leave(). No rank waits for another to free a communicator: a slab that a
 * user has not left yet is not leased again.
 *
 * Segments are parts of one unnamed file in /dev/shm, which peers open through /proc/PID/fd. So
 * nothing remains when a job is killed, and the pool needs one file descriptor. All pages are
 * allocated when a segment is created, so that a full /dev/shm is an error here and not a SIGBUS
 * later. Segments are kept until gr_pool_close(); their sum is bounded.
 *
 * Thread-safe. A thread that holds the lock does not wait.
 */
#ifndef GR_LINK_POOL_H
#define GR_LINK_POOL_H

#include "base/errors.h"
#include "link/lease.h"

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
    uint64_t ino, dev;      /* of the pool's file: to check that /proc/PID/fd is this file */
    uint64_t start;         /* offset of the segment in the file */
    uint64_t segment_bytes; /* size of the segment */
    uint64_t offset;        /* of the slab in the segment */
    uint64_t lease;         /* number of this lease of the slab */
    uint64_t count;         /* set and read by the slab's users: where its counters stand */
    int32_t pid;            /* of the owner; 0: there is no slab */
    int32_t fd;             /* of the pool's file, in the owner */
};

/* Bytes from the start of the slab to the end of the segment. gr_pool_map() has checked offset. */
static inline uint64_t gr_slab_handle_room(const struct gr_slab_handle *handle)
{
    return handle->segment_bytes - handle->offset;
}

struct gr_slab;
struct gr_pool;

/*
 * Open an empty pool of at most max_bytes. dir: where its file is created; "/dev/shm" outside
 * tests. NULL: no memory.
 */
struct gr_pool *gr_pool_open(const char *dir, struct gr_peer_id self, size_t max_bytes);

/* Unmap and close everything; slabs and mappings end. pool may be NULL. */
void gr_pool_close(struct gr_pool *pool);

/*
 * Lease n slabs of slab_bytes each, with nusers records of users at their start: all or none. The
 * slabs, owned by the pool, are written to slabs[]. Their contents are left from the last lease,
 * also the words of the records; at first they are zero. Returns 0, GR_ERR_SPACE, GR_ERR_LIMIT,
 * GR_ERR_NOMEM or GR_ERR_SYS.
 */
int gr_pool_lease(struct gr_pool *pool, size_t slab_bytes, int nusers, int n,
                  struct gr_slab **slabs);

/* The handle of a leased slab; count is 0. */
struct gr_slab_handle gr_pool_export(const struct gr_pool *pool, const struct gr_slab *slab);

/* Address of a slab in this process, aligned to a cache line. */
void *gr_slab_base(const struct gr_slab *slab);

/*
 * The owner ends the lease. used: some user knows of it, and the slab stays out of use until all
 * users have left it, too.
 */
void gr_pool_release(struct gr_pool *pool, struct gr_slab *slab, int used);

/*
 * Map the slab of a handle. Mappings of segments are cached until gr_pool_close(). NULL: *error is
 * GR_ERR_FOREIGN, GR_ERR_SYS or GR_ERR_NOMEM.
 */
void *gr_pool_map(struct gr_pool *pool, const struct gr_slab_handle *handle, int *error);

struct gr_pool_usage {
    size_t held;   /* bytes of memory */
    size_t leased; /* bytes of slabs that are leased, or not left by all users */
    int mapped;    /* segments, or arenas, of other processes */
};
struct gr_pool_usage gr_pool_usage(struct gr_pool *pool);

#endif
