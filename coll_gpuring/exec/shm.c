/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of shm.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* O_TMPFILE */
#endif
#include "shm.h"

#include "errors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void *map_shared(int fd, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (MAP_FAILED == base) {
        return NULL;
    }
    /* a forked child has no business here */
    (void) madvise(base, bytes, MADV_DONTFORK);
    return base;
}

/* Allocate the file's pages; the allocating process is the owner, so they land on its NUMA node. */
static int open_file(const char *dir, size_t bytes, int *fd)
{
    int rc;

    *fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0) {
        return GR_ERR_SYS;
    }
    do {
        rc = posix_fallocate(*fd, 0, (off_t) bytes);
    } while (EINTR == rc);
    if (0 != rc) {
        close(*fd);
        errno = rc;
        return ENOSPC == rc || ENOMEM == rc ? GR_ERR_SPACE : GR_ERR_SYS;
    }
    return 0;
}

int gr_shm_create(const char *dir, size_t bytes, struct gr_shm *shm)
{
    struct stat st;
    int rc = open_file(dir, bytes, &shm->fd);

    if (rc < 0) {
        return rc;
    }
    shm->base = map_shared(shm->fd, bytes);
    shm->bytes = bytes;
    if (NULL == shm->base || 0 != fstat(shm->fd, &st)) {
        gr_shm_destroy(shm);
        return GR_ERR_SYS;
    }
    shm->ino = st.st_ino;
    shm->dev = st.st_dev;
    return 0;
}

void gr_shm_destroy(struct gr_shm *shm)
{
    gr_shm_detach(shm->base, shm->bytes);
    close(shm->fd);
}

/* Open the peer's file and make sure that it is the one that was offered. */
static int open_peer_file(int pid, int number, uint64_t ino, uint64_t dev, size_t bytes, int *fd)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, number);
    *fd = open(path, O_RDWR | O_CLOEXEC);
    if (*fd < 0) {
        return ENOENT == errno || EACCES == errno || EPERM == errno ? GR_ERR_FOREIGN : GR_ERR_SYS;
    }
    if (0 != fstat(*fd, &st) || st.st_ino != ino || st.st_dev != dev ||
        (uint64_t) st.st_size < bytes) {
        close(*fd);
        return GR_ERR_FOREIGN;
    }
    return 0;
}

int gr_shm_attach(int pid, int number, uint64_t ino, uint64_t dev, size_t bytes, unsigned char **base)
{
    int fd, rc = open_peer_file(pid, number, ino, dev, bytes, &fd);

    if (rc < 0) {
        return rc;
    }
    *base = map_shared(fd, bytes);
    close(fd);
    return NULL == *base ? GR_ERR_SYS : 0;
}

void gr_shm_detach(unsigned char *base, size_t bytes)
{
    if (NULL != base) {
        munmap(base, bytes);
    }
}
