/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices of this process. Nothing is loaded before a call needs it: a buffer can only be
 * device memory when the application has loaded the driver, which is noticed by the list of loaded
 * objects having grown; a device is used only when all ranks of a communicator know that one of
 * them has buffers there.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dl_iterate_phdr */
#endif
#include "comm/devices.h"

#include "comm/params.h"
#include "comm/process.h"
#include "comm/runtime.h"

#include "base/errors.h"
#include "base/system.h"
#include "base/memory.h"
#include "cuda/stream.h"
#include "cuda/device.h"
#include "cuda/pointer.h"
#include "link/gpu_pool.h"
#include "link/ipc_cache.h"

#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRIVER "libcuda.so"
#define DRIVER_FILE DRIVER ".1"

/*
 * Allocations of the application that are kept exported, and of others that are kept mapped, for
 * each device.
 */
#define SHARED_MOST 256

/* What is made for a device when it is first needed; NULL: not yet. */
struct kept {
    struct gr_gpu_pool *pool;
    struct gr_ipc_cache *_Atomic ipc_cache; /* set once, under the lock */
};

static struct {
    gr_lock_t lock;               /* guards all that is written here but the atomics */
    struct gr_gpus *_Atomic gpus; /* NULL: not opened. Set once, after kept */
    int error;                    /* why it never can be opened */
    struct kept *kept;            /* by ordinal */
    atomic_int home;              /* 1 + ordinal of the first buffer's device; 0: none yet */
    atomic_bool loaded;           /* the driver is, in this process */
    atomic_ullong objects;        /* loaded when the driver was last looked for in vain */
    atomic_int possible;          /* 1 + the answer that was given at MPI_Init; 0: not asked yet */
    atomic_int may_come;          /* the same, of gr_gpu_may_come() */

    /* Allocations that were exported and freed, by name (link/ipc_cache.h). Guarded by names_lock. */
    gr_lock_t names_lock;
    _Atomic uint64_t found;  /* how often some were found; read without the lock, too */
    uint64_t found_last[64]; /* [bit of the name]: the value of `found` when it was last found */
} state;

/* ---- the driver ---- */

static int count_objects(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void) size;
    *(unsigned long long *) ctx = info->dlpi_adds;
    return 1; /* the first is enough: the count is the same in each */
}

static int is_driver(struct dl_phdr_info *info, size_t size, void *ctx)
{
    const char *slash = strrchr(info->dlpi_name, '/');

    (void) size;
    (void) ctx;
    /* with whatever version behind it */
    return 0 == strncmp(NULL == slash ? info->dlpi_name : slash + 1, DRIVER, sizeof(DRIVER) - 1);
}

bool gr_gpu_loaded(void)
{
    unsigned long long objects = 0;

    if (!GR_HAVE_CUDA || 0 == gr_settings.cuda) {
        return false;
    }
    if (atomic_load_explicit(&state.loaded, memory_order_relaxed)) {
        return true;
    }
    (void) dl_iterate_phdr(count_objects, &objects);
    if (objects == atomic_load_explicit(&state.objects, memory_order_relaxed)) {
        return false;
    }
    if (!dl_iterate_phdr(is_driver, NULL)) { /* dlopen() would tell as well, but needs memory */
        atomic_store_explicit(&state.objects, objects, memory_order_relaxed);
        return false;
    }
    atomic_store_explicit(&state.loaded, true, memory_order_relaxed);
    return true;
}

/* A device file of the driver: Linux's, or that of Windows' subsystem for it. */
static bool has_device_file(void)
{
    return 0 == access("/dev/nvidiactl", F_OK) || 0 == access("/dev/dxg", F_OK);
}

bool gr_gpu_possible(void)
{
    int possible = atomic_load_explicit(&state.possible, memory_order_relaxed);

    if (0 == possible) {
        int cuda = gr_settings.cuda;

        possible = 1 + (GR_HAVE_CUDA &&
                        (1 == cuda || (-1 == cuda && (has_device_file() || gr_gpu_loaded()))));
        atomic_store_explicit(&state.possible, possible, memory_order_relaxed);
    }
    return 1 < possible;
}

bool gr_gpu_may_come(void)
{
    int may = atomic_load_explicit(&state.may_come, memory_order_relaxed);

    if (0 == may) {
        may = 1 + (GR_HAVE_CUDA && -1 == gr_settings.cuda && !gr_gpu_possible() &&
                   gr_library_found(DRIVER_FILE));
        atomic_store_explicit(&state.may_come, may, memory_order_relaxed);
    }
    return 1 < may;
}

static struct gr_gpus *opened(void)
{
    return atomic_load_explicit(&state.gpus, memory_order_acquire);
}

/*
 * The devices; opened at the first time. NULL: there are none, or just now they cannot be opened:
 * *error says why.
 */
static struct gr_gpus *find_gpus(int *error)
{
    struct gr_gpus *gpus = opened();

    *error = 0;
    if (NULL != gpus) {
        return gpus;
    }
    gr_lock(&state.lock);
    gpus = opened();
    *error = state.error;
    if (NULL == gpus && 0 == state.error) {
        gpus = gr_gpus_open(NULL, error);
        state.error = GR_ERR_NODRIVER == *error || GR_ERR_NODEVICE == *error ? *error : 0;
        if (NULL != gpus) {
            state.kept = gr_calloc((size_t) gr_gpus_count(gpus), sizeof(struct kept));
            atomic_store_explicit(&state.gpus, gpus, memory_order_release);
        }
    }
    gr_unlock(&state.lock);
    return gpus;
}

static struct gr_pointer find_pointer(struct gr_gpus *gpus, const void *buffer)
{
    struct gr_pointer pointer = gr_pointer_find(gpus, buffer);

    if (pointer.device >= 0 && 0 == atomic_load_explicit(&state.home, memory_order_relaxed)) {
        atomic_store_explicit(&state.home, 1 + pointer.device, memory_order_relaxed);
    }
    return pointer;
}

/*
 * Where nothing says which device: the current one, else that of earlier buffers, else one by local
 * rank.
 */
static int default_ordinal(const struct gr_gpus *gpus)
{
    int ordinal = gr_gpus_current(gpus),
        home = atomic_load_explicit(&state.home, memory_order_relaxed);

    if (ordinal < 0) {
        ordinal = 0 < home ? home - 1 : gr_runtime_local_rank() % gr_gpus_count(gpus);
    }
    return ordinal;
}

struct gr_pointer gr_pointer_of(const void *buffer)
{
    struct gr_pointer host = {.memory = GR_MEMORY_HOST, .device = -1};
    struct gr_gpus *gpus = opened();
    int error = 0;

    if (NULL == gpus && gr_gpu_loaded()) {
        gpus = find_gpus(&error);
    }
    if (NULL == gpus) {
        /*
         * the application has a driver that cannot be used from here: too old, or no memory to look
         */
        return 0 != error && GR_ERR_NODEVICE != error ? gr_pointer_guess(buffer) : host;
    }
    return find_pointer(gpus, buffer);
}

bool gr_reaches(struct gr_gpu *gpu, const struct gr_pointer *pointer, const void *buffer,
                size_t bytes, bool *elsewhere)
{
    *elsewhere = *elsewhere || (pointer->device >= 0 && gpu->ordinal != pointer->device);
    if (GR_MEMORY_DEVICE == pointer->memory &&
        (!pointer->primary || !gr_gpu_can_use(gpu, pointer, bytes))) {
        return false;
    }
    return pointer->at == (gr_gpu_ptr) (uintptr_t) buffer;
}

/* ---- a team's device ---- */

struct gr_gpu *gr_gpu_pick(const void *const buffers[2], int *error)
{
    struct gr_gpus *gpus = find_gpus(error);
    struct gr_gpu *gpu;
    int ordinal = -1, k;

    if (NULL == gpus) {
        return NULL;
    }
    for (k = 0; k < 2 && ordinal < 0; k++) {
        ordinal = find_pointer(gpus, buffers[k]).device;
    }
    gpu = gr_gpu_get(gpus, ordinal < 0 ? default_ordinal(gpus) : ordinal, error);
    *error = NULL == gpu ? *error : gr_gpu_load_kernels(gpu);
    return 0 == *error ? gpu : NULL;
}

struct gr_gpu_pool *gr_process_gpu_pool(struct gr_process *process, struct gr_gpu *gpu, int *error)
{
    struct gr_pool *host = gr_process_pool(process);
    size_t bytes = (size_t) gr_settings.device_pool_mib << 20;
    struct gr_gpu_pool *pool = NULL;

    gr_lock(&state.lock);
    if (NULL != host && NULL != state.kept) {
        struct kept *kept = &state.kept[gpu->ordinal];

        kept->pool = NULL == kept->pool ? gr_gpu_pool_open(gpu, host, bytes) : kept->pool;
        pool = kept->pool;
    }
    gr_unlock(&state.lock);
    *error = NULL == pool ? GR_ERR_NOMEM : 0;
    return pool;
}

/* ---- memory shared with other processes ---- */

struct gr_ipc_cache *gr_process_ipc_cache(struct gr_gpu *gpu)
{
    struct gr_ipc_cache *ipc_cache = NULL;

    gr_lock(&state.lock);
    if (NULL != state.kept) {
        struct kept *kept = &state.kept[gpu->ordinal];

        kept->ipc_cache = NULL == kept->ipc_cache
                              ? gr_ipc_cache_open(gpu, gr_runtime_self(), SHARED_MOST, SHARED_MOST)
                              : kept->ipc_cache;
        ipc_cache = kept->ipc_cache;
    }
    gr_unlock(&state.lock);
    return ipc_cache;
}

struct gr_ipc_handle gr_ipc_handle_of(const void *buffer, size_t bytes)
{
    struct gr_pointer pointer = gr_pointer_of(buffer);
    struct gr_ipc_cache *ipc_cache = NULL;
    struct gr_ipc_handle none;
    struct gr_gpu *gpu;
    int error;

    if (GR_MEMORY_DEVICE == pointer.memory && pointer.device >= 0) {
        gpu = gr_gpu_get(opened(), pointer.device, &error);
        ipc_cache = NULL == gpu ? NULL : gr_process_ipc_cache(gpu);
    }
    memset(&none, 0, sizeof(none));
    return NULL == ipc_cache ? none : gr_ipc_cache_export(ipc_cache, buffer, bytes);
}

/* The next device's cache from *k on, which is advanced; NULL: there are no more. */
static struct gr_ipc_cache *next_cache(int *k)
{
    struct gr_gpus *gpus = opened();
    struct gr_ipc_cache *ipc_cache = NULL;

    while (NULL == ipc_cache && NULL != gpus && NULL != state.kept && *k < gr_gpus_count(gpus)) {
        ipc_cache = atomic_load_explicit(&state.kept[(*k)++].ipc_cache, memory_order_acquire);
    }
    return ipc_cache;
}

void gr_gpus_trim(void)
{
    struct gr_ipc_cache *ipc_cache;
    int k = 0;

    while (NULL != (ipc_cache = next_cache(&k))) {
        gr_ipc_cache_trim(ipc_cache);
    }
}

uint64_t gr_ipc_record(uint64_t *told)
{
    struct gr_ipc_cache *ipc_cache;
    uint64_t fresh = 0, names = 0;
    int k = 0, bit;

    while (NULL != (ipc_cache = next_cache(&k))) {
        fresh |= gr_ipc_cache_begin_call(ipc_cache);
    }
    if (0 == fresh && *told == atomic_load_explicit(&state.found, memory_order_acquire)) {
        return 0;
    }
    gr_lock(&state.names_lock);
    state.found += 0 != fresh;
    for (bit = 0; bit < 64; bit++) {
        if (0 != (fresh >> bit & 1)) {
            state.found_last[bit] = state.found;
        }
        names |= (uint64_t) (state.found_last[bit] > *told) << bit;
    }
    *told = state.found;
    gr_unlock(&state.names_lock);
    return names;
}

void gr_ipc_agreed(uint64_t names)
{
    struct gr_ipc_cache *ipc_cache;
    int k = 0;

    while (NULL != (ipc_cache = next_cache(&k))) {
        gr_ipc_cache_end_call(ipc_cache, names);
    }
}

/* ---- devices of buffers, and order ---- */

struct gr_gpu *gr_gpu_of(const void *buffer)
{
    int ordinal = gr_pointer_of(buffer).device, error;

    return ordinal < 0 ? NULL : gr_gpu_get(opened(), ordinal, &error);
}

struct gr_gpu *gr_gpu_any(void)
{
    int error;
    struct gr_gpus *gpus = gr_gpu_loaded() ? find_gpus(&error) : NULL;

    return NULL == gpus ? NULL : gr_gpu_get(gpus, default_ordinal(gpus), &error);
}

int gr_wait_default_stream(struct gr_pointer pointer)
{
    if (pointer.device < 0 || 0 == gr_gpus_wait_current(opened(), pointer.device)) {
        return 0;
    }
    gr_print("gpuring: waiting for the default stream failed: %s", gr_gpu_error());
    return GR_ERR_FAILED;
}

int gr_follow(struct gr_gpu *gpu, const void *buffer)
{
    struct gr_gpu *owner = gr_gpu_of(buffer);

    if (NULL == owner || gpu == owner || 0 == gr_gpu_wait_default(owner)) {
        return 0;
    }
    gr_print("gpuring: waiting for the default stream of device %d failed: %s", owner->ordinal,
             gr_gpu_error());
    return GR_ERR_FAILED;
}

void gr_process_gpus_close(void)
{
    int k;

    for (k = 0; NULL != state.kept && k < gr_gpus_count(opened()); k++) {
        gr_gpu_pool_close(state.kept[k].pool);
        gr_ipc_cache_close(state.kept[k].ipc_cache);
    }
    free(state.kept);
    state.kept = NULL;
    gr_gpus_close(opened());
    atomic_store(&state.gpus, NULL);
    state.error = 0;
    atomic_store(&state.home, 0);
}
