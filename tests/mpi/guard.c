/* SPDX-License-Identifier: BSD-3-Clause */
/* Guarded buffers: zone, shift, data, zone (guard.h). */
#include "guard.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ZONE 256
#define FILLING 0x5c

static size_t shift_of(const struct guarded *g)
{
    return (size_t) (g->data - g->base) - ZONE;
}

static size_t room_of(const struct guarded *g)
{
    return 2 * ZONE + shift_of(g) + g->bytes;
}

/* Another one for each buffer: what is beside one may be copied beside another. */
static char filling(const char *base)
{
    return (char) (FILLING ^ ((uintptr_t) base >> 6 & 63));
}

struct guarded guarded_alloc(size_t bytes, size_t shift)
{
    size_t room = 2 * ZONE + shift + bytes;
    struct guarded g = {NULL, bytes, NULL, NULL, DEVMEM_HOST};

    g.base = aligned_alloc(64, (room + 63) / 64 * 64);
    if (NULL == g.base) {
        abort();
    }
    memset(g.base, filling(g.base), room);
    g.data = g.base + ZONE + shift;
    return g;
}

struct guarded guarded_copy(const struct guarded *g)
{
    struct guarded c = guarded_alloc(g->bytes, shift_of(g));

    memcpy(c.data, g->data, g->bytes);
    return c;
}

char *guarded_lend(struct guarded *g)
{
    return guarded_lend_kind(g, devmem_next());
}

char *guarded_lend_kind(struct guarded *g, enum devmem_kind kind)
{
    g->kind = kind;
    if (DEVMEM_HOST == g->kind) {
        return g->data;
    }
    g->borrowed = devmem_alloc(g->kind, room_of(g));
    return g->borrowed + (g->data - g->base);
}

void guarded_put(const struct guarded *g)
{
    if (NULL != g->borrowed) {
        devmem_put(g->borrowed, g->base, room_of(g));
    }
}

void guarded_get(const struct guarded *g)
{
    if (NULL != g->borrowed) {
        devmem_get(g->base, g->borrowed, room_of(g));
    }
}

static bool is_filled(const char *at, size_t n, char with)
{
    for (size_t i = 0; i < n; i++) {
        if (with != at[i]) {
            return false;
        }
    }
    return true;
}

bool guarded_intact(const struct guarded *g)
{
    const char with = filling(g->base);

    return is_filled(g->base, ZONE + shift_of(g), with) &&
           is_filled(g->data + g->bytes, ZONE, with);
}

void guarded_free(struct guarded *g)
{
    if (NULL != g->borrowed) {
        devmem_free(g->kind, g->borrowed);
    }
    free(g->base);
    g->borrowed = NULL;
    g->base = g->data = NULL;
}

long first_difference(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            return (long) i;
        }
    }
    return -1;
}
