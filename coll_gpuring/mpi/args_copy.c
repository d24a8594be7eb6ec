/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arrays of a call (counts, displacements, types) for a persistent request: MPI_..._init has
 * returned when they are read again, and what made the call may have freed them, as language
 * bindings do.
 */
#include "mpi/args_copy.h"

#include "mpi/call.h"
#include "mpi/buffer_desc.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Entries of a side's arrays; what is in place has none. */
static size_t entries(const struct gr_call *call, bool receive)
{
    struct gr_buffer_desc side = mca_coll_gpuring_buffer_desc(call, receive);

    /* one run, but of all ranks' counts */
    return GR_PARTS_SUM == side.parts || GR_PARTS_OWN == side.parts
               ? (size_t) ompi_comm_size(call->comm)
               : (size_t) side.n;
}

struct array_copier {
    unsigned char *at; /* NULL: only the sum is wanted */
    size_t used;
};

/*
 * n entries of `bytes` each; returns where they are now. Every entry is a multiple of its
 * alignment.
 */
static const void *copy(struct array_copier *copier, const void *array, size_t n, size_t bytes)
{
    const void *now = array;

    if (NULL == array || 0 == n) {
        return array;
    }
    if (NULL != copier->at) {
        now = memcpy(copier->at + copier->used, array, n * bytes);
    }
    copier->used += (n * bytes + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
    return now;
}

static void copy_arrays(struct gr_call *call, struct array_copier *copier)
{
    size_t s = entries(call, false), r = entries(call, true);

#define COPY(array, n) \
    array = GR_ARRAY_MOVED(array, copy(copier, GR_ARRAY_AT(array), n, GR_ARRAY_ENTRY(array)))
    /* both sides of a reduce_scatter are of rcounts */
    r = s > r && GR_PARTS_SUM == gr_calls[call->id].send.parts ? s : r;
    COPY(call->scounts, s);
    COPY(call->sdispls, s);
    COPY(call->soffsets, s);
    call->stypes = copy(copier, call->stypes, s, sizeof(call->stypes[0]));
    COPY(call->rcounts, r);
    COPY(call->displs, r);
    COPY(call->roffsets, r);
    call->rtypes = copy(copier, call->rtypes, r, sizeof(call->rtypes[0]));
#undef COPY
}

void *mca_coll_gpuring_args_copy(struct gr_call *call)
{
    struct gr_call as_it_was = *call;
    struct array_copier copier = {NULL, 0};

    copy_arrays(&as_it_was, &copier);
    copier.at = gr_malloc(0 == copier.used ? 1 : copier.used);
    copier.used = 0;
    if (NULL != copier.at) {
        copy_arrays(call, &copier);
    }
    return copier.at;
}
