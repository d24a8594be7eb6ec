/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool of a device (gpu_pool.h), for slabs in both kinds of memory. Those in device memory are
 * cut from arenas; their host slab only has the user's record. The data of those in pinned memory
 * are whole pages behind the first page of the host slab:
 *
 *      arena        [slab][slab]...
 *      host slab    [user's record]
 *      or           [user's record, to the end of the page][data]
 *
 * Functions of arenas and pins take a lock of the process. The callers of all other static
 * functions hold the pool's lock.
 */
#include "link/gpu_pool.h"

#include "base/memory.h"
#include "cuda/device.h"
#include "cuda/pointer.h"
#include "cuda/stream.h"
#include "topo/cpus.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- arenas and pinned pages of this process ---- */

/*
 * Arenas are multiples of this. The driver cuts smaller allocations from blocks of this size, and
 * would export the whole block, with other allocations in it.
 */
#define ARENA_BYTES ((size_t) 2 << 20)

/* An allocation of device memory. By its number it is found in the process that owns it. */
struct gr_arena {
    struct gr_arena *next;               /* of the pool */
    struct gr_arena *link;               /* of the process */
    struct gr_gpu *gpu;                  /* borrowed */
    uint64_t number;                     /* in the process: from 1, never reused */
    gr_gpu_ptr at;                       /* its address */
    size_t bytes;                        /* its size */
    size_t used;                         /* bytes cut into slabs, from the start */
    unsigned char ipc[GR_GPU_IPC_BYTES]; /* for other processes; all 0: it cannot be exported */
};

/*
 * Pages that a pool uses, pinned. Several pools can use pages that the driver pins only once: for
 * the first of them.
 */
struct pin {
    struct pin *next;
    const struct gr_gpu_pool *pool;
    void *base;    /* address for the host */
    gr_gpu_ptr at; /* address for devices */
};

/* Protects both lists. Held while the driver pins, so that no two threads pin the same pages. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gr_arena *arenas;
static struct pin *pins;

/* Add an arena to a pool. 0, GR_ERR_NOMEM, GR_ERR_GPU_SPACE or GR_ERR_CUDA. */
static int create_arena(struct gr_gpu_pool *pool, size_t bytes)
{
    static uint64_t last;
    struct gr_arena *a = gr_calloc(1, sizeof(*a));
    int rc;

    if (NULL == a) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_alloc(pool->gpu, bytes, &a->at);
    if (rc < 0) {
        free(a);
        return rc;
    }
    if (0 != gr_gpu_ipc_export(pool->gpu, a->at, a->ipc)) {
        /* usable in this process; in others, mapping it returns GR_ERR_PEER */
        memset(a->ipc, 0, sizeof(a->ipc));
    }
    a->gpu = pool->gpu;
    a->bytes = bytes;
    pthread_mutex_lock(&lock);
    a->number = ++last;
    a->link = arenas;
    arenas = a;
    pthread_mutex_unlock(&lock);
    GR_PUSH(a, pool->arenas);
    pool->held += bytes;
    return 0;
}

static void arena_destroy(struct gr_arena *arena)
{
    struct gr_arena **at;

    pthread_mutex_lock(&lock);
    for (at = &arenas; arena != *at; at = &(*at)->link) {
    }
    *at = arena->link;
    pthread_mutex_unlock(&lock);
    gr_gpu_free(arena->gpu, arena->at);
    free(arena);
}

/* Device and address of an arena of this process. 0, or GR_ERR_FOREIGN: no arena has the number. */
static int find_arena(uint64_t number, int *ordinal, gr_gpu_ptr *at)
{
    const struct gr_arena *a;

    pthread_mutex_lock(&lock);
    for (a = arenas; NULL != a && number != a->number; a = a->link) {
    }
    if (NULL != a) {
        *ordinal = a->gpu->ordinal;
        *at = a->at;
    }
    pthread_mutex_unlock(&lock);
    return NULL == a ? GR_ERR_FOREIGN : 0;
}

/* A pool's pin of these pages; pool NULL: any pool's. NULL: there is none. The lock is held. */
static struct pin *find_pin(const struct gr_gpu_pool *pool, const void *base)
{
    struct pin *p;

    for (p = pins; NULL != p && (base != p->base || (NULL != pool && pool != p->pool));
         p = p->next) {
    }
    return p;
}

/* Pin pages for a pool that does not use them yet. The lock is held. */
static int add_pin(struct gr_gpu_pool *pool, void *base, size_t bytes, gr_gpu_ptr *at)
{
    const struct pin *other = find_pin(NULL, base);
    struct pin *p = gr_calloc(1, sizeof(*p));
    int rc = 0;

    if (NULL == p) {
        return GR_ERR_NOMEM;
    }
    if (NULL != other) {
        p->at = other->at;
    } else {
        rc = gr_gpu_host_pin(pool->gpu, base, bytes, &p->at);
    }
    if (rc < 0) {
        free(p);
        return rc;
    }
    p->pool = pool;
    p->base = base;
    GR_PUSH(p, pins);
    *at = p->at;
    return 0;
}

/*
 * Pin whole pages, until the pool is closed. at: the address for devices. 0, GR_ERR_NOMEM, or an
 * error of gr_gpu_host_pin().
 */
static int take_pin(struct gr_gpu_pool *pool, void *base, size_t bytes, gr_gpu_ptr *at)
{
    const struct pin *p;
    int rc = 0;

    pthread_mutex_lock(&lock);
    p = find_pin(pool, base);
    if (NULL != p) {
        *at = p->at;
    } else {
        rc = add_pin(pool, base, bytes, at);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* A pool no longer uses its pinned pages; the last pool of each unpins them. */
static void drop_pins(struct gr_gpu_pool *pool)
{
    struct pin **at = &pins, *p;

    pthread_mutex_lock(&lock);
    while (NULL != (p = *at)) {
        if (pool != p->pool) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        if (NULL == find_pin(NULL, p->base)) {
            gr_gpu_host_unpin(pool->gpu, p->base);
        }
        free(p);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- slabs in device memory ---- */

/* A slab of either memory is leased, with that host slab. */
static void slab_attach(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab, struct gr_slab *host)
{
    slab->state = GR_SLAB_LEASED;
    slab->host = host;
    slab->user = gr_slab_base(host);
    slab->lease = gr_pool_export(pool->host, host).lease;
}

/* Slabs begin at multiples of this. */
#define ALIGNMENT ((size_t) 256)

/* Bytes of the slab for so many bytes: one of eight sizes from one power of two to the next. */
static size_t size_class(size_t bytes)
{
    size_t step = ALIGNMENT;

    while (step < bytes / 16) {
        step *= 2;
    }
    return gr_round_up(bytes, step);
}

/* A free slab of that size, or NULL. */
static struct gr_gpu_slab *find_free(struct gr_gpu_pool *pool, size_t bytes)
{
    struct gr_gpu_slab *slab;

    for (slab = pool->slabs; NULL != slab; slab = slab->next) {
        if (NULL != slab->arena && slab->bytes == bytes && gr_slab_is_free(pool, slab)) {
            return slab;
        }
    }
    return NULL;
}

/* Cut a slab from an arena. 0 or GR_ERR_NOMEM; *out is NULL if no arena has room. */
static int cut(struct gr_gpu_pool *pool, size_t bytes, struct gr_gpu_slab **out)
{
    struct gr_arena *a;
    struct gr_gpu_slab *slab;

    *out = NULL;
    for (a = pool->arenas; NULL != a && a->bytes - a->used < bytes; a = a->next) {
    }
    if (NULL == a) {
        return 0;
    }
    slab = gr_calloc(1, sizeof(*slab));
    if (NULL == slab) {
        return GR_ERR_NOMEM;
    }
    slab->arena = a;
    slab->offset = a->used;
    slab->bytes = bytes;
    slab->at = a->at + a->used;
    GR_PUSH(slab, pool->slabs);
    a->used += bytes;
    *out = slab;
    return 0;
}

/* Add an arena with room for n slabs. */
static int grow(struct gr_gpu_pool *pool, size_t bytes, int n)
{
    size_t room = pool->max_bytes - pool->held;

    if (bytes > room / (size_t) n || gr_round_up(bytes * (size_t) n, ARENA_BYTES) > room) {
        return GR_ERR_GPU_LIMIT;
    }
    return create_arena(pool, gr_round_up(bytes * (size_t) n, ARENA_BYTES));
}

/* Take n slabs, without host slabs. *taken: how many were taken, also on error. */
static int take_slabs(struct gr_gpu_pool *pool, size_t bytes, int n, struct gr_gpu_slab **slabs,
                      int *taken)
{
    int rc = 0;

    for (*taken = 0; *taken < n && 0 == rc;) {
        struct gr_gpu_slab *slab = find_free(pool, bytes);

        if (NULL == slab) {
            rc = cut(pool, bytes, &slab);
        }
        if (NULL != slab) {
            slab->state = GR_SLAB_LEASED;
            slabs[(*taken)++] = slab;
        } else if (0 == rc) {
            rc = grow(pool, bytes, n - *taken);
        }
    }
    return rc;
}

/* Zero the first bytes of each slab, on the pool's own stream, which waits for no kernel. */
static int zero_slabs(struct gr_gpu_pool *pool, size_t bytes, int n, struct gr_gpu_slab **slabs)
{
    int k, done, rc = NULL == pool->stream ? gr_gpu_stream_open(pool->gpu, &pool->stream) : 0;

    if (rc < 0) {
        return rc;
    }
    for (k = 0; k < n && 0 == rc; k++) {
        rc = gr_gpu_stream_zero(pool->stream, slabs[k]->at, bytes);
    }
    while (0 == (done = gr_gpu_stream_done(pool->stream))) {
        sched_yield();
    }
    return rc < 0 ? rc : done < 0 ? done : 0;
}

static int device_lease(struct gr_gpu_pool *pool, size_t bytes, size_t clean, int n,
                        struct gr_slab **host, struct gr_gpu_slab **slabs)
{
    int k, taken = 0,
           rc = gr_pool_lease(pool->host, GR_SLAB_WHOLE, sizeof(struct gr_lease_user), 1, n, host);

    if (rc < 0) {
        return rc;
    }
    rc =
        take_slabs(pool, size_class(bytes < GR_GPU_ALIGN ? GR_GPU_ALIGN : bytes), n, slabs, &taken);
    if (0 == rc) {
        rc = zero_slabs(pool, clean, n, slabs);
    }
    for (k = 0; k < n; k++) {
        if (0 == rc) {
            slab_attach(pool, slabs[k], host[k]);
            continue;
        }
        gr_pool_release(pool->host, host[k], 0);
        if (k < taken) {
            slabs[k]->state = GR_SLAB_FREE;
        }
    }
    return rc;
}

/* ---- slabs of other processes ---- */

static int same_arena(const struct gr_mapping *m, const struct gr_gpu_slab_handle *handle)
{
    return m->arena == handle->arena && m->pid == handle->host.segment.pid &&
           m->owner.job == handle->host.owner.job && m->owner.vpid == handle->host.owner.vpid &&
           0 == memcmp(&m->gpu, &handle->gpu, sizeof(m->gpu));
}

/* Map the arena of another process, once. */
static int map_arena(struct gr_gpu_pool *pool, const struct gr_gpu_slab_handle *handle,
                     gr_gpu_ptr *at)
{
    static const unsigned char none[GR_GPU_IPC_BYTES];
    struct gr_mapping *m;
    int rc;

    for (m = pool->mappings; NULL != m; m = m->next) {
        if (same_arena(m, handle)) {
            *at = m->at;
            return 0;
        }
    }
    if (0 == memcmp(none, handle->ipc, sizeof(none))) {
        return GR_ERR_PEER; /* the owner's driver cannot export it */
    }
    m = gr_calloc(1, sizeof(*m));
    if (NULL == m) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_ipc_open(pool->gpu, handle->ipc, &m->at);
    if (rc < 0) {
        free(m);
        return rc;
    }
    m->owner = handle->host.owner;
    m->pid = handle->host.segment.pid;
    m->arena = handle->arena;
    m->gpu = handle->gpu;
    GR_PUSH(m, pool->mappings);
    *at = m->at;
    return 0;
}

static int device_map(struct gr_gpu_pool *pool, const struct gr_gpu_slab_handle *handle,
                      gr_gpu_ptr *at)
{
    int ordinal, rc;

    if ((int32_t) getpid() == handle->host.segment.pid) {
        /*
         * The driver opens no handle in the process that exported it. That the pid is of this
         * process and not of another one in a container, gr_pool_map() has checked.
         */
        rc = find_arena(handle->arena, &ordinal, at);
        if (0 == rc && !gr_gpu_can_access(pool->gpu, ordinal)) {
            rc = GR_ERR_PEER;
        }
    } else {
        rc = map_arena(pool, handle, at);
    }
    *at += handle->offset;
    return rc;
}

/* ---- slabs in pinned host memory ---- */

#define PAGE ((size_t) sysconf(_SC_PAGESIZE))

/* A slab in the pages of a leased host slab. */
static int create(struct gr_gpu_pool *pool, struct gr_slab *host, size_t bytes, size_t clean,
                  struct gr_gpu_slab **out)
{
    struct gr_gpu_slab *slab = gr_calloc(1, sizeof(*slab));
    unsigned char *data = (unsigned char *) gr_slab_base(host) + PAGE;
    int rc;

    if (NULL == slab) {
        return GR_ERR_NOMEM;
    }
    rc = take_pin(pool, data, bytes, &slab->at);
    if (rc < 0) {
        free(slab);
        return rc;
    }
    memset(data, 0, clean);
    slab->offset = PAGE;
    slab->bytes = bytes;
    GR_PUSH(slab, pool->slabs);
    slab_attach(pool, slab, host);
    *out = slab;
    return 0;
}

/* The pages stay pinned, for the next lease of the host slab. */
static void pinned_release(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab, int used)
{
    struct gr_gpu_slab **at;

    gr_pool_release(pool->host, slab->host, used);
    for (at = &pool->slabs; slab != *at; at = &(*at)->next) {
    }
    *at = slab->next;
    free(slab);
}

/* Host slabs are allocated on the NUMA node of the device. */
static int pinned_lease(struct gr_gpu_pool *pool, size_t bytes, size_t clean, int n,
                        struct gr_slab **host, struct gr_gpu_slab **slabs)
{
    size_t data = gr_round_up(0 == bytes ? 1 : bytes, PAGE);
    struct gr_numa_saved policy;
    int k, created, rc;

    (void) gr_numa_prefer(pool->gpu->numa, &policy);
    rc = gr_pool_lease(pool->host, GR_SLAB_PINNED, PAGE + data, 1, n, host);
    gr_numa_restore(&policy);
    if (rc < 0) {
        return rc;
    }
    for (created = 0; created < n && 0 == rc; created += 0 == rc) {
        rc = create(pool, host[created], data, clean, &slabs[created]);
    }
    for (k = 0; k < n && rc < 0; k++) {
        if (k < created) {
            pinned_release(pool, slabs[k], 0);
        } else {
            gr_pool_release(pool->host, host[k], 0);
        }
    }
    return rc;
}

static int pinned_map(struct gr_gpu_pool *pool, const struct gr_gpu_slab_handle *handle,
                      unsigned char *host, gr_gpu_ptr *at)
{
    uint64_t room = gr_slab_handle_room(&handle->host);

    if (handle->offset > room || handle->arena > room - handle->offset) {
        return GR_ERR_FOREIGN;
    }
    return take_pin(pool, host + handle->offset, handle->arena, at);
}

/* ---- the pool ---- */

struct gr_gpu_pool *gr_gpu_pool_open(struct gr_gpu *gpu, struct gr_pool *host, size_t max_bytes)
{
    struct gr_gpu_pool *pool = gr_calloc(1, sizeof(*pool));

    if (NULL != pool) {
        pthread_mutex_init(&pool->lock, NULL);
        pool->gpu = gpu;
        pool->host = host;
        pool->max_bytes = max_bytes;
    }
    return pool;
}

void gr_gpu_pool_close(struct gr_gpu_pool *pool)
{
    struct gr_gpu_slab *slab;
    struct gr_arena *a;
    struct gr_mapping *m;

    if (NULL == pool) {
        return;
    }
    while (GR_POP(m, pool->mappings)) {
        gr_gpu_ipc_close(pool->gpu, m->at);
        free(m);
    }
    while (GR_POP(slab, pool->slabs)) {
        if (GR_SLAB_FREE != slab->state) { /* it holds its host slab */
            gr_pool_release(pool->host, slab->host, 1);
        }
        free(slab);
    }
    drop_pins(pool);
    while (GR_POP(a, pool->arenas)) {
        arena_destroy(a);
    }
    gr_gpu_stream_close(pool->stream);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

int gr_gpu_pool_lease(struct gr_gpu_pool *pool, enum gr_gpu_where where, size_t bytes, size_t clean,
                      int n, struct gr_gpu_slab **slabs)
{
    struct gr_slab **host;
    int rc;

    if (0 == n) {
        return 0;
    }
    host = gr_malloc((size_t) n * sizeof(*host));
    if (NULL == host) {
        return GR_ERR_NOMEM;
    }
    pthread_mutex_lock(&pool->lock);
    rc = GR_ON_HOST == where ? pinned_lease(pool, bytes, clean, n, host, slabs)
                             : device_lease(pool, bytes, clean, n, host, slabs);
    pthread_mutex_unlock(&pool->lock);
    free(host);
    return rc;
}

void gr_gpu_pool_release(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab, int used)
{
    pthread_mutex_lock(&pool->lock);
    if (NULL == slab->arena) {
        pinned_release(pool, slab, used);
    } else {
        slab->state = used ? GR_SLAB_LEAVING : GR_SLAB_FREE;
        if (!used) {
            gr_pool_release(pool->host, slab->host, 0);
        }
    }
    pthread_mutex_unlock(&pool->lock);
}

struct gr_gpu_slab_handle gr_gpu_pool_export(const struct gr_gpu_pool *pool,
                                             const struct gr_gpu_slab *slab)
{
    struct gr_gpu_slab_handle handle;

    memset(&handle, 0, sizeof(handle));
    handle.host = gr_pool_export(pool->host, slab->host);
    handle.gpu = pool->gpu->id;
    handle.offset = slab->offset;
    if (NULL == slab->arena) {
        handle.where = GR_ON_HOST;
        handle.arena = slab->bytes;
    } else {
        handle.where = GR_ON_DEVICE;
        handle.arena = slab->arena->number;
        memcpy(handle.ipc, slab->arena->ipc, sizeof(handle.ipc));
    }
    return handle;
}

int gr_gpu_pool_map(struct gr_gpu_pool *pool, const struct gr_gpu_slab_handle *handle,
                    struct gr_gpu_mapped *mapped)
{
    int rc;
    void *host = gr_pool_map(pool->host, &handle->host, &rc);

    if (NULL == host) {
        return rc;
    }
    mapped->user = host;
    mapped->lease = handle->host.lease;
    pthread_mutex_lock(&pool->lock);
    rc = GR_ON_HOST == handle->where ? pinned_map(pool, handle, host, &mapped->at)
                                     : device_map(pool, handle, &mapped->at);
    pthread_mutex_unlock(&pool->lock);
    return rc;
}
