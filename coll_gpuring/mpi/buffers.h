/* SPDX-License-Identifier: BSD-3-Clause */
/* A call's buffers in the terms of schedules: sizes, packing, scratch. */
#ifndef GR_MPI_BUFFERS_H
#define GR_MPI_BUFFERS_H

#include "mpi/ompi.h"

#include "exec/plan.h"
#include "exec/reduce.h"

BEGIN_C_DECLS

struct gr_op;

/* What a call moves, in the core's terms. */
struct gr_data {
    struct gr_request request;     /* algo, channels, chunks are filled later */
    size_t bytes;                  /* S as bandwidth is counted */
    size_t post_bytes;             /* the most that a rank contributes, for mailboxes */
    unsigned char *in, *out, *tmp; /* by enum gr_space */
    struct gr_reducer reducer;
    /* afterwards: */
    enum { GR_FINISH_NONE, GR_FINISH_COPY, GR_FINISH_UNPACK } finish;
    size_t out_bytes; /* to be copied or unpacked */
};

/* Sizes only, nothing of the buffers: equal on all ranks. OMPI error code. */
int mca_coll_gpuring_buffers_size(struct gr_op *op);

/* Buffers: pack what has gaps, find scratch. OMPI error code. */
int mca_coll_gpuring_buffers_begin(struct gr_op *op);

/* After the last step: unpack, copy. */
int mca_coll_gpuring_buffers_end(struct gr_op *op);

END_C_DECLS

#endif
