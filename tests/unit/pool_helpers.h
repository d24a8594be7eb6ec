/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of the pool. To be included after cmocka_test.h. */
#ifndef GR_TESTS_POOL_HELPERS_H
#define GR_TESTS_POOL_HELPERS_H

#include "link/fifo.h"
#include "link/pool.h"

#include <dirent.h>

/* Bytes of the slabs that are leased. */
enum { SLAB_BYTES = 4096 };

/* Entries of a directory but . and .. */
static inline int entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = -2;

    assert_non_null(d);
    while (NULL != readdir(d)) {
        n++;
    }
    closedir(d);
    return n;
}

/* A slab for a link. */
static inline struct gr_slab *lease_one(struct gr_pool *pool)
{
    struct gr_slab *slab = NULL;

    assert_int_equal(gr_pool_lease(pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, 1, &slab), 0);
    return slab;
}

#endif
