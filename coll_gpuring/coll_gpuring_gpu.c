/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices of this process. Nothing is loaded before somebody needs it: a buffer can only be device memory when the
 * application has loaded the driver, which is noticed by the list of loaded objects having grown; a device is used only
 * when all ranks of a communicator know that one of them has buffers there.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dl_iterate_phdr */
#endif
#include "coll_gpuring_op.h"

#include "opal/util/proc.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRIVER "libcuda.so.1"

/* Allocations of the application that are kept exported, and of others that are kept mapped, for each device. */
#define SHARED_MOST 64

/* What is made for a device when it is first needed; NULL: not yet. */
struct kept {
    struct gr_gpu_pool *pool;
    struct gr_gpu_share *share;
};

static struct {
    gr_lock_t lock;
    struct gr_gpus *gpus;           /* NULL: not opened */
    int error;                      /* why it could not be */
    struct kept *kept;              /* by ordinal */
    atomic_int home;                /* 1 + ordinal of the device of the first buffer seen; 0: none yet */
    unsigned long long objects;     /* loaded when the driver was last looked for */
} state;

/* ---- the driver ---- */

static int count_objects(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void) size;
    *(unsigned long long *) ctx = info->dlpi_adds;
    return 1; /* the first is enough: the count is the same in each */
}

/* Whether the driver is loaded in this process. Cheap while nothing else was loaded since the last question. */
static bool driver_is_loaded(void)
{
    static bool loaded;
    unsigned long long objects = 0;
    void *handle;

    if (loaded) {
        return true;
    }
    (void) dl_iterate_phdr(count_objects, &objects);
    if (objects == state.objects) {
        return false;
    }
    state.objects = objects;
    handle = dlopen(DRIVER, RTLD_LAZY | RTLD_NOLOAD);
    if (NULL != handle) {
        dlclose(handle);
        loaded = true;
    }
    return loaded;
}

bool mca_coll_gpuring_gpu_possible(void)
{
    static int possible = -1;

    if (0 > possible) {
        int cuda = mca_coll_gpuring_component.cuda;

        possible = GR_HAVE_CUDA && (1 == cuda || (-1 == cuda && (0 == access("/dev/nvidiactl", F_OK) ||
                                                                 driver_is_loaded())));
    }
    return 0 != possible;
}

/* The devices; opened at the first time. NULL: there are none, *error says why. */
static struct gr_gpus *find_gpus(int *error)
{
    gr_lock(&state.lock);
    if (NULL == state.gpus && 0 == state.error) {
        state.gpus = gr_gpus_open(NULL, &state.error);
        if (NULL != state.gpus) {
            state.kept = calloc((size_t) gr_gpus_count(state.gpus), sizeof(struct kept));
        }
    }
    gr_unlock(&state.lock);
    *error = state.error;
    return state.gpus;
}

static struct gr_pointer find_pointer(struct gr_gpus *gpus, const void *buffer)
{
    struct gr_pointer pointer = gr_pointer_find(gpus, buffer);

    if (pointer.device >= 0 && 0 == atomic_load_explicit(&state.home, memory_order_relaxed)) {
        atomic_store_explicit(&state.home, 1 + pointer.device, memory_order_relaxed);
    }
    return pointer;
}

/* Where nothing says which device: the current one, else that of earlier buffers, else one by local rank. */
static int default_ordinal(const struct gr_gpus *gpus)
{
    int ordinal = gr_gpus_current(gpus), home = atomic_load_explicit(&state.home, memory_order_relaxed);

    if (ordinal < 0) {
        ordinal = 0 < home ? home - 1 : (int) opal_process_info.my_local_rank % gr_gpus_count(gpus);
    }
    return ordinal;
}

struct gr_pointer mca_coll_gpuring_pointer(const void *buffer)
{
    struct gr_pointer host = {.memory = GR_MEMORY_HOST, .device = -1};
    struct gr_gpus *gpus = state.gpus;
    int error;

    if (NULL == gpus) {
        gpus = mca_coll_gpuring_gpu_possible() && driver_is_loaded() ? find_gpus(&error) : NULL;
    }
    return NULL == gpus ? host : find_pointer(gpus, buffer);
}

bool mca_coll_gpuring_reaches(struct gr_gpu *gpu, const void *buffer)
{
    struct gr_pointer pointer = mca_coll_gpuring_pointer(buffer);

    if (GR_MEMORY_DEVICE == pointer.memory &&
        (!pointer.primary || (gr_gpu_ordinal(gpu) != pointer.device && !gr_gpu_reaches(gpu, pointer.device)))) {
        return false;
    }
    return pointer.at == (gr_gpu_ptr) (uintptr_t) buffer;
}

/* ---- a team's device ---- */

struct gr_gpu *mca_coll_gpuring_gpu_pick(const struct gr_call *call, int *error)
{
    struct gr_gpus *gpus = find_gpus(error);
    const void *buffers[2] = {MPI_IN_PLACE == call->sbuf ? NULL : call->sbuf, call->rbuf};
    int ordinal = -1, k;

    if (NULL == gpus) {
        return NULL;
    }
    for (k = 0; k < 2 && ordinal < 0; k++) {
        ordinal = find_pointer(gpus, buffers[k]).device;
    }
    return gr_gpu_get(gpus, ordinal < 0 ? default_ordinal(gpus) : ordinal, error);
}

struct gr_gpu_pool *mca_coll_gpuring_gpu_pool(struct gr_gpu *gpu, int *error)
{
    struct gr_pool *doors = mca_coll_gpuring_pool();
    size_t bytes = (size_t) mca_coll_gpuring_component.device_pool_mib << 20;
    struct gr_gpu_pool *pool = NULL;

    gr_lock(&state.lock);
    if (NULL != doors && NULL != state.kept) {
        struct kept *kept = &state.kept[gr_gpu_ordinal(gpu)];

        kept->pool = NULL == kept->pool ? gr_gpu_pool_open(gpu, doors, bytes) : kept->pool;
        pool = kept->pool;
    }
    gr_unlock(&state.lock);
    *error = NULL == pool ? GR_ERR_NOMEM : 0;
    return pool;
}

/* ---- memory shared with other processes ---- */

struct gr_gpu_share *mca_coll_gpuring_gpu_share(struct gr_gpu *gpu)
{
    struct gr_gpu_share *share = NULL;

    gr_lock(&state.lock);
    if (NULL != state.kept) {
        struct kept *kept = &state.kept[gr_gpu_ordinal(gpu)];

        kept->share = NULL == kept->share ? gr_gpu_share_open(gpu, mca_coll_gpuring_self(), SHARED_MOST, SHARED_MOST)
                                          : kept->share;
        share = kept->share;
    }
    gr_unlock(&state.lock);
    return share;
}

struct gr_gpu_ticket mca_coll_gpuring_ticket(const void *buffer, size_t bytes)
{
    struct gr_pointer pointer = mca_coll_gpuring_pointer(buffer);
    struct gr_gpu_share *share = NULL;
    struct gr_gpu_ticket none;
    struct gr_gpu *gpu;
    int error;

    if (GR_MEMORY_DEVICE == pointer.memory && pointer.device >= 0) {
        gpu = gr_gpu_get(state.gpus, pointer.device, &error);
        share = NULL == gpu ? NULL : mca_coll_gpuring_gpu_share(gpu);
    }
    memset(&none, 0, sizeof(none));
    return NULL == share ? none : gr_gpu_share_export(share, buffer, bytes);
}

void mca_coll_gpuring_gpus_trim(void)
{
    int k;

    for (k = 0; NULL != state.kept && k < gr_gpus_count(state.gpus); k++) {
        if (NULL != state.kept[k].share) {
            gr_gpu_share_trim(state.kept[k].share);
        }
    }
}

/* ---- order, and copies ---- */

struct gr_gpu *mca_coll_gpuring_gpu_of(const void *buffer)
{
    int ordinal = mca_coll_gpuring_pointer(buffer).device, error;

    return ordinal < 0 ? NULL : gr_gpu_get(state.gpus, ordinal, &error);
}

struct gr_gpu *mca_coll_gpuring_gpu_any(void)
{
    int error;

    return NULL == state.gpus ? NULL : gr_gpu_get(state.gpus, default_ordinal(state.gpus), &error);
}

int mca_coll_gpuring_settle(struct gr_pointer pointer)
{
    if (pointer.device < 0 || 0 == gr_gpus_wait_current(state.gpus, pointer.device)) {
        return OMPI_SUCCESS;
    }
    opal_output(0, "gpuring: waiting for the default stream failed: %s", gr_gpu_error());
    return OMPI_ERROR;
}

int mca_coll_gpuring_follow(struct gr_gpu *gpu, const void *buffer)
{
    struct gr_gpu *owner = mca_coll_gpuring_gpu_of(buffer);

    if (NULL == owner || gpu == owner || 0 == gr_gpu_wait_default(owner)) {
        return OMPI_SUCCESS;
    }
    opal_output(0, "gpuring: waiting for the default stream of device %d failed: %s", gr_gpu_ordinal(owner),
                gr_gpu_error());
    return OMPI_ERROR;
}

/* On the default stream of the device that owns the memory; all runs are of one buffer. */
int mca_coll_gpuring_copy_runs(const struct gr_gpu_run *runs, size_t n)
{
    struct gr_gpu *gpu;

    if (0 == n) {
        return OMPI_SUCCESS;
    }
    gpu = mca_coll_gpuring_gpu_of(runs[0].dst);
    gpu = NULL == gpu ? mca_coll_gpuring_gpu_of(runs[0].src) : gpu;
    gpu = NULL == gpu ? mca_coll_gpuring_gpu_any() : gpu;
    if (NULL != gpu && OMPI_SUCCESS != mca_coll_gpuring_follow(gpu, runs[0].src)) {
        return OMPI_ERROR;
    }
    if (NULL != gpu && 0 == gr_gpu_copy_runs(gpu, runs, n)) {
        return OMPI_SUCCESS;
    }
    opal_output(0, "gpuring: copying between host and device memory failed: %s", gr_gpu_error());
    return OMPI_ERROR;
}

int mca_coll_gpuring_copy(void *dst, const void *src, size_t bytes)
{
    const struct gr_gpu_run run = {.dst = dst, .src = src, .bytes = bytes};

    return mca_coll_gpuring_copy_runs(&run, bytes > 0);
}

void mca_coll_gpuring_gpus_close(void)
{
    int k;

    mca_coll_gpuring_rooms_close();
    mca_coll_gpuring_copiers_close();
    for (k = 0; NULL != state.kept && k < gr_gpus_count(state.gpus); k++) {
        gr_gpu_pool_close(state.kept[k].pool);
        gr_gpu_share_close(state.kept[k].share);
    }
    free(state.kept);
    state.kept = NULL;
    gr_gpus_close(state.gpus);
    state.gpus = NULL;
    state.error = 0;
    atomic_store(&state.home, 0);
}
