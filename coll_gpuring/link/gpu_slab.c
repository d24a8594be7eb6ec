/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slabs in both kinds of memory (gpu_slab.h). Those in device memory are cut from arenas; the host
 * slab only has the user's record:
 *
 *      arena        [slab][slab]...
 *      host slab    [user's record]
 */
#include "link/gpu_slab.h"

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

struct pin {
    struct pin *next;
    void *base;    /* address for the host */
    gr_gpu_ptr at; /* address for devices */
    int users;     /* take_pin() without gr_pin_drop() */
};

/* Protects both lists. Held while the driver pins, so that no two threads pin the same pages. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gr_arena *arenas;
static struct pin *pins;

/* Allocate an arena. 0, GR_ERR_NOMEM, GR_ERR_GPU_SPACE or GR_ERR_CUDA. */
static int create_arena(struct gr_gpu *gpu, size_t bytes, struct gr_arena **arena)
{
    static uint64_t last;
    struct gr_arena *a = gr_calloc(1, sizeof(*a));
    int rc;

    if (NULL == a) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_alloc(gpu, bytes, &a->at);
    if (rc < 0) {
        free(a);
        return rc;
    }
    if (0 != gr_gpu_ipc_export(gpu, a->at, a->ipc)) {
        /* usable in this process; in others, mapping it returns GR_ERR_PEER */
        memset(a->ipc, 0, sizeof(a->ipc));
    }
    a->gpu = gpu;
    a->bytes = bytes;
    pthread_mutex_lock(&lock);
    a->number = ++last;
    a->link = arenas;
    arenas = a;
    pthread_mutex_unlock(&lock);
    *arena = a;
    return 0;
}

void gr_arena_destroy(struct gr_arena *arena)
{
    struct gr_arena **at;

    pthread_mutex_lock(&lock);
    for (at = &arenas; NULL != *at; at = &(*at)->link) {
        if (arena == *at) {
            *at = arena->link;
            break;
        }
    }
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
        *ordinal = gr_gpu_ordinal(a->gpu);
        *at = a->at;
    }
    pthread_mutex_unlock(&lock);
    return NULL == a ? GR_ERR_FOREIGN : 0;
}

/* The list's pointer to the pin of these pages, or to its end. */
static struct pin **find_pin(const void *base)
{
    struct pin **at;

    for (at = &pins; NULL != *at && base != (*at)->base; at = &(*at)->next) {
    }
    return at;
}

/* Pin pages for the first user. The lock is held. */
static int add_pin(struct gr_gpu *gpu, void *base, size_t bytes, struct pin **out)
{
    struct pin *p = gr_calloc(1, sizeof(*p));
    int rc;

    if (NULL == p) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_host_pin(gpu, base, bytes, &p->at);
    if (rc < 0) {
        free(p);
        return rc;
    }
    p->base = base;
    GR_PUSH(p, pins);
    *out = p;
    return 0;
}

/*
 * Pin whole pages for one more user; the first pins. at: the address for devices. 0, GR_ERR_NOMEM,
 * or an error of gr_gpu_host_pin().
 */
static int take_pin(struct gr_gpu *gpu, void *base, size_t bytes, gr_gpu_ptr *at)
{
    struct pin *p;
    int rc = 0;

    pthread_mutex_lock(&lock);
    p = *find_pin(base);
    if (NULL == p) {
        rc = add_pin(gpu, base, bytes, &p);
    }
    if (0 == rc) {
        p->users++;
        *at = p->at;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

void gr_pin_drop(struct gr_gpu *gpu, void *base)
{
    struct pin **at, *p;

    pthread_mutex_lock(&lock);
    at = find_pin(base);
    p = *at;
    if (NULL != p && 0 == --p->users) {
        *at = p->next;
        gr_gpu_host_unpin(gpu, base);
        free(p);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- slabs in device memory ---- */

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
    slab->memory = &gr_gpu_device_memory;
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
    struct gr_arena *a;
    size_t room = pool->max_bytes - pool->held;
    int rc;

    if (bytes > room / (size_t) n || gr_round_up(bytes * (size_t) n, GR_ARENA_BYTES) > room) {
        return GR_ERR_GPU_LIMIT;
    }
    rc = create_arena(pool->gpu, gr_round_up(bytes * (size_t) n, GR_ARENA_BYTES), &a);
    if (rc < 0) {
        return rc;
    }
    GR_PUSH(a, pool->arenas);
    pool->held += a->bytes;
    return 0;
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
            gr_slab_attach(pool, slabs[k], host[k]);
            continue;
        }
        gr_pool_release(pool->host, host[k], 0);
        if (k < taken) {
            slabs[k]->state = GR_SLAB_FREE;
        }
    }
    return rc;
}

static void device_release(struct gr_gpu_pool *pool, struct gr_gpu_slab *slab, int used)
{
    slab->state = used ? GR_SLAB_LEAVING : GR_SLAB_FREE;
    if (!used) {
        gr_pool_release(pool->host, slab->host, 0);
    }
}

static void device_export(const struct gr_gpu_slab *slab, struct gr_gpu_slab_handle *handle)
{
    handle->where = GR_ON_DEVICE;
    handle->arena = slab->arena->number;
    memcpy(handle->ipc, slab->arena->ipc, sizeof(handle->ipc));
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
                      unsigned char *host, gr_gpu_ptr *at)
{
    int ordinal, rc;

    (void) host;
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

const struct gr_gpu_memory gr_gpu_device_memory = {device_lease, device_release, device_export,
                                                   device_map};

/*
 * ---- slabs in pinned host memory ----
 *
 * The data are whole pages behind the first page of the host slab:
 *
 *      host slab    [user's record, to the end of the page][data]
 */

#define PAGE ((size_t) sysconf(_SC_PAGESIZE))

/* Pin pages, once for this pool, until it is closed. */
static int pin(struct gr_gpu_pool *pool, void *base, size_t bytes, gr_gpu_ptr *at)
{
    struct gr_pinned *p;
    int rc;

    for (p = pool->pinned; NULL != p; p = p->next) {
        if (base == p->base) {
            *at = p->at;
            return 0;
        }
    }
    p = gr_calloc(1, sizeof(*p));
    if (NULL == p) {
        return GR_ERR_NOMEM;
    }
    rc = take_pin(pool->gpu, base, bytes, &p->at);
    if (rc < 0) {
        free(p);
        return rc;
    }
    p->base = base;
    GR_PUSH(p, pool->pinned);
    *at = p->at;
    return 0;
}

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
    rc = pin(pool, data, bytes, &slab->at);
    if (rc < 0) {
        free(slab);
        return rc;
    }
    memset(data, 0, clean);
    slab->memory = &gr_gpu_pinned_memory;
    slab->offset = PAGE;
    slab->bytes = bytes;
    GR_PUSH(slab, pool->slabs);
    gr_slab_attach(pool, slab, host);
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

    (void) gr_numa_prefer(gr_gpu_numa(pool->gpu), &policy);
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

static void pinned_export(const struct gr_gpu_slab *slab, struct gr_gpu_slab_handle *handle)
{
    handle->where = GR_ON_HOST;
    handle->arena = slab->bytes;
}

static int pinned_map(struct gr_gpu_pool *pool, const struct gr_gpu_slab_handle *handle,
                      unsigned char *host, gr_gpu_ptr *at)
{
    uint64_t room = gr_slab_handle_room(&handle->host);

    if (handle->offset > room || handle->arena > room - handle->offset) {
        return GR_ERR_FOREIGN;
    }
    return pin(pool, host + handle->offset, handle->arena, at);
}

const struct gr_gpu_memory gr_gpu_pinned_memory = {pinned_lease, pinned_release, pinned_export,
                                                   pinned_map};
