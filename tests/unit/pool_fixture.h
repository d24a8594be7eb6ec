/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool that owns slabs, and another pool that maps them. To be included after <cmocka.h>. */
#ifndef GR_TESTS_POOL_FIXTURE_H
#define GR_TESTS_POOL_FIXTURE_H

#include "pool_helpers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct gr_peer_id self = {1, 0}, peer = {1, 1};

struct fixture {
    struct gr_pool *pool, *other; /* the reader's, and a writer's */
    char dir[64];
};

/* Both pools in a directory of their own, which must be empty at the end. */
static inline int set_up(void **state)
{
    static struct fixture f;

    strcpy(f.dir, "/dev/shm/gpuring-test-XXXXXX");
    f.pool = NULL == mkdtemp(f.dir) ? NULL : gr_pool_open(f.dir, self, 64 * SLAB_BYTES);
    f.other = gr_pool_open(f.dir, peer, 64 * SLAB_BYTES);
    *state = &f;
    return NULL == f.pool || NULL == f.other ? -1 : 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    gr_pool_close(f->pool);
    gr_pool_close(f->other);
    return rmdir(f->dir); /* fails where something is left in it */
}

static inline void *map(struct gr_pool *pool, const struct gr_slab_handle *handle)
{
    int error;
    void *base = gr_pool_map(pool, handle, &error);

    assert_int_equal(error, 0);
    assert_non_null(base);
    return base;
}

#endif
