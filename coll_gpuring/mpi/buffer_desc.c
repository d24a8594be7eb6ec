/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the buffers of a call consist of: blocks, each a run of elements of one type. Which there
 * are, the table in collectives.c says; what of them a rank reads and writes, MPI does.
 */
#include "mpi/buffer_desc.h"

#include "mpi/call.h"
#include "mpi/comm.h"
#include "mpi/datatype.h"

#include "base/memory.h"

#include "ompi/mca/topo/base/base.h"

#include <stdlib.h>

static bool is_inter(const struct gr_call *call)
{
    return NULL != call->comm && OMPI_COMM_IS_INTER(call->comm);
}

static bool is_root(const struct gr_call *call)
{
    return is_inter(call) ? MPI_ROOT == call->root : ompi_comm_rank(call->comm) == call->root;
}

/* Whether this rank has a buffer of which the table says so. */
static bool holds(const struct gr_call *call, enum gr_holders holders)
{
    if (!gr_calls[call->id].has_root) {
        return true;
    }
    if (!is_inter(call)) {
        return GR_HELD_BY_ALL == holders || is_root(call);
    }
    /* the root sends to the other group, or receives from it; the rest of its group does nothing */
    if (GR_CALL_BCAST == call->id) {
        return MPI_PROC_NULL != call->root;
    }
    return GR_HELD_BY_ROOT == holders ? is_root(call) : call->root >= 0;
}

/* Blocks of a side that has one for each other. */
static int count_others(const struct gr_call *call, bool receive)
{
    int in = 0, out = 0;

    if (gr_calls[call->id].neighbors) {
        /* where there is no topology, the saved collective returns the error */
        return OMPI_SUCCESS == mca_topo_base_neighbor_count(call->comm, &in, &out)
                   ? (receive ? in : out)
                   : 0;
    }
    return is_inter(call) ? ompi_comm_remote_size(call->comm) : ompi_comm_size(call->comm);
}

struct gr_buffer_desc mca_coll_gpuring_buffer_desc(const struct gr_call *call, bool receive)
{
    const struct gr_call_row *row = &gr_calls[call->id];
    struct gr_buffer_desc s = {.call = call, .receive = receive};
    const void *base = receive ? call->rbuf : call->sbuf;

    s.parts = receive ? row->receive.parts : row->send.parts;
    if (GR_PARTS_NONE == s.parts || MPI_IN_PLACE == base ||
        !holds(call, receive ? row->receive.holders : row->send.holders)) {
        s.parts = GR_PARTS_NONE;
    } else {
        s.n = s.parts < GR_PARTS_EACH ? 1 : count_others(call, receive);
    }
    return s;
}

/* Elements that a reduce_scatter takes in. */
static size_t sum_counts(const struct gr_call *call)
{
    int p = ompi_comm_size(call->comm), r;
    size_t n = 0;

    for (r = 0; r < p; r++) {
        n += GR_ARRAY_IS(call->rcounts) ? GR_COUNT_AT(call->rcounts, r) : call->rcount;
    }
    return n;
}

/* Elements that it leaves here. */
static size_t own_count(const struct gr_call *call)
{
    return GR_ARRAY_IS(call->rcounts) ? GR_COUNT_AT(call->rcounts, ompi_comm_rank(call->comm))
                                      : call->rcount;
}

struct gr_block_desc mca_coll_gpuring_block_desc(const struct gr_buffer_desc *s, int k)
{
    const struct gr_call *call = s->call;
    bool of_receive = s->receive || gr_calls[call->id].reduces; /* one type and count for both */
    gr_counts_t counts = s->receive ? call->rcounts : call->scounts,
                displs = s->receive ? call->displs : call->sdispls;
    gr_offsets_t offsets = s->receive ? call->roffsets : call->soffsets;
    struct gr_block_desc b = {
        .at = s->receive ? call->rbuf : (unsigned char *) call->sbuf,
        .count = of_receive ? call->rcount : call->scount,
        .type = of_receive ? call->rtype : call->stype,
    };

    switch (s->parts) {
    case GR_PARTS_SUM:
        b.count = sum_counts(call);
        break;
    case GR_PARTS_OWN: /* in place: what comes in lies there too */
        b.count = MPI_IN_PLACE == call->sbuf ? sum_counts(call) : own_count(call);
        break;
    case GR_PARTS_EACH:
        b.at += mca_coll_gpuring_type_extent(b.type) * (ptrdiff_t) b.count * k;
        break;
    case GR_PARTS_V:
        b.count = GR_COUNT_AT(counts, k);
        b.at += mca_coll_gpuring_type_extent(b.type) * GR_DISP_AT(displs, k);
        break;
    case GR_PARTS_W:
        b.type = (s->receive ? call->rtypes : call->stypes)[k];
        b.count = GR_COUNT_AT(counts, k);
        b.at += GR_ARRAY_IS(offsets) ? GR_OFFSET_AT(offsets, k) : GR_DISP_AT(displs, k);
        break;
    default:
        break;
    }
    return b;
}

void mca_coll_gpuring_call_set_blocks(struct gr_call *call, bool receive,
                                      struct ompi_datatype_t *const *types,
                                      const gr_count_t *counts, const gr_count_t *displs,
                                      const MPI_Aint *offsets)
{
    if (receive) {
        call->rtypes = types;
        call->rcounts = GR_ARRAY_OF(counts);
        call->displs = GR_ARRAY_OF(displs);
        call->roffsets = GR_ARRAY_OF(offsets);
    } else {
        call->stypes = types;
        call->scounts = GR_ARRAY_OF(counts);
        call->sdispls = GR_ARRAY_OF(displs);
        call->soffsets = GR_ARRAY_OF(offsets);
    }
}

bool mca_coll_gpuring_block_span(const struct gr_block_desc *b, ptrdiff_t *low, ptrdiff_t *high)
{
    ptrdiff_t last;

    if (0 == b->count || 0 == b->type->super.size) {
        return false;
    }
    last = (ptrdiff_t) (b->count - 1) * mca_coll_gpuring_type_extent(b->type);
    *low = (last < 0 ? last : 0) + b->type->super.true_lb;
    *high = (last < 0 ? 0 : last) + b->type->super.true_ub;
    return true;
}

/*
 * Whether a communicator's grid has ends: a rank there has neighbours that do not exist, whose
 * blocks stay as they are.
 */
static bool has_ends(const struct ompi_communicator_t *comm)
{
    const mca_topo_base_comm_cart_t *cart = mca_coll_gpuring_grid(comm);
    int k;

    for (k = 0; NULL != cart && k < cart->ndims && cart->periods[k]; k++) {
    }
    return NULL != cart && k < cart->ndims;
}

/* Of a gather in place, only this rank's block is there before. */
static bool gathers(const struct gr_call *call)
{
    return GR_CALL_ALLGATHER == call->id || GR_CALL_ALLGATHERV == call->id ||
           GR_CALL_GATHER == call->id || GR_CALL_GATHERV == call->id;
}

bool mca_coll_gpuring_reads_block(const struct gr_call *call, int k)
{
    if (GR_CALL_BCAST == call->id) {
        return is_root(call);
    }
    if (MPI_IN_PLACE == call->sbuf) {
        return !gathers(call) || ompi_comm_rank(call->comm) == k;
    }
    return GR_CALL_REDUCE_LOCAL == call->id ||
           (gr_calls[call->id].neighbors && has_ends(call->comm));
}

bool mca_coll_gpuring_writes_block(const struct gr_call *call, int k, struct gr_block_desc *b)
{
    if (GR_PARTS_OWN == gr_calls[call->id].receive.parts) {
        b->count = own_count(call);
    }
    if (GR_CALL_BCAST == call->id || gathers(call)) {
        return !mca_coll_gpuring_reads_block(call, k);
    }
    return GR_CALL_EXSCAN != call->id || 0 != ompi_comm_rank(call->comm);
}

static int find_neighbors(struct ompi_communicator_t *comm, bool receive, struct gr_peers *o)
{
    mca_topo_base_module_t *topo = comm->c_topo;
    int in = 0, out = 0, k, rc = mca_topo_base_neighbor_count(comm, &in, &out);

    o->n = receive ? in : out;
    o->ranks = OMPI_SUCCESS == rc ? gr_calloc((size_t) o->n + 1, sizeof(int)) : NULL;
    if (NULL == o->ranks) {
        return OMPI_SUCCESS == rc ? OMPI_ERR_OUT_OF_RESOURCE : rc;
    }
    if (NULL != mca_coll_gpuring_grid(comm)) {
        for (k = 0; k < topo->mtc.cart->ndims && OMPI_SUCCESS == rc; k++) {
            rc = topo->topo.cart.cart_shift(comm, k, 1, &o->ranks[2 * k], &o->ranks[2 * k + 1]);
        }
    } else if (OMPI_COMM_IS_GRAPH(comm)) {
        rc = topo->topo.graph.graph_neighbors(comm, ompi_comm_rank(comm), o->n, o->ranks);
    } else {
        memcpy(o->ranks, receive ? topo->mtc.dist_graph->in : topo->mtc.dist_graph->out,
               (size_t) o->n * sizeof(int));
    }
    return rc;
}

int mca_coll_gpuring_peers(const struct gr_buffer_desc *s, struct gr_peers *o)
{
    struct ompi_communicator_t *comm = s->call->comm;
    int k;

    *o = (struct gr_peers) {.n = 0};
    if (gr_calls[s->call->id].neighbors) {
        return find_neighbors(comm, s->receive, o);
    }
    /* one block: of the root, or for it */
    o->n = s->parts < GR_PARTS_EACH ? s->n : ompi_comm_size(comm);
    o->n = GR_PARTS_NONE == s->parts ? 0 : o->n;
    o->ranks = gr_calloc((size_t) o->n + 1, sizeof(int));
    if (NULL == o->ranks) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (k = 0; k < o->n; k++) {
        o->ranks[k] = s->parts < GR_PARTS_EACH ? s->call->root : k;
    }
    return OMPI_SUCCESS;
}

/* ---- what is kept of a call: copies of its arrays, and its handles ---- */

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

static void retain(struct gr_kept_args *kept, opal_object_t *object)
{
    OBJ_RETAIN(object);
    kept->handles[kept->n++] = object;
}

static void retain_types(struct gr_kept_args *kept, const struct gr_buffer_desc *desc)
{
    int k;

    /* but for the ...w calls, all blocks have one type */
    for (k = 0; k < (GR_PARTS_W == desc->parts || 0 == desc->n ? desc->n : 1); k++) {
        retain(kept, &mca_coll_gpuring_block_desc(desc, k).type->super.super);
    }
}

int mca_coll_gpuring_args_keep(struct gr_kept_args *kept, struct gr_call *call, bool again)
{
    struct gr_buffer_desc send = mca_coll_gpuring_buffer_desc(call, false),
                          receive = mca_coll_gpuring_buffer_desc(call, true);
    struct gr_call as_it_was = *call;
    struct array_copier copier = {NULL, 0};

    copy_arrays(&as_it_was, &copier);
    kept->arrays = copier.at = gr_malloc(0 == copier.used ? 1 : copier.used);
    if (NULL == kept->arrays) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    copier.used = 0;
    copy_arrays(call, &copier);
    if (!again) {
        return OMPI_SUCCESS;
    }
    kept->handles = gr_calloc((size_t) (send.n + receive.n) + 1, sizeof(kept->handles[0]));
    if (NULL == kept->handles) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    retain_types(kept, &send);
    retain_types(kept, &receive);
    if (NULL != call->reduction) {
        retain(kept, &call->reduction->super);
    }
    return OMPI_SUCCESS;
}

void mca_coll_gpuring_args_release(struct gr_kept_args *kept)
{
    int k;

    for (k = 0; k < kept->n; k++) {
        OBJ_RELEASE(kept->handles[k]);
    }
    free(kept->handles);
    free(kept->arrays);
    *kept = (struct gr_kept_args) {.n = 0};
}
