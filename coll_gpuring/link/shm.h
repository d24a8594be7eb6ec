/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory without a name: an unlinked file of one process, which others of the same host open
 * through /proc/PID/fd.
 */
#ifndef GR_LINK_SHM_H
#define GR_LINK_SHM_H

#include <stddef.h>
#include <stdint.h>

struct gr_shm {
    int fd;            /* negative: not open */
    uint64_t bytes;    /* length of the file */
    uint64_t ino, dev; /* identity of the file, for gr_shm_attach() */
};

/* Create an empty file in dir. Returns 0 or GR_ERR_SYS. gr_shm_close() keeps mappings. */
int gr_shm_open(const char *dir, struct gr_shm *shm);
void gr_shm_close(struct gr_shm *shm);

/*
 * Extend the file by bytes, a multiple of the page size, allocate the pages, and map them. A file
 * that grows needs one file descriptor. Returns 0, GR_ERR_SPACE or GR_ERR_SYS; on error the file is
 * unchanged.
 */
int gr_shm_grow(struct gr_shm *shm, size_t bytes, unsigned char **base);

/*
 * Map a part of the file that process pid has open as file descriptor `number`. Returns 0;
 * GR_ERR_FOREIGN: it cannot be opened, is another file than ino and dev say, or is too short;
 * GR_ERR_SYS. Another file is not opened for access.
 */
int gr_shm_attach(int pid, int number, uint64_t ino, uint64_t dev, uint64_t start, size_t bytes,
                  unsigned char **base);
void gr_shm_detach(unsigned char *base, size_t bytes);

#endif
