/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the host that an op keeps from call to call. */
#ifndef GR_STAGING_SCRATCH_H
#define GR_STAGING_SCRATCH_H

#include "mpi/ompi.h"

#include "mpi/staging/pinned_pool.h"

BEGIN_C_DECLS

/* Scratch memory of an op, kept from call to call. All zero at first. */
struct gr_scratch {
    unsigned char *base;          /* plain memory; owned */
    size_t bytes;                 /* of base */
    struct gr_pinned_buffer room; /* memory that devices use too */
};

/*
 * get: at least that many bytes, valid until shrink; device: kernels use it; NULL: no memory.
 * shrink: after a call, free what is too much to keep; a request keeps less than a blocking call.
 */
unsigned char *mca_coll_gpuring_scratch_get(struct gr_scratch *s, size_t bytes, bool device);
void mca_coll_gpuring_scratch_shrink(struct gr_scratch *s, bool request);
void mca_coll_gpuring_scratch_free(struct gr_scratch *s);

END_C_DECLS

#endif
