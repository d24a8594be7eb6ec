/* SPDX-License-Identifier: BSD-3-Clause */
/* Host memory that takes the place of buffers: pinned, where there are devices. */
#ifndef GR_STAGING_PINNED_POOL_H
#define GR_STAGING_PINNED_POOL_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_gpu;

/* Memory that grows and stays: pinned, so that devices can use it, where there are any. */
struct gr_pinned_buffer {
    unsigned char *base;
    size_t bytes;
    struct gr_gpu *gpu; /* through which it was pinned, or NULL */
};

/*
 * At least that many bytes; NULL: none to be had. Shrinks to nothing when it is above `keep`. Any
 * thread.
 */
unsigned char *mca_coll_gpuring_pinned_reserve(struct gr_pinned_buffer *room, size_t bytes);
void mca_coll_gpuring_pinned_shrink(struct gr_pinned_buffer *room, size_t keep);

/* Free those that wait to be used again. */
void mca_coll_gpuring_pinned_close(void);

END_C_DECLS

#endif
