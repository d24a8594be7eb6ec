/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffers of MPI_Alltoallw and the like whose blocks lie too far apart to be copied as they
 * lie.
 */
#ifndef GR_STAGING_SPARSE_LAYOUT_H
#define GR_STAGING_SPARSE_LAYOUT_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_call;
struct gr_buffer_desc;

/* A side of one of the ...w calls with all blocks in one run of bytes. All zero at first. */
struct gr_sparse_layout {
    int n;
    size_t bytes;                   /* of that run */
    struct ompi_datatype_t **types; /* owned, as the arrays below: a block each, */
    gr_count_t *counts;             /* 1, or 0 of what has no data, */
    gr_count_t *zeros;              /* and displacements, in elements and bytes */
    MPI_Aint *offsets;
};

/* Describe a side so; put: into the call, whose buffer is to be that run. OMPI error code. */
int mca_coll_gpuring_sparse_layout_make(struct gr_sparse_layout *layout,
                                        const struct gr_buffer_desc *side);
void mca_coll_gpuring_sparse_layout_put(const struct gr_sparse_layout *layout, struct gr_call *call,
                                        bool receive);
void mca_coll_gpuring_sparse_layout_free(struct gr_sparse_layout *layout);

END_C_DECLS

#endif
