/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call's buffers consist of, and what of them this rank reads and writes. */
#ifndef GR_MPI_BUFFER_DESC_H
#define GR_MPI_BUFFER_DESC_H

#include "mpi/call.h"

/* A run of elements of one type: a buffer, or a block of one. */
struct gr_block_desc {
    unsigned char *at; /* what an MPI call would be given for it */
    size_t count;
    struct ompi_datatype_t *type;
};

/* One of a call's two buffers, at this rank: n blocks. */
struct gr_buffer_desc {
    const struct gr_call *call;
    bool receive;
    enum gr_parts parts; /* NONE: it has none here */
    int n;
};

struct gr_buffer_desc mca_coll_gpuring_buffer_desc(const struct gr_call *call, bool receive);
struct gr_block_desc mca_coll_gpuring_block_desc(const struct gr_buffer_desc *side, int k);

/*
 * Let a side of one of the ...w calls have these arrays, all borrowed. Only one of the two kinds of
 * displacements is used: offsets, where there are some.
 */
void mca_coll_gpuring_call_set_blocks(struct gr_call *call, bool receive,
                                      struct ompi_datatype_t *const *types,
                                      const gr_count_t *counts, const gr_count_t *displs,
                                      const MPI_Aint *offsets);

/*
 * The ranks that a side's messages go to or come from, one each; a side of one block may have
 * several.
 */
struct gr_peers {
    int n;
    int *ranks; /* owned; MPI_PROC_NULL: a grid ends there */
};

/* OMPI error code; ranks are to be freed whatever it is. */
int mca_coll_gpuring_peers(const struct gr_buffer_desc *side, struct gr_peers *others);

/*
 * The bytes that a block covers, gaps too: [*low, *high) as offsets from where it is. False: none.
 */
bool mca_coll_gpuring_block_span(const struct gr_block_desc *block, ptrdiff_t *low,
                                 ptrdiff_t *high);

/*
 * Whether the call reads block k of its receive side; and whether it writes it: then *block has its
 * count of that.
 */
bool mca_coll_gpuring_reads_block(const struct gr_call *call, int k);
bool mca_coll_gpuring_writes_block(const struct gr_call *call, int k, struct gr_block_desc *block);

/* What is kept of a call that has returned. All zero: nothing. */
struct gr_kept_args {
    void *arrays;            /* owned */
    opal_object_t **handles; /* types, operation; retained, in an array that is owned */
    int n;                   /* of handles */
};

/*
 * Put copies in the place of the call's arrays, and, if the call may be started again, retain its
 * types and operation: the application may free all of these when the call has returned. release:
 * also after an error. OMPI error code.
 */
int mca_coll_gpuring_args_keep(struct gr_kept_args *kept, struct gr_call *call, bool again);
void mca_coll_gpuring_args_release(struct gr_kept_args *kept);

#endif
