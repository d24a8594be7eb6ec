/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The IPC cache, and handles of this process's buffers. Mappings are in ipc_cache_map.c.
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
