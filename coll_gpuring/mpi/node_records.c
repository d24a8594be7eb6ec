/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of node_records.h: a slot for each process of the job, most of them holes. */
#include "mpi/node_records.h"

#include "mpi/ompi.h"

#include "ompi/proc/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Fewer processes on the node ask PMIx. */
#define MANY 8

/* Bytes of a slot; the same for all builds, which may differ in their records. */
#define SLOT ((size_t) 8192)

struct slot {
    uint64_t hash; /* of all that follows */
    uint32_t jobid, vpid, bytes;
    unsigned char record[SLOT - 24];
};

/* Bytes of a slot with a record of that length. */
static size_t used(size_t bytes)
{
    return offsetof(struct slot, record) + bytes;
}

/* FNV-1a */
static uint64_t hash_of(const struct slot *slot, size_t bytes)
{
    const unsigned char *at = (const unsigned char *) slot;
    uint64_t hash = 0xcbf29ce484222325u;
    size_t k;

    for (k = sizeof(slot->hash); k < used(bytes); k++) {
        hash = (hash ^ at[k]) * 0x100000001b3u;
    }
    return hash;
}

static int open_file(int flags)
{
    char path[4096];
    int n;

    if (NULL == opal_process_info.job_session_dir ||
        (long) opal_process_info.num_local_peers + 1 < MANY) {
        return -1;
    }
    n = snprintf(path, sizeof(path), "%s/gpuring.records", opal_process_info.job_session_dir);
    return n < (int) sizeof(path) ? open(path, flags | O_CLOEXEC, 0600) : -1;
}

/* Whether this process may write a file up to that offset. Beyond it a signal would end the job. */
static bool may_write(size_t end)
{
    struct rlimit limit;

    return 0 == getrlimit(RLIMIT_FSIZE, &limit) &&
           (RLIM_INFINITY == limit.rlim_cur || end <= limit.rlim_cur);
}

void mca_coll_gpuring_node_records_write(const void *record, size_t bytes)
{
    struct slot slot = {.jobid = OPAL_PROC_MY_NAME.jobid, .vpid = OPAL_PROC_MY_NAME.vpid};
    bool possible = bytes <= sizeof(slot.record) && may_write(((size_t) slot.vpid + 1) * SLOT);
    int fd = possible ? open_file(O_WRONLY | O_CREAT) : -1;

    if (fd < 0) { /* others ask PMIx */
        return;
    }
    slot.bytes = (uint32_t) bytes;
    memcpy(slot.record, record, bytes);
    slot.hash = hash_of(&slot, bytes);
    /* a slot that is not whole has another hash */
    (void) !pwrite(fd, &slot, used(bytes), (off_t) slot.vpid * (off_t) SLOT);
    close(fd);
}

int mca_coll_gpuring_node_records_open(void)
{
    return open_file(O_RDONLY);
}

bool mca_coll_gpuring_node_records_read(int fd, uint32_t vpid, void *record, size_t bytes)
{
    struct slot slot;

    if (fd < 0 || bytes > sizeof(slot.record) ||
        (ssize_t) used(bytes) != pread(fd, &slot, used(bytes), (off_t) vpid * (off_t) SLOT) ||
        slot.jobid != OPAL_PROC_MY_NAME.jobid || slot.vpid != vpid || slot.bytes != bytes ||
        slot.hash != hash_of(&slot, bytes)) {
        return false;
    }
    memcpy(record, slot.record, bytes);
    return true;
}
