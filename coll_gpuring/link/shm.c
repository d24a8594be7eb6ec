/* SPDX-License-Identifier: BSD-3-Clause */
/* System V shared memory. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* MADV_DONTFORK, MADV_REMOVE */
#endif
#include "link/shm.h"

#include "base/errors.h"

#include <errno.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static int error_of(int error)
{
    /* EINVAL: larger than kernel.shmmax; EAGAIN: locked memory, after mlockall() */
    return ENOMEM == error || ENOSPC == error || EINVAL == error || EAGAIN == error ? GR_ERR_SPACE
                                                                                    : GR_ERR_SYS;
}

/* Attach a segment by its id alone. NULL: errno says why. */
static unsigned char *attach(int id, size_t bytes)
{
    void *base = shmat(id, NULL, 0);

    if ((void *) -1 == base) {
        return NULL;
    }
    /* a forked child must not use links */
    (void) madvise(base, bytes, MADV_DONTFORK);
    return base;
}

int gr_shm_create(size_t bytes, struct gr_shm_id *id, unsigned char **base)
{
    int rc;

    memset(id, 0, sizeof(*id));
    if ((ssize_t) sizeof(id->token) != getrandom(id->token, sizeof(id->token), 0)) {
        return GR_ERR_SYS;
    }
    id->id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    if (id->id < 0) {
        return error_of(errno);
    }
    *base = attach(id->id, bytes);
    rc = NULL == *base ? error_of(errno) : 0;
    /* before it has pages: a process that is killed above leaves an id, but no memory */
    (void) shmctl(id->id, IPC_RMID, NULL);
    if (0 == rc) {
        rc = gr_shm_populate(*base, GR_SHM_HEAD);
        if (0 != rc) {
            gr_shm_detach(*base);
        }
    }
    if (0 == rc) {
        memcpy(*base, id->token, sizeof(id->token));
        id->pid = (int32_t) getpid();
    }
    return rc;
}

int gr_shm_attach(const struct gr_shm_id *id, size_t bytes, unsigned char **base)
{
    struct shmid_ds segment;

    /* before it is attached: a segment of another size has no token of ours to compare */
    if (bytes < GR_SHM_HEAD || 0 != shmctl(id->id, IPC_STAT, &segment) ||
        segment.shm_segsz != bytes || (int32_t) segment.shm_cpid != id->pid) {
        return GR_ERR_FOREIGN;
    }
    *base = attach(id->id, bytes);
    if (NULL == *base) {
        return EACCES == errno || EIDRM == errno || EINVAL == errno ? GR_ERR_FOREIGN
                                                                    : error_of(errno);
    }
    if (0 != memcmp(*base, id->token, sizeof(id->token))) {
        gr_shm_detach(*base);
        return GR_ERR_FOREIGN;
    }
    return 0;
}

void gr_shm_detach(unsigned char *base)
{
    if (NULL != base) {
        (void) shmdt(base);
    }
}

int gr_shm_populate(unsigned char *base, size_t bytes)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE), at;

    if (0 == madvise(base, bytes, MADV_POPULATE_WRITE)) {
        return 0;
    }
    if (EINVAL != errno) {
        return GR_ERR_SPACE;
    }
    /* a kernel that does not know it: nobody else uses these pages yet */
    for (at = 0; at < bytes; at += page) {
        *(volatile unsigned char *) (base + at) = 0;
    }
    return 0;
}

int gr_shm_give_back(unsigned char *base, size_t bytes)
{
    return 0 == madvise(base, bytes, MADV_REMOVE) ? 0 : GR_ERR_SYS;
}
