/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the host that an op keeps from call to call. */
#ifndef GR_STAGING_SCRATCH_H
#define GR_STAGING_SCRATCH_H

#include "mpi/ompi.h"

#include "mpi/staging/pinned_pool.h"

BEGIN_C_DECLS

/*
 * Memory of the host that an op keeps from call to call: base, or, where devices use it too, the
 * room.
 */
struct gr_scratch {
    unsigned char *base;
    size_t bytes;
    struct gr_pinned_buffer room;
};

/*
 * At least that many bytes, valid until the call ends; NULL: no memory. request: it is not a
 * blocking call's.
 */
unsigned char *mca_coll_gpuring_scratch_get(struct gr_scratch *s, size_t bytes, bool device);
void mca_coll_gpuring_scratch_shrink(struct gr_scratch *s, bool request);
void mca_coll_gpuring_scratch_free(struct gr_scratch *s);

END_C_DECLS

#endif
