/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots that lie on a GPU, as far as links know: at addresses where nobody can touch them, but for
 * the network by way of these functions. What it writes there lands late: at the flush, or, by
 * chance, when it writes again. To be included after cmocka_test.h.
 */
#ifndef GR_TESTS_NET_GPU_SLOTS_H
#define GR_TESTS_NET_GPU_SLOTS_H

#include "post.h"

#include <stdlib.h>
#include <string.h>

#define GS_FAR ((uintptr_t) 1 << 60) /* no address of a process */

enum { GS_MOST = 256 };

struct gs_slots {
    struct gr_fifo fifo;
    struct gr_lease_user user;
};

static struct {
    void *to, *data;
    size_t bytes;
} gs_aside[GS_MOST];
static int gs_naside, gs_broken;                /* broken: flushes fail */
static uint64_t gs_writes, gs_late, gs_flushes; /* late: landed by a flush */

/* The first so many of them. */
static inline void gs_land(int n)
{
    int k;

    for (k = 0; k < n; k++) {
        memcpy(gs_aside[k].to, gs_aside[k].data, gs_aside[k].bytes);
        free(gs_aside[k].data);
    }
    gs_naside -= n;
    memmove(gs_aside, gs_aside + n, (size_t) gs_naside * sizeof(gs_aside[0]));
}

static inline void gs_read(void *to, const void *from, size_t bytes)
{
    memcpy(to, (const void *) ((uintptr_t) from - GS_FAR), bytes);
}

static inline void gs_write(void *to, const void *from, size_t bytes)
{
    if (GS_MOST == gs_naside || 0 == post_random(4)) {
        gs_land((int) post_random((uint64_t) gs_naside + 1));
    }
    gs_land(GS_MOST == gs_naside);
    gs_aside[gs_naside].to = (void *) ((uintptr_t) to - GS_FAR);
    gs_aside[gs_naside].data = memcpy(malloc(bytes + 1), from, bytes);
    gs_aside[gs_naside++].bytes = bytes;
    gs_writes++;
}

/* The reader must not be able to see what is still aside. */
static inline void gs_unseen(const struct gs_slots *s)
{
    uint64_t n, tail = atomic_load(s->fifo.tail);
    int k;

    for (n = atomic_load(s->fifo.head); n < tail; n++) {
        for (k = 0; k < gs_naside; k++) {
            assert_ptr_not_equal(gs_aside[k].to,
                                 s->fifo.slots + n % s->fifo.nslots * s->fifo.slot_bytes - GS_FAR);
        }
    }
}

static inline int gs_flush(void *gpu)
{
    if (gs_broken) {
        return GR_ERR_CUDA;
    }
    gs_unseen(gpu);
    gs_flushes++;
    gs_late += (uint64_t) gs_naside;
    gs_land(gs_naside);
    return 0;
}

/* From here on slots lie on GPUs, or not. */
static inline void gs_begin(int on_gpus)
{
    static const struct post_gpus gpus = {gs_read, gs_write};

    gs_land(gs_naside);
    gs_broken = 0;
    gs_writes = gs_late = gs_flushes = 0;
    post_gpus = on_gpus ? &gpus : NULL;
}

/* Those of a FIFO; s stays with it. */
static inline void gs_move(struct gr_fifo *fifo, struct gs_slots *s, uint64_t lease, int reads)
{
    fifo->slots = (unsigned char *) ((uintptr_t) fifo->slots + GS_FAR);
    fifo->gpu = (struct gr_fifo_gpu) {
        .on = 1, .flush = reads ? gs_flush : NULL, .gpu = s, .user = &s->user, .lease = lease};
    s->fifo = *fifo;
}

#endif
