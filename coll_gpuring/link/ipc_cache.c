/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The IPC cache: handles of this process's buffers, and mappings of other processes'.
 *
 * What this code relies on:
 *
 * - The driver's IPC handle of an address is that of its allocation (cuMemGetAddressRange), and
 *   opening it gives the first byte of the allocation. So a buffer is known by its offset. The
 *   manual asks for the base of an allocation. NVIDIA's nvFuser tests that the handle of another
 *   address leads to the base (pull request 3799), UCX has seen equal handles (issue 11724), and
 *   UCX, TensorPipe and others count from cuMemGetAddressRange. Allocations smaller than 2 MiB are
 *   cut from larger blocks, which are mapped as a whole (CUDA programming guide, interprocess
 *   communication); the address is still that of the allocation.
 * - A buffer id is unique in the life of a process (CU_POINTER_ATTRIBUTE_BUFFER_ID). An address
 *   that is allocated again has another IPC handle (cuIpcGetMemHandle).
 */
#include "link/ipc_cache.h"

#include "base/memory.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/pointer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- the process ---- */

static uint64_t drawn;

static void draw(void)
{
    struct timespec now;

    if (sizeof(drawn) != getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK)) {
        clock_gettime(CLOCK_REALTIME, &now);
        drawn = (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
    }
}

/* The random number of this process, the same in all its caches. */
static uint64_t process_number(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, draw);
    return drawn;
}

/* ---- the cache ---- */

struct gr_ipc_cache *gr_ipc_cache_open(struct gr_gpu *gpu, struct gr_peer_id self, int max_exports,
                                       int max_mapped)
{
    struct gr_ipc_cache *cache =
        gr_calloc(1, sizeof(*cache) + (size_t) max_exports * sizeof(cache->exports[0]));

    if (NULL != cache) {
        pthread_mutex_init(&cache->lock, NULL);
        cache->gpu = gpu;
        cache->self = self;
        cache->process = process_number();
        cache->max_exports = max_exports;
        cache->max_mapped = max_mapped;
        cache->keep = GR_IPC_RECENT;
    }
    return cache;
}

void gr_ipc_cache_close(struct gr_ipc_cache *cache)
{
    struct gr_ipc_mapping *m;

    if (NULL == cache) {
        return;
    }
    while (GR_POP(m, cache->mappings)) {
        gr_gpu_ipc_close(cache->gpu, m->at);
        free(m);
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* ---- handles ---- */

/*
 * The cached handle of an allocation, or NULL. The range is compared, too, because ids are only
 * documented for memory that can be cached, and not for memory of pools and reserved ranges.
 */
static struct gr_ipc_export *find_export(struct gr_ipc_cache *cache, uintptr_t at, uint64_t id)
{
    int k;

    for (k = 0; k < cache->nexports; k++) {
        struct gr_ipc_export *e = &cache->exports[k];

        if (at - e->handle.of.base < e->handle.of.bytes && id == e->handle.of.id) {
            return e;
        }
    }
    return NULL;
}

/*
 * A new entry, or, in a full cache, that of the allocation that was not used for the longest time:
 * nobody looks any more whether it is freed, so others are told to close it.
 */
static struct gr_ipc_export *new_export(struct gr_ipc_cache *cache)
{
    struct gr_ipc_export *oldest = &cache->exports[0];
    int k;

    if (cache->nexports < cache->max_exports) {
        return &cache->exports[cache->nexports++];
    }
    for (k = 1; k < cache->nexports; k++) {
        if (cache->exports[k].used < oldest->used) {
            oldest = &cache->exports[k];
        }
    }
    cache->dropped |= gr_ipc_name(&oldest->handle.of);
    return oldest;
}

/*
 * Create the handle of the allocation at an address. Returns 0, or an error: it cannot be shared.
 */
static int create_handle(const struct gr_ipc_cache *cache, const void *at, uint64_t id,
                         struct gr_ipc_handle *handle)
{
    struct gr_pointer p = gr_pointer_find(cache->gpu->gpus, at);
    gr_gpu_ptr base;
    size_t bytes;
    int rc;

    if (GR_MEMORY_DEVICE != p.memory || !p.primary || cache->gpu->ordinal != p.device) {
        return GR_ERR_PEER;
    }
    rc = gr_gpu_ipc_range(cache->gpu, p.at, &base, &bytes);
    if (0 == rc) {
        rc = gr_gpu_ipc_export(cache->gpu, base, handle->ipc);
    }
    if (rc < 0) {
        return rc;
    }
    handle->owner = cache->self;
    handle->gpu = cache->gpu->id;
    handle->of.process = cache->process;
    handle->of.pid = (int32_t) getpid();
    handle->of.device = p.device;
    handle->of.base = base;
    handle->of.bytes = bytes;
    handle->of.id = id;
    return 0;
}

struct gr_ipc_handle gr_ipc_cache_export(struct gr_ipc_cache *cache, const void *buffer,
                                         size_t bytes)
{
    return gr_ipc_cache_export_known(
        cache, buffer, gr_gpus_buffer_id(cache->gpu->gpus, (uintptr_t) buffer), bytes);
}

struct gr_ipc_handle gr_ipc_cache_export_known(struct gr_ipc_cache *cache, const void *buffer,
                                               uint64_t id, size_t bytes)
{
    uintptr_t at = (uintptr_t) buffer;
    struct gr_ipc_handle handle;
    struct gr_ipc_export *e;
    int rc = 0;

    memset(&handle, 0, sizeof(handle));
    if (0 == id) {
        return handle; /* the driver does not know the memory */
    }
    pthread_mutex_lock(&cache->lock);
    e = find_export(cache, at, id);
    if (NULL == e) {
        rc = create_handle(cache, buffer, id, &handle);
    } else {
        handle = e->handle;
    }
    if (0 == rc && NULL == e && cache->max_exports > 0) {
        e = new_export(cache);
        e->handle = handle;
    }
    if (NULL != e) {
        e->used = ++cache->clock;
        e->calls = cache->own_calls;
    }
    pthread_mutex_unlock(&cache->lock);
    handle.offset = at - handle.of.base;
    if (rc < 0 || handle.offset > handle.of.bytes || bytes > handle.of.bytes - handle.offset) {
        memset(&handle, 0, sizeof(handle));
    }
    return handle;
}

/* ---- freed allocations ---- */

uint64_t gr_ipc_name(const struct gr_gpu_allocation *of)
{
    /* Fibonacci hashing: ids are consecutive, and similar in the processes of a job */
    return UINT64_C(1) << ((of->process ^ of->id) * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

uint64_t gr_ipc_cache_begin_call(struct gr_ipc_cache *cache)
{
    const struct gr_gpus *gpus = cache->gpu->gpus;
    uint64_t names;
    int k, turn;

    if (0 == atomic_load_explicit(&cache->nexports, memory_order_relaxed)) {
        return 0;
    }
    pthread_mutex_lock(&cache->lock);
    names = cache->dropped;
    cache->dropped = 0;
    turn = (int) (cache->own_calls++ % (uint64_t) cache->nexports);
    for (k = cache->nexports - 1; k >= 0; k--) {
        struct gr_ipc_export *e = &cache->exports[k];
        const struct gr_gpu_allocation *of = &e->handle.of;

        if ((k == turn || cache->own_calls - e->calls <= GR_IPC_RECENT) &&
            !gr_gpus_buffer_exists(gpus, of->base, of->id)) {
            names |= gr_ipc_name(of);
            *e = cache->exports[--cache->nexports];
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return names;
}

/*
 * ---- mapping the memory of other processes ----
 *
 *      mappings -> [last used] -> ... -> [first used]      users > 0: in use, not closed
 *                                                          users = 0: cached
 *
 * A mapping is stale if its owner has freed the allocation. That is noticed by a handle of the same
 * process for another allocation that overlaps it. The stale mapping is closed first, because the
 * driver refuses to map addresses of a process that are mapped already (CUDA_ERROR_ALREADY_MAPPED;
 * Open MPI and UCX do the same).
 *
 * The driver maps blocks of 2 MiB, and a block that was freed may have had small allocations that
 * do not overlap the new one. So if the driver refuses, all unused mappings of that process are
 * closed, and it is tried once more.
 *
 * An owner also names what it has freed (gr_ipc_cache_end_call()): it may allocate there what
 * gpuring never maps, and the application does.
 */

/* Unused mappings are looked for in one of so many calls, which are short. */
enum { LOOK_EVERY = 8 };

static int same_process(const struct gr_gpu_allocation *a, const struct gr_gpu_allocation *b)
{
    return a->process == b->process && a->pid == b->pid;
}

static int same_allocation(const struct gr_gpu_allocation *a, const struct gr_gpu_allocation *b)
{
    return same_process(a, b) && a->base == b->base && a->bytes == b->bytes && a->id == b->id;
}

static int overlap(const struct gr_gpu_allocation *a, const struct gr_gpu_allocation *b)
{
    return same_process(a, b) && a->base < b->base + b->bytes && b->base < a->base + a->bytes;
}

/* ---- the list; the lock is held ---- */

/* The mapping of an allocation, moved to the front of the list; or NULL. */
static struct gr_ipc_mapping *find(struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of)
{
    struct gr_ipc_mapping **at, *m;

    for (at = &cache->mappings; NULL != (m = *at); at = &m->next) {
        if (same_allocation(&m->of, of)) {
            *at = m->next;
            GR_PUSH(m, cache->mappings);
            return m;
        }
    }
    return NULL;
}

static void close_one(struct gr_ipc_cache *cache, struct gr_ipc_mapping **at)
{
    struct gr_ipc_mapping *m = *at;

    *at = m->next;
    cache->mapped--;
    gr_gpu_ipc_close(cache->gpu, m->at);
    free(m);
}

/* Close the unused mappings that are related to an allocation (NULL: all). Returns their number. */
static int close_unused(struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of,
                        int (*related)(const struct gr_gpu_allocation *,
                                       const struct gr_gpu_allocation *))
{
    struct gr_ipc_mapping **at = &cache->mappings;
    int closed = 0;

    while (NULL != *at) {
        if (0 == (*at)->users && (NULL == of || related(&(*at)->of, of))) {
            close_one(cache, at);
            closed++;
        } else {
            at = &(*at)->next;
        }
    }
    return closed;
}

/* Whether a mapping in use overlaps an allocation that has no mapping. */
static int stale_in_use(const struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of)
{
    const struct gr_ipc_mapping *m;

    for (m = cache->mappings; NULL != m && (0 == m->users || !overlap(&m->of, of)); m = m->next) {
    }
    return NULL != m;
}

/*
 * If the cache is full, close the unused mapping that was used longest ago. Returns 1, or 0: all
 * are in use.
 */
static int evict(struct gr_ipc_cache *cache)
{
    struct gr_ipc_mapping **at, **oldest = NULL;

    if (cache->mapped < cache->max_mapped) {
        return 1;
    }
    for (at = &cache->mappings; NULL != *at; at = &(*at)->next) {
        if (0 == (*at)->users) {
            oldest = at;
        }
    }
    if (NULL != oldest) {
        close_one(cache, oldest);
    }
    return NULL != oldest;
}

/* ---- refused allocations; the lock is held ---- */

static int was_refused(const struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of)
{
    int k;

    for (k = 0; k < GR_IPC_REFUSED && !same_allocation(&cache->refused[k], of); k++) {
    }
    return k < GR_IPC_REFUSED;
}

/* ---- allocations whose mappings were closed unused; the lock is held ---- */

/*
 * Opening takes some 0.5 ms. So where an allocation comes back, unused mappings are kept for longer
 * from now on: a loop over many buffers, or with many small calls, opens each of them twice.
 */
static void keep_longer(struct gr_ipc_cache *cache, const struct gr_gpu_allocation *of)
{
    int k;

    for (k = 0; k < GR_IPC_UNUSED; k++) {
        struct gr_ipc_unused *u = &cache->unused[k];
        uint64_t wanted = 2 * (cache->peer_calls - u->used);

        if (same_allocation(&u->of, of)) {
            cache->keep = wanted > cache->keep ? wanted : cache->keep;
            u->of.pid = 0;
        }
    }
}

/* ---- mapping ---- */

/* Open an allocation that is not in the list. The lock is held. */
static int open_mapping(struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle,
                        struct gr_ipc_mapping **out)
{
    struct gr_ipc_mapping *m;
    int rc;

    if (was_refused(cache, &handle->of) || stale_in_use(cache, &handle->of)) {
        return GR_ERR_PEER;
    }
    (void) close_unused(cache, &handle->of, overlap);
    if (!evict(cache)) {
        return GR_ERR_PEER;
    }
    m = gr_calloc(1, sizeof(*m));
    if (NULL == m) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_ipc_open(cache->gpu, handle->ipc, &m->at);
    if (rc < 0 && close_unused(cache, &handle->of, same_process) > 0) {
        rc = gr_gpu_ipc_open(cache->gpu, handle->ipc, &m->at);
    }
    if (rc < 0) {
        free(m);
        cache->refused[cache->nrefused++ % GR_IPC_REFUSED] = handle->of;
        return GR_ERR_PEER;
    }
    m->of = handle->of;
    keep_longer(cache, &m->of);
    GR_PUSH(m, cache->mappings);
    cache->mapped++;
    *out = m;
    return 0;
}

/* Map a buffer of this process, for which the driver opens no handle. */
static int map_own(struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle,
                   struct gr_ipc_mapped *mapped)
{
    if (gr_gpus_buffer_id(cache->gpu->gpus, handle->of.base) != handle->of.id ||
        !gr_gpu_can_access(cache->gpu, handle->of.device)) {
        return GR_ERR_PEER;
    }
    mapped->at = handle->of.base + handle->offset;
    return 0;
}

static int is_own(const struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle)
{
    return cache->process == handle->of.process && (int32_t) getpid() == handle->of.pid;
}

int gr_ipc_cache_is_mapped(struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle)
{
    int is;

    pthread_mutex_lock(&cache->lock);
    is = is_own(cache, handle) || was_refused(cache, &handle->of) ||
         NULL != find(cache, &handle->of);
    pthread_mutex_unlock(&cache->lock);
    return is;
}

int gr_ipc_cache_map(struct gr_ipc_cache *cache, const struct gr_ipc_handle *handle,
                     struct gr_ipc_mapped *mapped)
{
    struct gr_ipc_mapping *m;
    int rc = 0;

    *mapped = (struct gr_ipc_mapped) {0, NULL};
    if (!gr_ipc_handle_valid(handle) || handle->offset > handle->of.bytes) {
        return GR_ERR_PEER;
    }
    if (is_own(cache, handle)) {
        return map_own(cache, handle, mapped);
    }
    pthread_mutex_lock(&cache->lock);
    m = find(cache, &handle->of);
    if (NULL == m) {
        rc = open_mapping(cache, handle, &m);
    }
    if (0 == rc) {
        m->users++;
        m->used = cache->peer_calls;
        mapped->at = m->at + handle->offset;
        mapped->mapping = m;
    }
    pthread_mutex_unlock(&cache->lock);
    return rc;
}

void gr_ipc_cache_unmap(struct gr_ipc_cache *cache, struct gr_ipc_mapped *mapped)
{
    struct gr_ipc_mapping *m = mapped->mapping;

    if (NULL != m) {
        pthread_mutex_lock(&cache->lock);
        m->users--;
        m->used = cache->peer_calls;
        if (m->freed) {
            struct gr_gpu_allocation of = m->of; /* the mapping is freed with it */

            (void) close_unused(cache, &of, same_allocation);
        }
        pthread_mutex_unlock(&cache->lock);
    }
    *mapped = (struct gr_ipc_mapped) {0, NULL};
}

void gr_ipc_cache_end_call(struct gr_ipc_cache *cache, uint64_t names)
{
    struct gr_ipc_mapping **at = &cache->mappings, *m;
    uint64_t calls;

    if (0 == atomic_load_explicit(&cache->mapped, memory_order_relaxed)) {
        return;
    }
    calls = 1 + atomic_fetch_add_explicit(&cache->peer_calls, 1, memory_order_relaxed);
    if (0 == names && 0 != calls % LOOK_EVERY) {
        return;
    }
    pthread_mutex_lock(&cache->lock);
    while (NULL != (m = *at)) {
        int freed = 0 != (names & gr_ipc_name(&m->of));
        int unused = calls >= m->used + cache->keep; /* another thread may have used it since */

        if (0 == m->users && (freed || unused)) {
            if (!freed) {
                cache->unused[cache->nunused++ % GR_IPC_UNUSED] =
                    (struct gr_ipc_unused) {m->of, m->used};
            }
            close_one(cache, at);
        } else {
            m->freed = m->freed || freed;
            at = &m->next;
        }
    }
    pthread_mutex_unlock(&cache->lock);
}

void gr_ipc_cache_trim(struct gr_ipc_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    (void) close_unused(cache, NULL, NULL);
    pthread_mutex_unlock(&cache->lock);
}
