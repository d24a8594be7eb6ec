/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slabs on the device (gpu_slab.h): sizes, arenas that they are cut out of, and how they are
 * cleaned.
 */
#include "link/gpu_slab.h"
#include "cuda/stream.h"

#include <sched.h>
#include <stdlib.h>

/* Slabs begin on multiples of this. */
#define ALIGNMENT ((size_t) 256)

/* Bytes of slabs for requests of about that size: eight sizes from one power of two to the next. */
static size_t size_class(size_t bytes)
{
    size_t step = ALIGNMENT;

    while (step < bytes / 16) {
        step *= 2;
    }
    return gr_round_up(bytes, step);
}

/* A slab that is free, or NULL. */
static struct gr_gpu_slab *find_free(struct gr_gpu_pool *pool, size_t bytes)
{
    struct gr_gpu_slab *f;

    for (f = pool->slabs; NULL != f; f = f->next) {
        if (GR_ON_DEVICE == f->where && f->bytes == bytes && gr_slab_is_free(f)) {
            return f;
        }
    }
    return NULL;
}

/*
 * Cut a slab out of what is left of an arena. 0 or GR_ERR_NOMEM; *out is NULL when no arena has
 * room.
 */
static int cut(struct gr_gpu_pool *pool, size_t bytes, struct gr_gpu_slab **out)
{
    struct gr_arena *a;
    struct gr_gpu_slab *f;

    *out = NULL;
    for (a = pool->arenas; NULL != a && a->bytes - a->used < bytes; a = a->next) {
    }
    if (NULL == a) {
        return 0;
    }
    f = calloc(1, sizeof(*f));
    if (NULL == f) {
        return GR_ERR_NOMEM;
    }
    f->where = GR_ON_DEVICE;
    f->arena = a;
    f->offset = a->used;
    f->bytes = bytes;
    f->at = a->at + a->used;
    f->next = pool->slabs;
    pool->slabs = f;
    a->used += bytes;
    *out = f;
    return 0;
}

/* One more arena, with room for n slabs. */
static int grow(struct gr_gpu_pool *pool, size_t bytes, int n)
{
    struct gr_arena *a;
    size_t room = pool->max_bytes - pool->held;
    int rc;

    if (bytes > room / (size_t) n || gr_round_up(bytes * (size_t) n, GR_ARENA_BYTES) > room) {
        return GR_ERR_GPU_LIMIT;
    }
    rc = gr_arena_create(pool->gpu, gr_round_up(bytes * (size_t) n, GR_ARENA_BYTES), &a);
    if (rc < 0) {
        return rc;
    }
    a->next = pool->arenas;
    pool->arenas = a;
    pool->held += a->bytes;
    return 0;
}

/*
 * Take n slabs on the device, without their doors; *taken counts those that were taken, on error
 * too.
 */
static int take_frames(struct gr_gpu_pool *pool, size_t bytes, int n, struct gr_gpu_slab **slabs,
                       int *taken)
{
    int rc = 0;

    for (*taken = 0; *taken < n && 0 == rc;) {
        struct gr_gpu_slab *f = find_free(pool, bytes);

        if (NULL == f) {
            rc = cut(pool, bytes, &f);
        }
        if (NULL != f) {
            f->state = GR_FRAME_LEASED;
            slabs[(*taken)++] = f;
        } else if (0 == rc) {
            rc = grow(pool, bytes, n - *taken);
        }
    }
    return rc;
}

/*
 * Clean the first bytes of each slab, on a stream of the pool's own: it waits for nobody's kernels.
 */
static int clean_frames(struct gr_gpu_pool *pool, size_t bytes, int n, struct gr_gpu_slab **slabs)
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

int gr_lease_on_device(struct gr_gpu_pool *pool, size_t bytes, size_t clean, int n,
                       struct gr_slab **doors, struct gr_gpu_slab **slabs)
{
    int k, taken = 0, rc = gr_pool_lease(pool->doors, sizeof(struct gr_door), 1, n, doors);

    if (rc < 0) {
        return rc;
    }
    rc = take_frames(pool, size_class(bytes < GR_GPU_LINE ? GR_GPU_LINE : bytes), n, slabs, &taken);
    if (0 == rc) {
        rc = clean_frames(pool, clean, n, slabs);
    }
    for (k = 0; k < n; k++) {
        if (0 == rc) {
            gr_slab_attach(pool, slabs[k], doors[k]);
            continue;
        }
        gr_pool_release(pool->doors, doors[k], 0);
        if (k < taken) {
            slabs[k]->state = GR_FRAME_FREE;
        }
    }
    return rc;
}
