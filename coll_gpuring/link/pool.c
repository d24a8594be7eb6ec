/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of pool.h: segments, slabs, leases, and the cache of peers' segments. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* strdup */
#endif
#include "link/pool.h"

#include "link/shm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Segments of small slabs are not smaller. */
#define SEGMENT_BYTES ((size_t) 64 << 10)
#define PAGE ((size_t) sysconf(_SC_PAGESIZE))

enum frame_state {
    FRAME_FREE,
    FRAME_LEASED,
    FRAME_LEAVING /* the owner has left, others may not have */
};

struct segment {
    struct segment *next;
    unsigned char *base;
    size_t bytes;
    uint64_t start; /* in the pool's file */
};

struct gr_slab {
    struct gr_slab *next; /* all slabs of the pool */
    struct segment *segment;
    size_t offset, bytes;
    int ndoors;
    enum frame_state state;
    uint64_t lease; /* number of the present or last lease, from 1 */
};

/* A segment of another process. */
struct mapping {
    struct mapping *next;
    struct gr_peer_id owner;
    uint64_t ino, dev, start;
    unsigned char *base;
    size_t bytes;
};

struct gr_pool {
    pthread_mutex_t lock;
    struct gr_peer_id self;
    char *dir;
    size_t max_bytes, held;
    struct gr_shm shm; /* fd negative: not needed yet */
    struct segment *segments;
    struct gr_slab *slabs;
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
    pool->shm.fd = -1;
    return pool;
}

void gr_pool_close(struct gr_pool *pool)
{
    if (NULL == pool) {
        return;
    }
    while (NULL != pool->slabs) {
        struct gr_slab *f = pool->slabs;

        pool->slabs = f->next;
        free(f);
    }
    while (NULL != pool->segments) {
        struct segment *s = pool->segments;

        pool->segments = s->next;
        gr_shm_detach(s->base, s->bytes);
        free(s);
    }
    if (pool->shm.fd >= 0) {
        gr_shm_close(&pool->shm);
    }
    while (NULL != pool->mappings) {
        struct mapping *m = pool->mappings;

        pool->mappings = m->next;
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

static int segment_create(struct gr_pool *pool, size_t bytes, struct segment **out)
{
    struct segment *s = calloc(1, sizeof(*s));
    int rc;

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
    *out = s;
    return 0;
}

/*
 * Add a segment with n slabs to the pool; with more where they are small, since each segment costs
 * its users a mapping.
 */
static int pool_grow(struct gr_pool *pool, size_t frame_bytes, int ndoors, int n)
{
    int least = (int) (SEGMENT_BYTES / frame_bytes);
    size_t bytes;
    struct gr_slab *list = NULL, *f;
    struct segment *s = NULL;
    int k, rc = 0;

    if (n < least && round_up(frame_bytes * (size_t) least, PAGE) <= pool->max_bytes - pool->held) {
        n = least;
    }
    bytes = round_up(frame_bytes * (size_t) n, PAGE);
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
        f->ndoors = ndoors;
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
        f->next = pool->slabs;
        pool->slabs = f;
    }
    if (rc < 0) {
        return rc;
    }
    s->next = pool->segments;
    pool->segments = s;
    pool->held += bytes;
    return 0;
}

/* Whether all the others have left the slab's lease. */
static int all_left(const struct gr_slab *f)
{
    struct gr_door *doors = gr_slab_base(f);
    int k;

    for (k = 0; k < f->ndoors; k++) {
        if (f->lease != atomic_load_explicit(&doors[k].left, memory_order_acquire)) {
            return 0;
        }
    }
    return 1;
}

/* Whether the slab can be leased; ends the lease of one that all have left. */
static int frame_is_free(struct gr_slab *f)
{
    if (FRAME_LEAVING == f->state && all_left(f)) {
        f->state = FRAME_FREE;
    }
    return FRAME_FREE == f->state;
}

/* Lease up to n free slabs; returns how many. */
static int take_free(struct gr_pool *pool, size_t frame_bytes, int ndoors, int n,
                     struct gr_slab **slabs)
{
    struct gr_slab *f;
    int taken = 0;

    for (f = pool->slabs; NULL != f && taken < n; f = f->next) {
        if (f->bytes == frame_bytes && f->ndoors == ndoors && frame_is_free(f)) {
            f->state = FRAME_LEASED;
            f->lease++;
            slabs[taken++] = f;
        }
    }
    return taken;
}

int gr_pool_lease(struct gr_pool *pool, size_t frame_bytes, int ndoors, int n,
                  struct gr_slab **slabs)
{
    int taken, rc = 0;

    frame_bytes = round_up(frame_bytes, GR_CACHE_LINE);
    pthread_mutex_lock(&pool->lock);
    taken = take_free(pool, frame_bytes, ndoors, n, slabs);
    if (taken < n) {
        rc = pool_grow(pool, frame_bytes, ndoors, n - taken);
        if (0 == rc) {
            taken += take_free(pool, frame_bytes, ndoors, n - taken, slabs + taken);
        }
    }
    while (rc < 0 && taken > 0) {
        slabs[--taken]->state = FRAME_FREE;
    }
    pthread_mutex_unlock(&pool->lock);
    return rc;
}

struct gr_offer gr_pool_offer(const struct gr_pool *pool, const struct gr_slab *slab)
{
    struct gr_offer o;

    memset(&o, 0, sizeof(o));
    o.owner = pool->self;
    o.ino = pool->shm.ino;
    o.dev = pool->shm.dev;
    o.start = slab->segment->start;
    o.segment_bytes = slab->segment->bytes;
    o.offset = slab->offset;
    o.lease = slab->lease;
    o.pid = (int32_t) getpid();
    o.fd = pool->shm.fd;
    return o;
}

void *gr_slab_base(const struct gr_slab *slab)
{
    return slab->segment->base + slab->offset;
}

void gr_pool_release(struct gr_pool *pool, struct gr_slab *slab, int used)
{
    pthread_mutex_lock(&pool->lock);
    slab->state = used ? FRAME_LEAVING : FRAME_FREE;
    pthread_mutex_unlock(&pool->lock);
}

static int mapping_create(const struct gr_offer *offer, struct mapping **out)
{
    struct mapping *m = calloc(1, sizeof(*m));
    int rc;

    if (NULL == m) {
        return GR_ERR_NOMEM;
    }
    rc = gr_shm_attach(offer->pid, offer->fd, offer->ino, offer->dev, offer->start,
                       offer->segment_bytes, &m->base);
    if (rc < 0) {
        free(m);
        return rc;
    }
    m->owner = offer->owner;
    m->ino = offer->ino;
    m->dev = offer->dev;
    m->start = offer->start;
    m->bytes = offer->segment_bytes;
    *out = m;
    return 0;
}

/* Whether a slab, which begins with a door, can lie there. */
static int is_inside(const struct gr_offer *offer)
{
    return offer->offset < offer->segment_bytes && gr_offer_room(offer) >= sizeof(struct gr_door) &&
           0 == offer->offset % GR_CACHE_LINE;
}

void *gr_pool_map(struct gr_pool *pool, const struct gr_offer *offer, int *error)
{
    struct mapping *m;

    *error = 0;
    if (!is_inside(offer)) {
        *error = GR_ERR_FOREIGN;
        return NULL;
    }
    pthread_mutex_lock(&pool->lock);
    for (m = pool->mappings; NULL != m; m = m->next) {
        if (m->owner.job == offer->owner.job && m->owner.vpid == offer->owner.vpid &&
            m->ino == offer->ino && m->dev == offer->dev && m->start == offer->start &&
            m->bytes >= offer->segment_bytes) {
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
    return 0 == *error ? m->base + offer->offset : NULL;
}

struct gr_pool_usage gr_pool_usage(struct gr_pool *pool)
{
    struct gr_pool_usage u = {0, 0, 0};
    struct gr_slab *f;
    struct mapping *m;

    pthread_mutex_lock(&pool->lock);
    u.held = pool->held;
    for (f = pool->slabs; NULL != f; f = f->next) {
        u.leased += frame_is_free(f) ? 0 : f->bytes;
    }
    for (m = pool->mappings; NULL != m; m = m->next) {
        u.mapped++;
    }
    pthread_mutex_unlock(&pool->lock);
    return u;
}
