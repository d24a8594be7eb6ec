/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory of unlinked files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* O_TMPFILE */
#endif
#include "link/shm.h"

#include "base/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void *map_shared(int fd, uint64_t start, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t) start);

    if (MAP_FAILED == base) {
        return NULL;
    }
    /* a forked child must not use links */
    (void) madvise(base, bytes, MADV_DONTFORK);
    return base;
}

int gr_shm_open(const char *dir, struct gr_shm *shm)
{
    struct stat st;

    shm->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (shm->fd < 0) {
        return GR_ERR_SYS;
    }
    if (0 != fstat(shm->fd, &st)) {
        gr_shm_close(shm);
        return GR_ERR_SYS;
    }
    shm->bytes = 0;
    shm->ino = st.st_ino;
    shm->dev = st.st_dev;
    return 0;
}

void gr_shm_close(struct gr_shm *shm)
{
    close(shm->fd);
    shm->fd = -1;
}

/* The owner allocates the pages, so they lie on its NUMA node. */
int gr_shm_grow(struct gr_shm *shm, size_t bytes, unsigned char **base)
{
    int rc;

    do {
        rc = posix_fallocate(shm->fd, (off_t) shm->bytes, (off_t) bytes);
    } while (EINTR == rc);
    if (0 != rc) {
        errno = rc;
        return ENOSPC == rc || ENOMEM == rc ? GR_ERR_SPACE : GR_ERR_SYS;
    }
    *base = map_shared(shm->fd, shm->bytes, bytes);
    if (NULL == *base) {
        /* if this fails, the next growth uses the pages */
        rc = ftruncate(shm->fd, (off_t) shm->bytes);
        (void) rc;
        return GR_ERR_SYS;
    }
    shm->bytes += bytes;
    return 0;
}

/* Whether an open file is the owner's, and long enough. */
static int is_owners(int fd, uint64_t ino, uint64_t dev, uint64_t end)
{
    struct stat st;

    return 0 == fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == ino && st.st_dev == dev &&
           (uint64_t) st.st_size >= end;
}

/*
 * Open the peer's file. It is opened for access only after it was identified: the descriptor may be
 * another file by now, as a device or a pipe, which must not be affected.
 */
static int open_peer_file(int pid, int number, uint64_t ino, uint64_t dev, uint64_t end, int *fd)
{
    char path[64];
    int found;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, number);
    found = open(path, O_PATH | O_CLOEXEC);
    if (found < 0) {
        return ENOENT == errno || EACCES == errno || EPERM == errno ? GR_ERR_FOREIGN : GR_ERR_SYS;
    }
    if (!is_owners(found, ino, dev, end)) {
        close(found);
        return GR_ERR_FOREIGN;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
    *fd = open(path, O_RDWR | O_CLOEXEC);
    close(found);
    return *fd < 0 ? GR_ERR_SYS : 0;
}

int gr_shm_attach(int pid, int number, uint64_t ino, uint64_t dev, uint64_t start, size_t bytes,
                  unsigned char **base)
{
    int fd, rc;

    if (start > UINT64_MAX - bytes) {
        return GR_ERR_FOREIGN;
    }
    rc = open_peer_file(pid, number, ino, dev, start + bytes, &fd);
    if (rc < 0) {
        return rc;
    }
    *base = map_shared(fd, start, bytes);
    close(fd);
    return NULL == *base ? GR_ERR_SYS : 0;
}

void gr_shm_detach(unsigned char *base, size_t bytes)
{
    if (NULL != base) {
        munmap(base, bytes);
    }
}
