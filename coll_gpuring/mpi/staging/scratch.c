/* SPDX-License-Identifier: BSD-3-Clause */
/* Scratch of an op: for what must be packed, and for what a schedule keeps in GR_TMP. */
#include "mpi/staging/scratch.h"

#include "mpi/staging/pinned_pool.h"

#include "base/memory.h"

#include <stdlib.h>

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
