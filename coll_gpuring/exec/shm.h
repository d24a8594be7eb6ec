/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory between processes of a host that have no name for it: an unlinked file of the one, opened by
 * the others through /proc/PID/fd.
 */
#ifndef GR_EXEC_SHM_H
#define GR_EXEC_SHM_H

#include <stddef.h>
#include <stdint.h>

struct gr_shm {
    unsigned char *base;
    size_t bytes;
    int fd;
    uint64_t ino, dev; /* of the file: for gr_shm_attach() */
};

/* Create and map a file in dir, all its pages allocated. 0, GR_ERR_SPACE or GR_ERR_SYS. */
int gr_shm_create(const char *dir, size_t bytes, struct gr_shm *shm);
void gr_shm_destroy(struct gr_shm *shm);

/*
 * Map file descriptor `number` of process pid. 0; GR_ERR_FOREIGN when it cannot be opened, or is another file
 * than ino and dev say, or shorter than bytes; GR_ERR_SYS.
 */
int gr_shm_attach(int pid, int number, uint64_t ino, uint64_t dev, size_t bytes, unsigned char **base);
void gr_shm_detach(unsigned char *base, size_t bytes);

#endif
