/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An op of the engine that does an MPI call: the call's arguments, the memory for its data, and how
 * it is driven.
 */
#ifndef GR_MPI_OP_H
#define GR_MPI_OP_H

#include "mpi/ompi.h"

#include "exec/op.h"
#include "mpi/call.h"
#include "mpi/staging/pinned_pool.h"
#include "mpi/staging/stage.h"

struct gr_mpi_op {
    struct gr_op base;   /* first: the engine returns it as one that needs MPI's side */
    struct gr_call call; /* MPI arguments; buffers are replaced while they are staged */
    /*
     * what happens to the output after the last step: nothing, or copied or unpacked to its place
     */
    enum { GR_FINISH_NONE, GR_FINISH_COPY, GR_FINISH_UNPACK } finish;
    size_t out_bytes;      /* GR_FINISH_COPY: bytes to copy */
    unsigned char token;   /* what a barrier sends and receives */
    bool stages;           /* a buffer may be on a device: stage is used. Set by begin_call() */
    struct gr_stage stage; /* host memory in the place of device buffers; kept for the next call */
    struct {
        struct gr_scratch packed; /* data with gaps, packed */
        struct gr_scratch tmp;    /* GR_TMP of the schedule */
        size_t *counts, *displs;  /* [rank]: of v-collectives, in elements; one allocation, owned */
        int ncounts;              /* ranks for which counts and displs have room */
    } kept;                       /* memory for its next call */
    ompi_request_t *mpi_request;  /* to be completed when the op is done; NULL: none. Borrowed */
};

/* ---- its buffers in the terms of schedules: sizes, packing, scratch (buffers.c) ---- */

/* Set the sizes, which are equal on all ranks; looks at no buffer. OMPI error code. */
int mca_coll_gpuring_buffers_size(struct gr_mpi_op *op);

/*
 * Set the buffers: pack data with gaps, find scratch; after putting host memory in the place of
 * buffers that the op's executor cannot use where they are. OMPI error code.
 */
int mca_coll_gpuring_buffers_prepare(struct gr_mpi_op *op);

/* After the last step: copy or unpack the output. OMPI error code. */
int mca_coll_gpuring_buffers_end(struct gr_mpi_op *op);

/* ---- driving it (drive.c) ---- */

/* Pick the executor of an op whose algorithm is known, and prepare its buffers. OMPI error code. */
int mca_coll_gpuring_op_begin(struct gr_mpi_op *op);

/*
 * All that comes before the queue: the set-ups that the op is the first to need, and its beginning,
 * unless that has to wait for its turn. OMPI error code.
 */
int mca_coll_gpuring_op_prepare(struct gr_op_queue *queue, struct gr_mpi_op *op);

/*
 * Prepare a blocking op, append it to its queue, and drive that until the op is done. OMPI error
 * code; OMPI_ERR_NOT_AVAILABLE: no links, the call is to be left to the saved collective.
 */
int mca_coll_gpuring_op_do(struct gr_op_queue *queue, struct gr_mpi_op *op);

/*
 * Append n nonblocking ops, each to its own queue, and return: opal_progress and the progress
 * thread drive them, and their requests are completed in MPI calls.
 */
void mca_coll_gpuring_ops_start(struct gr_mpi_op *const *ops, size_t n);

#endif
