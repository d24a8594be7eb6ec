/* SPDX-License-Identifier: BSD-3-Clause */
/* A call's buffers in the terms of schedules: sizes, packing, scratch. */
#ifndef GR_MPI_BUFFERS_H
#define GR_MPI_BUFFERS_H

#include "mpi/ompi.h"

#include "exec/plan.h"
#include "exec/reduce.h"

BEGIN_C_DECLS

struct gr_gpu;
struct gr_op;

/* What a call moves, in the terms of executors. */
struct gr_data {
    struct gr_request request; /* algorithm, channels and chunks follow from the choice */
    size_t bytes;              /* as bandwidth is counted */
    size_t post_bytes;         /* most that a rank posts to a mailbox */
    unsigned char *in;         /* GR_IN: the input, perhaps packed in scratch */
    unsigned char *out;        /* GR_OUT: the output, perhaps in scratch */
    unsigned char *tmp;        /* GR_TMP of the schedule, or NULL */
    struct gr_reducer reducer; /* type and operation */
    /* what happens to out after the last step: nothing, or copied or unpacked to its place */
    enum { GR_FINISH_NONE, GR_FINISH_COPY, GR_FINISH_UNPACK } finish;
    size_t out_bytes; /* GR_FINISH_COPY: bytes to copy */
};

/* Set the sizes, which are equal on all ranks; looks at no buffer. OMPI error code. */
int mca_coll_gpuring_buffers_size(struct gr_op *op);

/* Set the buffers: pack data with gaps, find scratch. OMPI error code. */
int mca_coll_gpuring_buffers_begin(struct gr_op *op);

/*
 * The same, after putting host memory in the place of buffers that cannot be used where they are:
 * by the host (gpu NULL), or by kernels on gpu.
 */
int mca_coll_gpuring_buffers_prepare(struct gr_op *op, struct gr_gpu *gpu);

/* After the last step: copy or unpack the output. OMPI error code. */
int mca_coll_gpuring_buffers_end(struct gr_op *op);

END_C_DECLS

#endif
