/* SPDX-License-Identifier: BSD-3-Clause */
/* Arenas and pinned pages of this process. */
#include "link/gpu_slab.h"

#include "base/memory.h"
#include "cuda/device.h"
#include "cuda/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pin {
    struct pin *next;
    void *base;    /* address for the host */
    gr_gpu_ptr at; /* address for devices */
    int users;     /* gr_pin_take() without gr_pin_drop() */
};

/* Protects both lists. Held while the driver pins, so that no two threads pin the same pages. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gr_arena *arenas;
static struct pin *pins;

int gr_arena_create(struct gr_gpu *gpu, size_t bytes, struct gr_arena **arena)
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

int gr_arena_find(uint64_t number, int *ordinal, gr_gpu_ptr *at)
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

int gr_pin_take(struct gr_gpu *gpu, void *base, size_t bytes, gr_gpu_ptr *at)
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
