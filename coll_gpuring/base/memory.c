/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reserve is one region of addresses without rights, in which every other page has another
 * right: each of these pages, and what lies between them, counts as a mapping.
 */
#include "base/memory.h"

#include "base/errors.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

/* Addresses for an allocation of the largest size that is kept between calls. */
#define RESERVE_BYTES ((size_t) 4 << 20)
/* Pages with a right. Each makes two mappings. */
#define RESERVE_PAGES 8

static _Atomic(unsigned char *) reserve;

/* At the limit a part of a mapping cannot be unmapped, so first the pages become one mapping. */
static void region_release(unsigned char *at)
{
    (void) mprotect(at, RESERVE_BYTES, PROT_NONE);
    (void) munmap(at, RESERVE_BYTES);
}

/* NULL: there are not enough mappings or addresses. */
static unsigned char *region_make(void)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE), k;
    unsigned char *at =
        mmap(NULL, RESERVE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (MAP_FAILED == at) {
        return NULL;
    }
    for (k = 0; k < RESERVE_PAGES; k++) {
        if (0 != mprotect(at + (2 * k + 1) * page, page, PROT_READ)) {
            region_release(at);
            return NULL;
        }
    }
    return at;
}

int gr_reserve_make(void)
{
    unsigned char *none = NULL, *made;

    if (NULL != atomic_load(&reserve)) {
        return 0;
    }
    made = region_make();
    if (NULL == made) {
        return GR_ERR_SPACE;
    }
    if (!atomic_compare_exchange_strong(&reserve, &none, made)) {
        region_release(made); /* another thread has made it */
    }
    return 0;
}

bool gr_reserve_release(void)
{
    unsigned char *at = atomic_exchange(&reserve, NULL);

    if (NULL != at) {
        region_release(at);
    }
    return NULL != at;
}

bool gr_reserve_is_spare(void)
{
    unsigned char *at = region_make();

    if (NULL != at) {
        region_release(at);
    }
    return NULL != at;
}
