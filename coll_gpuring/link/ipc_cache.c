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

#include "base/list.h"
#include "link/ipc_cache_state.h"
#include "cuda/device.h"
#include "cuda/ipc.h"
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
        calloc(1, sizeof(*cache) + (size_t) max_exports * sizeof(cache->exports[0]));

    if (NULL != cache) {
        pthread_mutex_init(&cache->lock, NULL);
        cache->gpu = gpu;
        cache->self = self;
        cache->process = process_number();
        cache->max_exports = max_exports;
        cache->max_mapped = max_mapped;
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

struct gr_ipc_cache_usage gr_ipc_cache_usage(struct gr_ipc_cache *cache)
{
    struct gr_ipc_cache_usage u = {0, 0, 0};
    const struct gr_ipc_mapping *m;
    int k;

    pthread_mutex_lock(&cache->lock);
    for (k = 0; k < cache->max_exports; k++) {
        u.exports += 0 != cache->exports[k].used;
    }
    for (m = cache->mappings; NULL != m; m = m->next) {
        u.mapped++;
        u.in_use += m->users > 0;
    }
    pthread_mutex_unlock(&cache->lock);
    return u;
}

/* ---- handles ---- */

/*
 * The cached handle of an allocation, or NULL. The range is compared, too, because ids are only
 * documented for memory that can be cached, and not for memory of pools and reserved ranges.
 */
static struct gr_ipc_export *find_export(struct gr_ipc_cache *cache, uintptr_t at, uint64_t id)
{
    int k;

    for (k = 0; k < cache->max_exports; k++) {
        struct gr_ipc_export *e = &cache->exports[k];

        if (0 != e->used && at - e->handle.of.base < e->handle.of.bytes && id == e->handle.of.id) {
            return e;
        }
    }
    return NULL;
}

/* The entry to replace: an empty one, or the one that was not used for the longest time. */
static struct gr_ipc_export *oldest_export(struct gr_ipc_cache *cache)
{
    struct gr_ipc_export *oldest = &cache->exports[0];
    int k;

    for (k = 1; k < cache->max_exports; k++) {
        if (cache->exports[k].used < oldest->used) {
            oldest = &cache->exports[k];
        }
    }
    return oldest;
}

/*
 * Create the handle of the allocation at an address. Returns 0, or an error: it cannot be shared.
 */
static int create_handle(const struct gr_ipc_cache *cache, const void *at, uint64_t id,
                         struct gr_ipc_handle *handle)
{
    struct gr_pointer p = gr_pointer_find(gr_gpu_owner(cache->gpu), at);
    gr_gpu_ptr base;
    size_t bytes;
    int rc;

    if (GR_MEMORY_DEVICE != p.memory || !p.primary || gr_gpu_ordinal(cache->gpu) != p.device) {
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
    handle->gpu = gr_gpu_id(cache->gpu);
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
    uintptr_t at = (uintptr_t) buffer;
    uint64_t id = gr_gpus_buffer_id(gr_gpu_owner(cache->gpu), at);
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
        e = oldest_export(cache);
        e->handle = handle;
    }
    if (NULL != e) {
        e->used = ++cache->clock;
    }
    pthread_mutex_unlock(&cache->lock);
    handle.offset = at - handle.of.base;
    if (rc < 0 || handle.offset > handle.of.bytes || bytes > handle.of.bytes - handle.offset) {
        memset(&handle, 0, sizeof(handle));
    }
    return handle;
}
