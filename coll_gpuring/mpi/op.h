/* SPDX-License-Identifier: BSD-3-Clause */
/* An op of the engine that does an MPI call: the call's arguments, and the memory for its data. */
#ifndef GR_MPI_OP_H
#define GR_MPI_OP_H

#include "mpi/ompi.h"

#include "engine/op.h"
#include "mpi/call.h"
#include "mpi/staging/copy_stream.h"
#include "mpi/staging/scratch.h"
#include "mpi/staging/stage.h"

#include "exec/staged.h"

BEGIN_C_DECLS

/* Memory that an op keeps for its next call. */
struct gr_mpi_op_kept {
    struct gr_scratch packed; /* data with gaps, packed */
    struct gr_scratch tmp;    /* GR_TMP of the schedule */
    struct gr_staged staging; /* bands of staged buffers */
    size_t *counts, *displs;  /* [rank]: of v-collectives, in elements; one allocation, owned */
    int ncounts;              /* ranks for which counts and displs have room */
};

struct gr_mpi_op {
    struct gr_op base;   /* first: the engine hands it to the hooks */
    struct gr_call call; /* MPI arguments; buffers are replaced while they are staged */
    /*
     * what happens to the output after the last step: nothing, or copied or unpacked to its place
     */
    enum { GR_FINISH_NONE, GR_FINISH_COPY, GR_FINISH_UNPACK } finish;
    size_t out_bytes;      /* GR_FINISH_COPY: bytes to copy */
    unsigned char token;   /* what a barrier sends and receives */
    bool stages;           /* a buffer may be on a device: stage is used. Set by begin_call() */
    struct gr_stage stage; /* host memory in the place of device buffers; kept for the next call */
    struct gr_copy_stream copies[2]; /* staging/overlap.c: into host memory, and out of it */
    struct gr_mpi_op_kept kept;
    ompi_request_t *mpi_request; /* to be completed when the op is done; NULL: none. Borrowed */
};

static inline struct gr_mpi_op *gr_mpi_op(const struct gr_op *op)
{
    return (struct gr_mpi_op *) op;
}

/* All zero, but for the hooks. free: what the op owns; it must be done. */
void mca_coll_gpuring_mpi_op_init(struct gr_mpi_op *op);
void mca_coll_gpuring_mpi_op_free(struct gr_mpi_op *op);

/*
 * Record where the default streams are: a nonblocking op that is called or started now comes after
 * what the application has put there so far. queue: whose device comes first, too.
 */
void mca_coll_gpuring_op_mark(struct gr_mpi_op *op, const struct gr_op_queue *queue);

END_C_DECLS

#endif
