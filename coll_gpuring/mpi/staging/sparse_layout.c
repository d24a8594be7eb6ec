/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks that lie far apart: the calls with a type for each block take buffers anywhere, by
 * MPI_BOTTOM and addresses, as displacements or in the types. No room spans them, and no int the
 * way between two of them: in the copy of such a call the blocks follow each other, each a type of
 * ours that begins where its block does.
 *
 *      types, counts, displacements                   bytes
 *      t0, n0, d0 | t1, n1, d1 | ...                  [.....b0.....] ... 40 TB ... [...b1...]
 *      {n0 of t0, at o0}, 1, 0 | {n1 of t1, at o1}, 1, 0 | ...      room [b0|b1|...]
 */
#include "mpi/staging/stage.h"

#include "mpi/buffer_desc.h"
#include "mpi/call.h"

#include "base/memory.h"
#include "link/lease.h"

#include <stdlib.h>

/* Blocks begin on cache lines. */
#define ALIGNED(bytes) (((bytes) + GR_CACHE_LINE - 1) / GR_CACHE_LINE * GR_CACHE_LINE)

/*
 * One run of the block's elements, whose data begins `first` bytes behind where the type is used.
 * OMPI error code.
 */
static int make_type(const struct gr_block_desc *b, ptrdiff_t low, ptrdiff_t first,
                     struct ompi_datatype_t **type)
{
    const gr_count_t count = (gr_count_t) b->count; /* of this type MPI gave it */
    const ptrdiff_t at = first - low;
    int rc = ompi_datatype_create_hindexed(1, GR_ARRAY_OF(&count), GR_ARRAY_OF(&at), b->type, type);

    return OMPI_SUCCESS == rc ? ompi_datatype_commit(type) : rc;
}

static bool allocate(struct gr_sparse_layout *a, size_t n)
{
    a->types = gr_calloc(n, sizeof(a->types[0]) + sizeof(MPI_Aint) + 2 * sizeof(gr_count_t));
    if (NULL == a->types) {
        return false;
    }
    a->n = (int) n;
    a->offsets = (MPI_Aint *) (a->types + n);
    a->counts = (gr_count_t *) (a->offsets + n);
    a->zeros = a->counts + n;
    return true;
}

int mca_coll_gpuring_sparse_layout_make(struct gr_sparse_layout *a, const struct gr_buffer_desc *s)
{
    ptrdiff_t low, high;
    int k, rc = allocate(a, (size_t) s->n) ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;

    for (k = 0; k < s->n && OMPI_SUCCESS == rc; k++) {
        struct gr_block_desc b = mca_coll_gpuring_block_desc(s, k);

        a->types[k] = &ompi_mpi_byte.dt;
        if (mca_coll_gpuring_block_span(&b, &low, &high)) {
            rc = make_type(&b, low, (ptrdiff_t) a->bytes, &a->types[k]);
            a->counts[k] = 1;
            a->bytes += ALIGNED((size_t) (high - low));
        }
    }
    if (OMPI_SUCCESS != rc) {
        mca_coll_gpuring_sparse_layout_free(a);
    }
    return rc;
}

void mca_coll_gpuring_sparse_layout_free(struct gr_sparse_layout *a)
{
    int k;

    for (k = 0; k < a->n; k++) {
        if (NULL != a->types[k] && &ompi_mpi_byte.dt != a->types[k]) {
            (void) ompi_datatype_destroy(&a->types[k]);
        }
    }
    free(a->types);
    *a = (struct gr_sparse_layout) {.n = 0};
}
