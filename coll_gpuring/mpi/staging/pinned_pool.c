/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rooms: host memory that takes the place of buffers, pinned where there are devices. Pinning is
 * slow, so that small rooms that are given back wait here for who needs one next: requests come and
 * go.
 */
#include "mpi/staging/pinned_pool.h"

#include "comm/devices.h"
#include "comm/process.h"
#include "comm/runtime.h"

#include "base/memory.h"
#include "cuda/device.h"
#include "cuda/memory.h"

#include <stdlib.h>

/* Idle rooms, and the largest that is kept. */
#define IDLE 16
#define IDLE_BYTES ((size_t) 1 << 20)

/*
 * The smallest: sizes are powers of two from here on, as far as rooms are kept, and multiples of
 * this above. So kernels can use the last element of a buffer to its extent, which may lie beyond
 * its data (MPI_DOUBLE_INT).
 */
#define LEAST_BYTES ((size_t) 4096)

static struct {
    gr_lock_t lock;
    struct gr_pinned_buffer idle[IDLE]; /* base NULL: none */
    atomic_bool told;                   /* that pinned memory was refused */
} state;

static void release(struct gr_pinned_buffer *room)
{
    if (NULL != room->gpu) {
        gr_gpu_host_free(room->gpu, room->base);
    } else {
        free(room->base);
    }
    *room = (struct gr_pinned_buffer) {0};
}

/* Keep it for others, in the place of a smaller one when all are taken. */
static void keep_or_release(struct gr_pinned_buffer *room)
{
    struct gr_pinned_buffer *least = &state.idle[0], freed = *room;
    int k;

    *room = (struct gr_pinned_buffer) {0};
    if (NULL != freed.gpu && freed.bytes <= IDLE_BYTES) {
        gr_lock(&state.lock);
        for (k = 1; k < IDLE; k++) {
            least = state.idle[k].bytes < least->bytes ? &state.idle[k] : least;
        }
        if (least->bytes < freed.bytes) {
            struct gr_pinned_buffer smaller = *least;

            *least = freed;
            freed = smaller;
        }
        gr_unlock(&state.lock);
    }
    if (NULL != freed.base) {
        release(&freed);
    }
}

/* The smallest idle one that is large enough. */
static bool take_idle(struct gr_pinned_buffer *room, size_t bytes)
{
    struct gr_pinned_buffer *best = NULL;
    int k;

    gr_lock(&state.lock);
    for (k = 0; k < IDLE; k++) {
        if (state.idle[k].bytes >= bytes && (NULL == best || state.idle[k].bytes < best->bytes)) {
            best = &state.idle[k];
        }
    }
    if (NULL != best) {
        *room = *best;
        *best = (struct gr_pinned_buffer) {0};
    }
    gr_unlock(&state.lock);
    return NULL != best;
}

/* Once in a process: calls go on, slower. */
static void tell_refusal(void)
{
    if (!atomic_exchange(&state.told, true)) {
        gr_warn("not-pinned", gr_gpu_error());
    }
}

unsigned char *mca_coll_gpuring_pinned_reserve(struct gr_pinned_buffer *room, size_t bytes,
                                               bool kernels)
{
    /* ranks of which none expects devices read each other's memory with process_vm_readv() */
    bool pinned = kernels || gr_gpu_possible();
    size_t size = LEAST_BYTES;

    if (bytes <= room->bytes && NULL != room->base && pinned == room->pinned &&
        (!kernels || NULL != room->gpu)) {
        return room->base;
    }
    keep_or_release(room);
    if (pinned && take_idle(room, bytes)) { /* those are pinned */
        return room->base;
    }
    while (size < bytes && size < IDLE_BYTES) {
        size *= 2;
    }
    size = size < bytes ? (bytes + LEAST_BYTES - 1) / LEAST_BYTES * LEAST_BYTES : size;
    room->pinned = pinned;
    room->gpu = pinned ? gr_gpu_any() : NULL;
    room->base = NULL != room->gpu ? gr_gpu_host_alloc(room->gpu, size) : gr_malloc(size);
    if (NULL == room->base && NULL != room->gpu && !kernels) {
        tell_refusal();
        room->gpu = NULL;
        room->base = gr_malloc(size);
    }
    room->bytes = NULL == room->base ? 0 : size;
    return room->base;
}

void mca_coll_gpuring_pinned_shrink(struct gr_pinned_buffer *room, size_t keep)
{
    if (room->bytes > keep) {
        keep_or_release(room);
    }
}

void mca_coll_gpuring_pinned_close(void)
{
    int k;

    for (k = 0; k < IDLE; k++) {
        if (NULL != state.idle[k].base) {
            release(&state.idle[k]);
        }
    }
}

/* ---- scratch of an op: for what must be packed, and for what a schedule keeps in GR_TMP ---- */

/*
 * Kept between calls; beyond it is freed after the call. A communicator has one blocking call at a
 * time, but requests may be many.
 */
#define KEPT ((size_t) 4 << 20)
#define KEPT_REQUEST ((size_t) 64 << 10)

unsigned char *mca_coll_gpuring_scratch_get(struct gr_scratch *s, size_t bytes, bool device)
{
    if (device) {
        return mca_coll_gpuring_pinned_reserve(&s->room, bytes, true);
    }
    if (bytes > s->bytes) {
        free(s->base);
        s->base = gr_malloc(bytes);
        s->bytes = NULL == s->base ? 0 : bytes;
    }
    return s->base;
}

void mca_coll_gpuring_scratch_shrink(struct gr_scratch *s, bool request)
{
    size_t keep = request ? KEPT_REQUEST : KEPT;

    mca_coll_gpuring_pinned_shrink(&s->room, keep);
    if (s->bytes > keep) {
        free(s->base);
        s->base = NULL;
        s->bytes = 0;
    }
}

void mca_coll_gpuring_scratch_free(struct gr_scratch *s)
{
    free(s->base);
    mca_coll_gpuring_pinned_shrink(&s->room, 0);
}
