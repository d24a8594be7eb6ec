/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of pool.h: segments, frames, leases, and the cache of peers' segments. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* O_TMPFILE */
#endif
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum frame_state {
    FRAME_FREE,
    FRAME_LEASED,
    FRAME_LEAVING /* the reader has left, the writer may not have */
};

struct segment {
    struct segment *next;
    unsigned char *base;
    size_t bytes;
    int fd;
    uint64_t ino, dev;
};

struct gr_frame {
    struct gr_frame *next; /* all frames of the pool */
    struct segment *segment;
    size_t offset, bytes;
    enum frame_state state;
    uint64_t lease; /* number of the present or last lease, from 1 */
    uint64_t count; /* where the counters stood when it began */
};

/* A segment of another process. */
struct mapping {
    struct mapping *next;
    struct gr_peer_id owner;
    uint64_t ino, dev;
    unsigned char *base;
    size_t bytes;
};

struct gr_pool {
    pthread_mutex_t lock;
    struct gr_peer_id self;
    char *dir;
    size_t max_bytes, held;
    struct segment *segments;
    struct gr_frame *frames;
    struct mapping *mappings;
};

struct gr_pool *gr_pool_open(const char *dir, struct gr_peer_id self, size_t max_bytes)
{
    struct gr_pool *pool = calloc(1, sizeof(*pool));

    if (NULL == pool) {
        return NULL;
    }
    pool->dir = strdup(dir);
    if (NULL == pool->dir) {
        free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pool->self = self;
    pool->max_bytes = max_bytes;
    return pool;
}

void gr_pool_close(struct gr_pool *pool)
{
    if (NULL == pool) {
        return;
    }
    while (NULL != pool->frames) {
        struct gr_frame *f = pool->frames;

        pool->frames = f->next;
        free(f);
    }
    while (NULL != pool->segments) {
        struct segment *s = pool->segments;

        pool->segments = s->next;
        munmap(s->base, s->bytes);
        close(s->fd);
        free(s);
    }
    while (NULL != pool->mappings) {
        struct mapping *m = pool->mappings;

        pool->mappings = m->next;
        munmap(m->base, m->bytes);
        free(m);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool->dir);
    free(pool);
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

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

/* Allocate the file's pages; the allocating process is the reader, so they land on its NUMA node. */
static int open_segment_file(const char *dir, size_t bytes, int *fd)
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

static int segment_create(struct gr_pool *pool, size_t bytes, struct segment **out)
{
    struct segment *s = calloc(1, sizeof(*s));
    struct stat st;
    int rc;

    if (NULL == s) {
        return GR_ERR_NOMEM;
    }
    rc = open_segment_file(pool->dir, bytes, &s->fd);
    if (rc < 0) {
        free(s);
        return rc;
    }
    s->base = map_shared(s->fd, bytes);
    if (NULL == s->base || 0 != fstat(s->fd, &st)) {
        if (NULL != s->base) {
            munmap(s->base, bytes);
        }
        close(s->fd);
        free(s);
        return GR_ERR_SYS;
    }
    s->bytes = bytes;
    s->ino = st.st_ino;
    s->dev = st.st_dev;
    *out = s;
    return 0;
}

/* Add a segment with n frames to the pool. */
static int pool_grow(struct gr_pool *pool, size_t frame_bytes, int n)
{
    size_t bytes = round_up(frame_bytes * (size_t) n, (size_t) sysconf(_SC_PAGESIZE));
    struct gr_frame *list = NULL, *f;
    struct segment *s = NULL;
    int k, rc = 0;

    if (bytes > pool->max_bytes - pool->held) {
        return GR_ERR_LIMIT;
    }
    for (k = 0; k < n; k++) {
        f = calloc(1, sizeof(*f));
        if (NULL == f) {
            rc = GR_ERR_NOMEM;
            break;
        }
        f->offset = (size_t) k * frame_bytes;
        f->bytes = frame_bytes;
        f->next = list;
        list = f;
    }
    if (0 == rc) {
        rc = segment_create(pool, bytes, &s);
    }
    while (NULL != list) {
        f = list;
        list = f->next;
        if (rc < 0) {
            free(f);
            continue;
        }
        f->segment = s;
        f->next = pool->frames;
        pool->frames = f;
    }
    if (rc < 0) {
        return rc;
    }
    s->next = pool->segments;
    pool->segments = s;
    pool->held += bytes;
    return 0;
}

/* Whether the frame can be leased; ends the lease of one that both ends have left. */
static int frame_is_free(struct gr_frame *f)
{
    if (FRAME_LEAVING == f->state &&
        f->lease == atomic_load_explicit(&gr_frame_link(f)->writer_left, memory_order_acquire)) {
        f->state = FRAME_FREE;
    }
    return FRAME_FREE == f->state;
}

/*
 * Both ends of the last lease have left, so nobody else touches the frame. A team that died may have left
 * slots unread: the reader skips them, so that both counters stand alike.
 */
static void lease_begin(struct gr_frame *f)
{
    struct gr_link_shared *shared = gr_frame_link(f);

    f->state = FRAME_LEASED;
    f->lease++;
    f->count = atomic_load_explicit(&shared->tail, memory_order_acquire);
    atomic_store_explicit(&shared->head, f->count, memory_order_relaxed);
}

/* Lease up to n free frames; returns how many. */
static int take_free(struct gr_pool *pool, size_t frame_bytes, int n, struct gr_frame **frames)
{
    struct gr_frame *f;
    int taken = 0;

    for (f = pool->frames; NULL != f && taken < n; f = f->next) {
        if (f->bytes == frame_bytes && frame_is_free(f)) {
            lease_begin(f);
            frames[taken++] = f;
        }
    }
    return taken;
}

int gr_pool_lease(struct gr_pool *pool, size_t frame_bytes, int n, struct gr_frame **frames)
{
    int taken, rc = 0;

    frame_bytes = round_up(frame_bytes, GR_CACHE_LINE);
    pthread_mutex_lock(&pool->lock);
    taken = take_free(pool, frame_bytes, n, frames);
    if (taken < n) {
        rc = pool_grow(pool, frame_bytes, n - taken);
        if (0 == rc) {
            taken += take_free(pool, frame_bytes, n - taken, frames + taken);
        }
    }
    while (rc < 0 && taken > 0) {
        frames[--taken]->state = FRAME_FREE;
    }
    pthread_mutex_unlock(&pool->lock);
    return rc;
}

struct gr_offer gr_pool_offer(const struct gr_pool *pool, const struct gr_frame *frame)
{
    struct gr_offer o;

    memset(&o, 0, sizeof(o));
    o.owner = pool->self;
    o.ino = frame->segment->ino;
    o.dev = frame->segment->dev;
    o.segment_bytes = frame->segment->bytes;
    o.offset = frame->offset;
    o.lease = frame->lease;
    o.count = frame->count;
    o.pid = (int32_t) getpid();
    o.fd = frame->segment->fd;
    return o;
}

struct gr_link_shared *gr_frame_link(const struct gr_frame *frame)
{
    return (struct gr_link_shared *) (void *) (frame->segment->base + frame->offset);
}

void gr_pool_release(struct gr_pool *pool, struct gr_frame *frame, int used)
{
    pthread_mutex_lock(&pool->lock);
    frame->state = used ? FRAME_LEAVING : FRAME_FREE;
    pthread_mutex_unlock(&pool->lock);
}

/* Open the peer's file and make sure that it is the one that was offered. */
static int open_peer_file(const struct gr_offer *offer, int *fd)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) offer->pid, (int) offer->fd);
    *fd = open(path, O_RDWR | O_CLOEXEC);
    if (*fd < 0) {
        return ENOENT == errno || EACCES == errno || EPERM == errno ? GR_ERR_FOREIGN : GR_ERR_SYS;
    }
    if (0 != fstat(*fd, &st) || st.st_ino != offer->ino || st.st_dev != offer->dev ||
        (uint64_t) st.st_size < offer->segment_bytes) {
        close(*fd);
        return GR_ERR_FOREIGN;
    }
    return 0;
}

static int mapping_create(const struct gr_offer *offer, struct mapping **out)
{
    struct mapping *m = calloc(1, sizeof(*m));
    int fd, rc;

    if (NULL == m) {
        return GR_ERR_NOMEM;
    }
    rc = open_peer_file(offer, &fd);
    if (rc < 0) {
        free(m);
        return rc;
    }
    m->base = map_shared(fd, offer->segment_bytes);
    close(fd);
    if (NULL == m->base) {
        free(m);
        return GR_ERR_SYS;
    }
    m->owner = offer->owner;
    m->ino = offer->ino;
    m->dev = offer->dev;
    m->bytes = offer->segment_bytes;
    *out = m;
    return 0;
}

struct gr_link_shared *gr_pool_map(struct gr_pool *pool, const struct gr_offer *offer, int *error)
{
    struct mapping *m;

    *error = 0;
    if (offer->offset >= offer->segment_bytes) {
        *error = GR_ERR_FOREIGN;
        return NULL;
    }
    pthread_mutex_lock(&pool->lock);
    for (m = pool->mappings; NULL != m; m = m->next) {
        if (m->owner.job == offer->owner.job && m->owner.vpid == offer->owner.vpid && m->ino == offer->ino &&
            m->dev == offer->dev) {
            break;
        }
    }
    if (NULL == m) {
        *error = mapping_create(offer, &m);
        if (0 == *error) {
            m->next = pool->mappings;
            pool->mappings = m;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return 0 == *error ? (struct gr_link_shared *) (void *) (m->base + offer->offset) : NULL;
}

struct gr_pool_usage gr_pool_usage(struct gr_pool *pool)
{
    struct gr_pool_usage u = {0, 0, 0};
    struct gr_frame *f;
    struct mapping *m;

    pthread_mutex_lock(&pool->lock);
    u.held = pool->held;
    for (f = pool->frames; NULL != f; f = f->next) {
        u.leased += frame_is_free(f) ? 0 : f->bytes;
    }
    for (m = pool->mappings; NULL != m; m = m->next) {
        u.mapped++;
    }
    pthread_mutex_unlock(&pool->lock);
    return u;
}
