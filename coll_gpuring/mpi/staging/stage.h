/* SPDX-License-Identifier: BSD-3-Clause */
/* Host memory in the place of a call's device buffers. */
#ifndef GR_STAGING_STAGE_H
#define GR_STAGING_STAGE_H

#include "mpi/ompi.h"

#include "exec/default_streams.h"
#include "mpi/call.h"
#include "mpi/staging/pinned_pool.h"

#include "cuda/pointer.h"

struct gr_block_desc;
struct gr_buffer_desc;

/*
 * A side of one of the ...w calls, whose blocks lie too far apart to be copied as they lie, with
 * all blocks in one run of bytes (sparse_layout.c). All zero at first.
 */
struct gr_sparse_layout {
    int n;
    size_t bytes;                   /* of that run */
    struct ompi_datatype_t **types; /* owned, with the arrays below: a block each, */
    gr_count_t *counts;             /* 1, or 0 of what has no data, */
    gr_count_t *zeros;              /* and displacements, in elements and bytes */
    MPI_Aint *offsets;
};

/* Describe a side so. OMPI error code. */
int mca_coll_gpuring_sparse_layout_make(struct gr_sparse_layout *layout,
                                        const struct gr_buffer_desc *side);
void mca_coll_gpuring_sparse_layout_free(struct gr_sparse_layout *layout);

/* What the driver said of an address of the call, so that it need not be asked twice. */
struct gr_known_address {
    const void *at; /* NULL: nothing is known */
    struct gr_pointer pointer;
};

/*
 * Managed memory too: the host could read it, page by page, but what we hand calls on to may not
 * (coll/accelerator).
 */
static inline bool gr_is_devices(struct gr_pointer pointer)
{
    return GR_MEMORY_DEVICE == pointer.memory || GR_MEMORY_MANAGED == pointer.memory;
}

/* A call whose buffers were replaced by host memory. All zero at first. */
struct gr_stage {
    struct gr_stage_side {
        struct gr_known_address known; /* of the buffer's first byte */
        bool replaced;
        struct gr_pinned_buffer room;
        struct gr_sparse_layout
            sparse;         /* where blocks lie too far apart to be copied as they lie */
    } sides[2];             /* send, receive */
    bool elsewhere;         /* a buffer lies on another device than kernels run on */
    bool kept;              /* persistent: host memory stays from call to call */
    struct gr_points after; /* nonblocking: points in default streams that copies come after */
    struct gr_call original;
};

/*
 * Put host memory in the place of those of the call's buffers that cannot be used where they are:
 * by the host (gpu NULL), or by kernels on gpu, and copy what they hold. Writes the call's sbuf and
 * rbuf, and where blocks lie far apart their counts, displacements and types. OMPI error code.
 */
int mca_coll_gpuring_stage_in(struct gr_stage *stage, struct gr_call *call, struct gr_gpu *gpu);

/* Parts of stage_in. find: which buffers; place: replace them. */
void mca_coll_gpuring_stage_find(struct gr_stage *stage, const struct gr_call *call,
                                 struct gr_gpu *gpu);
int mca_coll_gpuring_stage_place(struct gr_stage *stage, struct gr_call *call, struct gr_gpu *gpu);

/*
 * Restore the call; bring: it went well, and results are to be copied to where they belong. OMPI
 * error code.
 */
int mca_coll_gpuring_stage_out(struct gr_stage *stage, struct gr_call *call, bool bring);

/* Release the host memory; delete: and free the stage. NULL is fine for delete. */
void mca_coll_gpuring_stage_free(struct gr_stage *stage);
void mca_coll_gpuring_stage_delete(struct gr_stage *stage);

/* Set the points for a call. team: a device of which there is one, too. */
void mca_coll_gpuring_points_set(struct gr_points *points, const struct gr_call *call,
                                 struct gr_gpu *team);

/*
 * In the thread of the MPI call: sets *device, whether some buffer is in device memory, and orders
 * their use (gr_wait_default_stream()). stage: that of the call, or NULL. OMPI error code.
 */
int mca_coll_gpuring_classify_buffers(const struct gr_call *call, struct gr_stage *stage,
                                      bool *device);

/*
 * Write a block from host memory that has its data in the same places; what lies between them
 * stays. OMPI error code.
 */
int mca_coll_gpuring_stage_put(const struct gr_block_desc *to, const unsigned char *from);

#endif
