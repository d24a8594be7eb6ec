/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool that owns slabs, and another pool that maps them. To be included after cmocka_test.h. */
#ifndef GR_TESTS_POOL_FIXTURE_H
#define GR_TESTS_POOL_FIXTURE_H

#include "pool_helpers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct gr_peer_id self = {1, 0}, peer = {1, 1};

struct fixture {
    struct gr_pool *pool, *other; /* the reader's, and a writer's */
};

/* Pages that MOST slabs of SLAB_BYTES cover: no slab begins with a segment. */
enum { MOST = 64, MOST_BYTES = (MOST + 1) * SLAB_BYTES };

static inline int set_up(void **state)
{
    static struct fixture f;

    f.pool = gr_pool_open(self, MOST_BYTES);
    f.other = gr_pool_open(peer, MOST_BYTES);
    *state = &f;
    return NULL == f.pool || NULL == f.other ? -1 : 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    gr_pool_close(f->pool);
    gr_pool_close(f->other);
    return 0;
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
