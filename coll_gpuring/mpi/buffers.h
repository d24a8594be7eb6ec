/* SPDX-License-Identifier: BSD-3-Clause */
/* A call's buffers in the terms of schedules: sizes, packing, scratch. */
#ifndef GR_MPI_BUFFERS_H
#define GR_MPI_BUFFERS_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct gr_gpu;
struct gr_mpi_op;

/* Set the sizes, which are equal on all ranks; looks at no buffer. OMPI error code. */
int mca_coll_gpuring_buffers_size(struct gr_mpi_op *op);

/* Set the buffers: pack data with gaps, find scratch. OMPI error code. */
int mca_coll_gpuring_buffers_begin(struct gr_mpi_op *op);

/*
 * The same, after putting host memory in the place of buffers that cannot be used where they are:
 * by the host (gpu NULL), or by kernels on gpu.
 */
int mca_coll_gpuring_buffers_prepare(struct gr_mpi_op *op, struct gr_gpu *gpu);

/* After the last step: copy or unpack the output. OMPI error code. */
int mca_coll_gpuring_buffers_end(struct gr_mpi_op *op);

END_C_DECLS

#endif
