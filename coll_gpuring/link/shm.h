/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory between processes of a host that have no name for it: an unlinked file of the one,
 * opened by the others through /proc/PID/fd.
 */
#ifndef GR_LINK_SHM_H
#define GR_LINK_SHM_H

#include <stddef.h>
#include <stdint.h>

struct gr_shm {
    int fd;
    uint64_t bytes;    /* how long the file is */
    uint64_t ino, dev; /* which file it is: for gr_shm_attach() */
};

/* Create an empty file in dir; 0 or GR_ERR_SYS. gr_shm_close() leaves what is mapped. */
int gr_shm_open(const char *dir, struct gr_shm *shm);
void gr_shm_close(struct gr_shm *shm);

/*
 * Make the file longer, all its pages allocated, and map what was added, a whole number of pages. A
 * file that grows, and not one file for each growth, since a process has few descriptors. 0,
 * GR_ERR_SPACE or GR_ERR_SYS; then the file is as it was.
 */
int gr_shm_grow(struct gr_shm *shm, size_t bytes, unsigned char **base);

/*
 * Map bytes from start on of file descriptor `number` of process pid. 0; GR_ERR_FOREIGN when it
 * cannot be opened, or is another file than ino and dev say, or ends before; GR_ERR_SYS. What is
 * another file is not opened for access.
 */
int gr_shm_attach(int pid, int number, uint64_t ino, uint64_t dev, uint64_t start, size_t bytes,
                  unsigned char **base);
void gr_shm_detach(unsigned char *base, size_t bytes);

#endif
