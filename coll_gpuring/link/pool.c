/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs and leases of this process, the pages of its segments, and mappings of peers' segments. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* tdestroy */
#endif
#include "link/pool.h"

#include "base/memory.h"
#include "link/ranges.h"

#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first segment; it is address space, not memory. */
#define SEGMENT_BYTES ((size_t) 1 << 20)
/* Bytes of pages that may be held beside as many as are leased. */
#define SPARE_BYTES ((size_t) 2 << 20)
/* Leases that a call looks at to see whether all users have left: more than one call adds. */
#define SWEPT 8
#define PAGE ((size_t) sysconf(_SC_PAGESIZE))

/* A segment of another process. What names it stands first: the tree compares that as bytes. */
struct mapping {
    struct gr_peer_id owner;
    struct gr_shm_id id;
    uint64_t bytes;      /* its size; the last part of its name */
    unsigned char *base; /* where it is attached */
    size_t users;        /* gr_pool_map() without gr_pool_unmap() */
};
_Static_assert(offsetof(struct mapping, base) ==
                   sizeof(struct gr_peer_id) + sizeof(struct gr_shm_id) + sizeof(uint64_t),
               "padding in the name, whose bytes would be compared");

struct gr_pool {
    pthread_mutex_t lock;              /* of everything below */
    struct gr_peer_id self;            /* this process */
    size_t max_bytes;                  /* bound of `held` */
    size_t reserved;                   /* bytes of all segments */
    size_t held;                       /* bytes of their populated pages */
    size_t leased;                     /* bytes of slabs that are leased, or not left */
    size_t in_use;                     /* of these what is populated for sure */
    size_t freed;                      /* bytes of slabs freed since pages were given back */
    uint64_t leases;                   /* number of the last lease */
    struct gr_segment *segments;       /* owned */
    struct gr_ranges ranges;           /* free memory */
    struct gr_slab_list leaving;       /* released by this process, in the order of looking */
    struct gr_slab_list kept[GR_BINS]; /* pinned ones that are not leased, by size */
    void *mappings;                    /* a tree of tsearch(), of struct mapping; owned */
    int mapped;                        /* in the tree */
    uint64_t attached;                 /* segments that were ever attached */
    uint64_t checked;                  /* of these, when gr_pool_check() was called last */
};

struct gr_pool *gr_pool_open(struct gr_peer_id self, size_t max_bytes)
{
    struct gr_pool *pool = gr_calloc(1, sizeof(*pool));
    int k;

    if (NULL == pool) {
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pool->self = self;
    pool->max_bytes = max_bytes;
    gr_ranges_init(&pool->ranges);
    for (k = 0; k < GR_BINS; k++) {
        TAILQ_INIT(&pool->kept[k]);
    }
    TAILQ_INIT(&pool->leaving);
    return pool;
}

static void mapping_destroy(void *mapping)
{
    gr_shm_detach(((struct mapping *) mapping)->base);
    free(mapping);
}

void gr_pool_close(struct gr_pool *pool)
{
    struct gr_segment *s;

    if (NULL == pool) {
        return;
    }
    while (GR_POP(s, pool->segments)) {
        gr_ranges_destroy(s->first);
        gr_shm_detach(s->base);
        free(s);
    }
    tdestroy(pool->mappings, mapping_destroy);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* ---- pages ---- */

/* How many pages from number `at` on, before `end`, are like the first: at least `kind`, or not. */
static size_t same_pages(const struct gr_segment *s, size_t at, size_t end, enum gr_page kind)
{
    size_t n = 1;

    while (at + n < end && (s->pages[at + n] >= kind) == (s->pages[at] >= kind)) {
        n++;
    }
    return n;
}

/*
 * Free the pages that lie in a free range as a whole. The first page of a segment stays: its token
 * is there.
 */
static void give_back_range(struct gr_pool *pool, struct gr_slab *range)
{
    struct gr_segment *s = range->segment;
    size_t page = PAGE, at = gr_round_up(range->offset, page) / page, n;
    size_t end = (range->offset + range->bytes) / page;

    at = at < range->from_page ? range->from_page : at;
    end = end > range->end_page ? range->end_page : end;
    range->from_page = range->end_page = 0;
    for (; at < end; at += n) {
        n = same_pages(s, at, end, GR_PAGE_MAYBE);
        if (GR_PAGE_NONE == s->pages[at]) {
            continue;
        }
        if (0 != gr_shm_give_back(s->base + at * page, n * page)) {
            range->from_page = (uint32_t) at; /* for another try */
            range->end_page = (uint32_t) end;
            return;
        }
        memset(s->pages + at, GR_PAGE_NONE, n);
        pool->held -= n * page;
    }
}

/* Free pages of free ranges, large ones first, until at most `most` bytes are held. */
static void give_back(struct gr_pool *pool, size_t most)
{
    struct gr_slab *range;
    int bin;

    for (bin = GR_BINS - 1; bin >= 0 && pool->held > most; bin--) {
        TAILQ_FOREACH(range, &pool->ranges.bins[bin], entry)
        {
            give_back_range(pool, range);
        }
    }
    pool->freed = 0;
}

/* Whether so many bytes more may be held. */
static int is_bounded(struct gr_pool *pool, size_t bytes)
{
    if (pool->held + bytes > pool->max_bytes) {
        give_back(pool, 0);
    }
    return pool->held + bytes <= pool->max_bytes;
}

/*
 * Allocate the pages of a part of a range that are not there yet, and none beyond the bound. On
 * error those that are there stay.
 */
static int populate(struct gr_pool *pool, const struct gr_slab *range, size_t from, size_t bytes)
{
    struct gr_segment *s = range->segment;
    size_t page = PAGE, first = (range->offset + from) / page, n, at, missing = 0;
    size_t end = gr_round_up(range->offset + from + bytes, page) / page;

    for (at = first; at < end; at++) {
        missing += GR_PAGE_NONE == s->pages[at] ? page : 0;
    }
    if (missing > 0 && !is_bounded(pool, missing)) {
        return GR_ERR_LIMIT;
    }
    for (at = first; at < end; at += n) {
        n = same_pages(s, at, end, GR_PAGE_THERE);
        if (GR_PAGE_THERE != s->pages[at]) {
            if (0 != gr_shm_populate(s->base + at * page, n * page)) {
                return GR_ERR_SPACE;
            }
            memset(s->pages + at, GR_PAGE_THERE, n);
        }
    }
    pool->held += missing;
    return 0;
}

/* Count pages of a sparse slab that its owner touches, or may have touched. */
static void count_pages(struct gr_pool *pool, const struct gr_slab *slab, size_t from, size_t bytes)
{
    struct gr_segment *s = slab->segment;
    size_t page = PAGE, at = (slab->offset + from) / page;
    size_t end = gr_round_up(slab->offset + from + bytes, page) / page;

    for (; at < end; at++) {
        if (GR_PAGE_NONE == s->pages[at]) {
            s->pages[at] = GR_PAGE_MAYBE;
            pool->held += page;
        }
    }
}

/* ---- segments ---- */

static int add_segment(struct gr_pool *pool, size_t bytes)
{
    struct gr_segment *s = gr_calloc(1, sizeof(*s) + bytes / PAGE);
    struct gr_slab *range = gr_calloc(1, sizeof(*range));
    int rc = NULL == s || NULL == range ? GR_ERR_NOMEM : gr_shm_create(bytes, &s->id, &s->base);

    if (0 != rc) {
        free(s);
        free(range);
        return rc;
    }
    s->bytes = bytes;
    s->first = range;
    range->segment = s;
    range->offset = GR_SHM_HEAD;
    range->bytes = bytes - GR_SHM_HEAD;
    GR_PUSH(s, pool->segments);
    pool->reserved += bytes;
    pool->attached++;
    gr_ranges_free(&pool->ranges, range);
    return 0;
}

/* Detach a segment of which no range is leased, or kept. */
static void remove_segment(struct gr_pool *pool, struct gr_segment *s)
{
    size_t k;

    for (k = 0; k < s->bytes / PAGE; k++) {
        pool->held -= GR_PAGE_NONE == s->pages[k] ? 0 : PAGE;
    }
    pool->reserved -= s->bytes;
    gr_ranges_remove(&pool->ranges, s->first);
    gr_shm_detach(s->base);
    free(s);
}

/* Add a segment with room for so many bytes; for more where the system has them. */
static int grow(struct gr_pool *pool, size_t bytes)
{
    size_t least = gr_round_up(bytes + GR_SHM_HEAD, PAGE);
    size_t wanted = pool->reserved < pool->max_bytes ? pool->reserved : pool->max_bytes;
    int rc;

    wanted = gr_round_up(wanted < SEGMENT_BYTES ? SEGMENT_BYTES : wanted, PAGE);
    rc = add_segment(pool, wanted < least ? least : wanted);
    return GR_ERR_SPACE == rc && wanted > least ? add_segment(pool, least) : rc;
}

/* ---- leases ---- */

void *gr_slab_base(const struct gr_slab *slab)
{
    return slab->segment->base + slab->offset;
}

/* Whether all users have left the slab's lease. */
static int all_left(const struct gr_slab *slab)
{
    struct gr_lease_user *users = gr_slab_base(slab);
    int k;

    for (k = 0; k < slab->nusers; k++) {
        if (slab->lease != atomic_load_explicit(&users[k].left, memory_order_acquire)) {
            return 0;
        }
    }
    return 1;
}

/* The lease is over; the slab is in no list. */
static void reuse(struct gr_pool *pool, struct gr_slab *slab)
{
    pool->leased -= slab->bytes;
    pool->in_use -= slab->in_use;
    if (GR_SLAB_PINNED == slab->kind) {
        slab->state = GR_SLAB_KEPT;
        TAILQ_INSERT_HEAD(&pool->kept[gr_ranges_bin(slab->bytes)], slab, entry);
        return;
    }
    if (GR_SLAB_SPARSE == slab->kind) {
        count_pages(pool, slab, 0, slab->bytes);
    }
    pool->freed += slab->bytes;
    gr_ranges_free(&pool->ranges, slab);
}

/*
 * End leases that all users have left, of the first `most` ones that this process has released.
 * Those that were not left go to the end.
 */
static void sweep(struct gr_pool *pool, size_t most)
{
    struct gr_slab *slab, *last = TAILQ_LAST(&pool->leaving, gr_slab_list);
    size_t k;

    for (k = 0; k < most && NULL != last; k++) {
        slab = TAILQ_FIRST(&pool->leaving);
        TAILQ_REMOVE(&pool->leaving, slab, entry);
        last = slab == last ? NULL : last;
        if (all_left(slab)) {
            reuse(pool, slab);
        } else {
            TAILQ_INSERT_TAIL(&pool->leaving, slab, entry);
        }
    }
    /* each time that as much was freed again, so a look at all ranges pays */
    if (pool->freed > SPARE_BYTES && pool->held > 2 * pool->in_use + SPARE_BYTES) {
        give_back(pool, pool->in_use + SPARE_BYTES / 2);
    }
}

/* A free range; the memory of leases that are over, or a new segment, where there is none. */
static int take_range(struct gr_pool *pool, size_t bytes, size_t align, struct gr_slab **slab)
{
    int rc = gr_ranges_take(&pool->ranges, bytes, align, slab);

    if (0 == rc && NULL == *slab) {
        sweep(pool, SIZE_MAX);
        rc = gr_ranges_take(&pool->ranges, bytes, align, slab);
    }
    if (0 == rc && NULL == *slab) {
        rc = grow(pool, bytes + (align > GR_CACHE_LINE ? align : 0));
        rc = 0 == rc ? gr_ranges_take(&pool->ranges, bytes, align, slab) : rc;
    }
    return rc;
}

/* A pinned slab of that size that is not leased, or NULL. */
static struct gr_slab *take_kept(struct gr_pool *pool, size_t bytes, int nusers)
{
    struct gr_slab_list *list = &pool->kept[gr_ranges_bin(bytes)];
    struct gr_slab *slab = TAILQ_FIRST(list);

    while (NULL != slab && (slab->bytes != bytes || slab->nusers != nusers)) {
        slab = TAILQ_NEXT(slab, entry);
    }
    if (NULL != slab) {
        TAILQ_REMOVE(list, slab, entry);
    }
    return slab;
}

static int lease_one(struct gr_pool *pool, enum gr_slab_kind kind, size_t bytes, int nusers,
                     struct gr_slab **slab)
{
    size_t records = (size_t) nusers * sizeof(struct gr_lease_user);
    struct gr_lease_user *users;
    int k, rc = 0;

    sweep(pool, SWEPT);
    *slab = GR_SLAB_PINNED == kind ? take_kept(pool, bytes, nusers) : NULL;
    if (NULL == *slab) {
        /* before a segment is made for what must not be held */
        rc = GR_SLAB_SPARSE == kind || bytes <= pool->max_bytes ? 0 : GR_ERR_LIMIT;
        rc = 0 == rc ? take_range(pool, bytes, GR_SLAB_PINNED == kind ? PAGE : GR_CACHE_LINE, slab)
                     : rc;
        if (0 != rc) {
            return rc;
        }
        rc = populate(pool, *slab, 0, GR_SLAB_SPARSE == kind ? records : bytes);
        if (0 != rc) {
            gr_ranges_free(&pool->ranges, *slab);
            return rc;
        }
    }
    (*slab)->state = GR_SLAB_LEASED;
    (*slab)->nusers = nusers;
    (*slab)->kind = kind;
    (*slab)->lease = ++pool->leases;
    (*slab)->in_use = GR_SLAB_SPARSE == kind ? records : bytes;
    pool->leased += bytes;
    pool->in_use += (*slab)->in_use;
    users = gr_slab_base(*slab);
    for (k = 0; k < nusers; k++) {
        atomic_store_explicit(&users[k].left, 0, memory_order_relaxed);
        atomic_store_explicit(&users[k].word, 0, memory_order_relaxed);
    }
    return 0;
}

int gr_pool_lease(struct gr_pool *pool, enum gr_slab_kind kind, size_t slab_bytes, int nusers,
                  int n, struct gr_slab **slabs)
{
    size_t bytes = gr_round_up(slab_bytes, GR_SLAB_PINNED == kind ? PAGE : GR_CACHE_LINE);
    int taken = 0, rc = 0;

    pthread_mutex_lock(&pool->lock);
    while (taken < n && 0 == rc) {
        rc = lease_one(pool, kind, bytes, nusers, &slabs[taken]);
        taken += 0 == rc;
    }
    while (0 != rc && taken > 0) {
        reuse(pool, slabs[--taken]);
    }
    pthread_mutex_unlock(&pool->lock);
    return rc;
}

int gr_pool_count(struct gr_pool *pool, struct gr_slab *slab, size_t from, int *is_zero)
{
    size_t page = PAGE;
    int rc = 0;

    pthread_mutex_lock(&pool->lock);
    *is_zero = GR_PAGE_NONE == slab->segment->pages[(slab->offset + from) / page];
    if (*is_zero && !is_bounded(pool, page)) {
        rc = GR_ERR_LIMIT;
    } else {
        count_pages(pool, slab, from, 1);
        slab->in_use += page;
        pool->in_use += page;
    }
    pthread_mutex_unlock(&pool->lock);
    return rc;
}

struct gr_slab_handle gr_pool_export(const struct gr_pool *pool, const struct gr_slab *slab)
{
    struct gr_slab_handle handle;

    memset(&handle, 0, sizeof(handle));
    handle.owner = pool->self;
    handle.segment = slab->segment->id;
    handle.segment_bytes = slab->segment->bytes;
    handle.offset = slab->offset;
    handle.lease = slab->lease;
    return handle;
}

void gr_pool_release(struct gr_pool *pool, struct gr_slab *slab, int used)
{
    pthread_mutex_lock(&pool->lock);
    if (used) {
        slab->state = GR_SLAB_LEAVING;
        TAILQ_INSERT_TAIL(&pool->leaving, slab, entry);
    } else {
        reuse(pool, slab);
    }
    sweep(pool, SWEPT);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- slabs of other processes ---- */

/* The order of mappings, for tsearch(): by all that names a segment. */
static int compare_mappings(const void *a, const void *b)
{
    return memcmp(a, b, offsetof(struct mapping, base));
}

/* Attach a segment that is not in the tree yet. */
static int mapping_add(struct gr_pool *pool, const struct mapping *wanted, struct mapping **out)
{
    struct mapping *m = gr_malloc(sizeof(*m));
    int rc;

    if (NULL == m) {
        return GR_ERR_NOMEM;
    }
    *m = *wanted;
    m->users = 0;
    rc = gr_shm_attach(&m->id, m->bytes, &m->base);
    if (0 == rc && NULL == tsearch(m, &pool->mappings, compare_mappings)) {
        gr_shm_detach(m->base);
        rc = GR_ERR_NOMEM;
    }
    if (0 != rc) {
        free(m);
        return rc;
    }
    pool->mapped++;
    pool->attached++;
    *out = m;
    return 0;
}

/* Whether a slab, which begins with a user's record, can lie there. */
static int is_inside(const struct gr_slab_handle *handle)
{
    return handle->offset >= GR_SHM_HEAD && handle->offset < handle->segment_bytes &&
           gr_slab_handle_room(handle) >= sizeof(struct gr_lease_user) &&
           0 == handle->offset % GR_CACHE_LINE;
}

void *gr_pool_map(struct gr_pool *pool, const struct gr_slab_handle *handle, int *error)
{
    struct mapping wanted = {
        .owner = handle->owner, .id = handle->segment, .bytes = handle->segment_bytes};
    struct mapping **found, *m = NULL;

    *error = 0;
    if (!is_inside(handle)) {
        *error = GR_ERR_FOREIGN;
        return NULL;
    }
    pthread_mutex_lock(&pool->lock);
    found = tfind(&wanted, &pool->mappings, compare_mappings);
    if (NULL != found) {
        m = *found;
    } else {
        *error = mapping_add(pool, &wanted, &m);
    }
    if (0 == *error) {
        m->users++;
    }
    pthread_mutex_unlock(&pool->lock);
    return 0 == *error ? m->base + handle->offset : NULL;
}

void gr_pool_unmap(struct gr_pool *pool, const struct gr_slab_handle *handle)
{
    struct mapping wanted = {
        .owner = handle->owner, .id = handle->segment, .bytes = handle->segment_bytes};
    struct mapping *m;

    pthread_mutex_lock(&pool->lock);
    m = *(struct mapping **) tfind(&wanted, &pool->mappings, compare_mappings);
    if (0 == --m->users) {
        tdelete(m, &pool->mappings, compare_mappings);
        mapping_destroy(m);
        pool->mapped--;
    }
    pthread_mutex_unlock(&pool->lock);
}

/* ---- where memory is short ---- */

int gr_pool_check(struct gr_pool *pool)
{
    bool more;

    pthread_mutex_lock(&pool->lock);
    more = pool->attached != pool->checked;
    pool->checked = pool->attached;
    pthread_mutex_unlock(&pool->lock);
    return 0 == gr_reserve_make() && (!more || gr_reserve_is_spare()) ? 0 : GR_ERR_SPACE;
}

void gr_pool_trim(struct gr_pool *pool)
{
    struct gr_segment **at = &pool->segments, *s;

    pthread_mutex_lock(&pool->lock);
    sweep(pool, SIZE_MAX);
    while (NULL != (s = *at)) {
        if (GR_SLAB_FREE == s->first->state && NULL == s->first->after) {
            *at = s->next;
            remove_segment(pool, s);
        } else {
            at = &s->next;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    (void) gr_reserve_release();
}

struct gr_pool_usage gr_pool_usage(struct gr_pool *pool)
{
    struct gr_pool_usage u;

    pthread_mutex_lock(&pool->lock);
    sweep(pool, SIZE_MAX);
    u = (struct gr_pool_usage) {.held = pool->held, .leased = pool->leased, .mapped = pool->mapped};
    pthread_mutex_unlock(&pool->lock);
    return u;
}
