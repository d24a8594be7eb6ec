/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory without a name: System V segments, which peers of the same host attach by id.
 *
 * A segment is marked for removal as soon as its creator has attached it. Linux lets others attach
 * it as long as somebody has, and frees it with its last user, also with one that was killed. Why
 * not a file: a descriptor that is kept can be closed, and its number reused, by the application;
 * RLIMIT_FSIZE applies to files, memfds included; and /dev/shm may be small, and hold sparse
 * segments of Open MPI's that have not got their pages yet. A segment counts against memory only.
 *
 * An id names another segment in another IPC namespace, and is used again. So a segment begins with
 * a random token, which peers compare.
 *
 * A segment has no pages at first. gr_shm_populate() allocates them, so that missing memory is an
 * error then, and no signal at the first access.
 */
#ifndef GR_LINK_SHM_H
#define GR_LINK_SHM_H

#include <stddef.h>
#include <stdint.h>

#define GR_SHM_HEAD ((size_t) 64) /* bytes at a segment's start that hold its token */

/* What peers attach a segment by. Plain bytes. */
struct gr_shm_id {
    uint64_t token[2]; /* as at the segment's start */
    int32_t id;        /* of shmget() */
    int32_t pid;       /* of the creator; 0: there is no segment */
};

/*
 * Create and attach a segment of `bytes`, a multiple of the page size. Only its first page is
 * populated. Returns 0; GR_ERR_SPACE: no memory, address space, or number of segments; GR_ERR_SYS.
 */
int gr_shm_create(size_t bytes, struct gr_shm_id *id, unsigned char **base);

/*
 * Attach a segment of another process, or of this one. Returns 0; GR_ERR_FOREIGN: there is none of
 * that id, size and token, or its creator's process id means another process here; GR_ERR_SPACE: no
 * address space; GR_ERR_SYS.
 */
int gr_shm_attach(const struct gr_shm_id *id, size_t bytes, unsigned char **base);
void gr_shm_detach(unsigned char *base);

/*
 * Allocate pages; the caller's memory policy and processor decide on which NUMA node. Returns 0 or
 * GR_ERR_SPACE.
 */
int gr_shm_populate(unsigned char *base, size_t bytes);

/*
 * Free pages, which all who have attached the segment find zero later. Returns 0 or GR_ERR_SYS:
 * they stay.
 */
int gr_shm_give_back(unsigned char *base, size_t bytes);

#endif
