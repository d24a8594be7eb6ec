/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call's buffers consist of, and what of them this rank reads and writes. */
#ifndef GR_MPI_BUFFER_DESC_H
#define GR_MPI_BUFFER_DESC_H

#include "mpi/ompi.h"

#include "engine/collectives.h"

BEGIN_C_DECLS

/* A run of elements of one type: a buffer, or a block of one. */
struct gr_block {
    unsigned char *at; /* what an MPI call would be given for it */
    size_t count;
    struct ompi_datatype_t *type;
};

/* One of a call's two buffers, at this rank: n blocks. */
struct gr_side {
    const struct gr_call *call;
    bool receive;
    enum gr_parts parts; /* NONE: it has none here */
    int n;
};

struct gr_side mca_coll_gpuring_side(const struct gr_call *call, bool receive);
struct gr_block mca_coll_gpuring_block(const struct gr_side *side, int k);

/* The first byte of the first block that has data; NULL: none has. */
const void *mca_coll_gpuring_side_first(const struct gr_side *side);

/* The ranks that a side's messages go to or come from, one each; a side of one block may have several. */
struct gr_others {
    int n;
    int *ranks; /* owned; MPI_PROC_NULL: a grid ends there */
};

/* OMPI error code; ranks are to be freed whatever it is. */
int mca_coll_gpuring_others(const struct gr_side *side, struct gr_others *others);

/* The bytes that a block covers, gaps too: [*low, *high) as offsets from where it is. False: none. */
bool mca_coll_gpuring_block_span(const struct gr_block *block, ptrdiff_t *low, ptrdiff_t *high);

/* Whether the call reads block k of its receive side; and whether it writes it: then *block has its count of that. */
bool mca_coll_gpuring_reads_block(const struct gr_call *call, int k);
bool mca_coll_gpuring_writes_block(const struct gr_call *call, int k, struct gr_block *block);

END_C_DECLS

#endif
