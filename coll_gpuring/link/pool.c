/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments, slabs and leases of this process, and mappings of peers' segments. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* strdup */
#endif
#include "link/pool.h"

#include "base/list.h"
#include "link/shm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Segments of small slabs are not smaller. */
#define SEGMENT_BYTES ((size_t) 64 << 10)
#define PAGE ((size_t) sysconf(_SC_PAGESIZE))

struct gr_slab {
    struct gr_slab *next;    /* of the pool */
    struct segment *segment; /* that it lies in */
    size_t offset;           /* in the segment */
    size_t bytes;            /* its size */
    int nusers;              /* records of users at its start */
    enum gr_slab_state state;
    uint64_t lease; /* number of the present or last lease, from 1 */
};

/* A part of the pool's file, which peers map as a whole. */
struct segment {
    struct segment *next;
    unsigned char *base;    /* where it is mapped */
    size_t bytes;           /* its size */
    uint64_t start;         /* offset in the file */
    struct gr_slab slabs[]; /* that it is cut into */
};

/* A segment of another process. */
struct mapping {
    struct mapping *next;
    struct gr_peer_id owner;
    uint64_t ino, dev;   /* of the owner's file */
    uint64_t start;      /* offset in the file */
    unsigned char *base; /* where it is mapped */
    size_t bytes;        /* size of the mapping */
};

struct gr_pool {
    pthread_mutex_t lock;     /* of everything below */
    struct gr_peer_id self;   /* this process */
    char *dir;                /* where the file is; owned */
    size_t max_bytes;         /* bound of `held` */
    size_t held;              /* bytes of all segments */
    struct gr_shm shm;        /* the file; fd negative: not created yet */
    struct segment *segments; /* owned */
    struct gr_slab *slabs;    /* of all segments */
    struct mapping *mappings; /* owned */
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
    pool->shm.fd = -1;
    return pool;
}

void gr_pool_close(struct gr_pool *pool)
{
    struct segment *s;
    struct mapping *m;

    if (NULL == pool) {
        return;
    }
    while (GR_POP(s, pool->segments)) {
        gr_shm_detach(s->base, s->bytes);
        free(s);
    }
    if (pool->shm.fd >= 0) {
        gr_shm_close(&pool->shm);
    }
    while (GR_POP(m, pool->mappings)) {
        gr_shm_detach(m->base, m->bytes);
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

/*
 * Add a segment with n slabs to the pool; with more if they are small, because each segment costs
 * its users a mapping.
 */
static int pool_grow(struct gr_pool *pool, size_t slab_bytes, int nusers, int n)
{
    int least = (int) (SEGMENT_BYTES / slab_bytes);
    size_t bytes;
    struct segment *s;
    int k, rc;

    if (n < least && round_up(slab_bytes * (size_t) least, PAGE) <= pool->max_bytes - pool->held) {
        n = least;
    }
    bytes = round_up(slab_bytes * (size_t) n, PAGE);
    if (bytes > pool->max_bytes - pool->held) {
        return GR_ERR_LIMIT;
    }
    s = calloc(1, sizeof(*s) + (size_t) n * sizeof(s->slabs[0]));
    if (NULL == s) {
        return GR_ERR_NOMEM;
    }
    rc = pool->shm.fd < 0 ? gr_shm_open(pool->dir, &pool->shm) : 0;
    if (0 == rc) {
        s->start = pool->shm.bytes;
        s->bytes = bytes;
        rc = gr_shm_grow(&pool->shm, bytes, &s->base);
    }
    if (rc < 0) {
        free(s);
        return rc;
    }
    for (k = n - 1; k >= 0; k--) {
        s->slabs[k].segment = s;
        s->slabs[k].offset = (size_t) k * slab_bytes;
        s->slabs[k].bytes = slab_bytes;
        s->slabs[k].nusers = nusers;
        GR_PUSH(&s->slabs[k], pool->slabs);
    }
    GR_PUSH(s, pool->segments);
    pool->held += bytes;
    return 0;
}

/* Whether all users have left the slab's lease. */
static int all_left(const struct gr_slab *f)
{
    struct gr_lease_user *users = gr_slab_base(f);
    int k;

    for (k = 0; k < f->nusers; k++) {
        if (f->lease != atomic_load_explicit(&users[k].left, memory_order_acquire)) {
            return 0;
        }
    }
    return 1;
}

/* Whether the slab can be leased. Ends the lease that owner and users have left. */
static int slab_is_free(struct gr_slab *f)
{
    if (GR_SLAB_LEAVING == f->state && all_left(f)) {
        f->state = GR_SLAB_FREE;
    }
    return GR_SLAB_FREE == f->state;
}

/* Lease up to n free slabs; returns how many. */
static int take_free(struct gr_pool *pool, size_t slab_bytes, int nusers, int n,
                     struct gr_slab **slabs)
{
    struct gr_slab *f;
    int taken = 0;

    for (f = pool->slabs; NULL != f && taken < n; f = f->next) {
        if (f->bytes == slab_bytes && f->nusers == nusers && slab_is_free(f)) {
            f->state = GR_SLAB_LEASED;
            f->lease++;
            slabs[taken++] = f;
        }
    }
    return taken;
}

int gr_pool_lease(struct gr_pool *pool, size_t slab_bytes, int nusers, int n,
                  struct gr_slab **slabs)
{
    int taken, rc = 0;

    slab_bytes = round_up(slab_bytes, GR_CACHE_LINE);
    pthread_mutex_lock(&pool->lock);
    taken = take_free(pool, slab_bytes, nusers, n, slabs);
    if (taken < n) {
        rc = pool_grow(pool, slab_bytes, nusers, n - taken);
        if (0 == rc) {
            taken += take_free(pool, slab_bytes, nusers, n - taken, slabs + taken);
        }
    }
    while (rc < 0 && taken > 0) {
        slabs[--taken]->state = GR_SLAB_FREE;
    }
    pthread_mutex_unlock(&pool->lock);
    return rc;
}

struct gr_slab_handle gr_pool_export(const struct gr_pool *pool, const struct gr_slab *slab)
{
    struct gr_slab_handle handle;

    memset(&handle, 0, sizeof(handle));
    handle.owner = pool->self;
    handle.ino = pool->shm.ino;
    handle.dev = pool->shm.dev;
    handle.start = slab->segment->start;
    handle.segment_bytes = slab->segment->bytes;
    handle.offset = slab->offset;
    handle.lease = slab->lease;
    handle.pid = (int32_t) getpid();
    handle.fd = pool->shm.fd;
    return handle;
}

void *gr_slab_base(const struct gr_slab *slab)
{
    return slab->segment->base + slab->offset;
}

void gr_pool_release(struct gr_pool *pool, struct gr_slab *slab, int used)
{
    pthread_mutex_lock(&pool->lock);
    slab->state = used ? GR_SLAB_LEAVING : GR_SLAB_FREE;
    pthread_mutex_unlock(&pool->lock);
}

static int mapping_create(const struct gr_slab_handle *handle, struct mapping **out)
{
    struct mapping *m = calloc(1, sizeof(*m));
    int rc;

    if (NULL == m) {
        return GR_ERR_NOMEM;
    }
    rc = gr_shm_attach(handle->pid, handle->fd, handle->ino, handle->dev, handle->start,
                       handle->segment_bytes, &m->base);
    if (rc < 0) {
        free(m);
        return rc;
    }
    m->owner = handle->owner;
    m->ino = handle->ino;
    m->dev = handle->dev;
    m->start = handle->start;
    m->bytes = handle->segment_bytes;
    *out = m;
    return 0;
}

/* Whether a slab, which begins with a user's record, can lie there. */
static int is_inside(const struct gr_slab_handle *handle)
{
    return handle->offset < handle->segment_bytes &&
           gr_slab_handle_room(handle) >= sizeof(struct gr_lease_user) &&
           0 == handle->offset % GR_CACHE_LINE;
}

void *gr_pool_map(struct gr_pool *pool, const struct gr_slab_handle *handle, int *error)
{
    struct mapping *m;

    *error = 0;
    if (!is_inside(handle)) {
        *error = GR_ERR_FOREIGN;
        return NULL;
    }
    pthread_mutex_lock(&pool->lock);
    for (m = pool->mappings; NULL != m; m = m->next) {
        if (m->owner.job == handle->owner.job && m->owner.vpid == handle->owner.vpid &&
            m->ino == handle->ino && m->dev == handle->dev && m->start == handle->start &&
            m->bytes >= handle->segment_bytes) {
            break;
        }
    }
    if (NULL == m) {
        *error = mapping_create(handle, &m);
        if (0 == *error) {
            GR_PUSH(m, pool->mappings);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return 0 == *error ? m->base + handle->offset : NULL;
}

struct gr_pool_usage gr_pool_usage(struct gr_pool *pool)
{
    struct gr_pool_usage u = {0, 0, 0};
    struct gr_slab *f;
    struct mapping *m;

    pthread_mutex_lock(&pool->lock);
    u.held = pool->held;
    for (f = pool->slabs; NULL != f; f = f->next) {
        u.leased += slab_is_free(f) ? 0 : f->bytes;
    }
    for (m = pool->mappings; NULL != m; m = m->next) {
        u.mapped++;
    }
    pthread_mutex_unlock(&pool->lock);
    return u;
}
