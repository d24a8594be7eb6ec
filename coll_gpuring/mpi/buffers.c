/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a call's buffers hold. Sizes come from the signature alone, which MPI makes equal on all
 * ranks; layout (gaps, displacements, in place) is a local matter, solved by packing into scratch.
 *
 *      reductions   elements of the predefined type, by extent; these types have lower bound 0.
 *                   Copied where they end with a gap
 *      others       bytes of the signature, packed where the type has gaps
 *      alltoall     also where it is in place: the input is a copy
 *      barrier      a token of one byte, which the op has
 */
#include "mpi/op.h"

#include "exec/default_streams.h"
#include "engine/op_queue.h"
#include "exec/executor.h"
#include "mpi/buffer_desc.h"
#include "mpi/call.h"
#include "mpi/datatype.h"
#include "mpi/runtime.h"
#include "mpi/staging/pinned_pool.h"
#include "mpi/staging/stage.h"

#include "base/memory.h"
#include "exec/gpu/team.h"
#include "exec/mailbox.h"
#include "exec/plan.h"
#include "exec/reduce.h"

#include <stdlib.h>

/* ompi_op_reduce() with the core's signature. */
static void reduce_by_ompi(void *ctx, const void *in, void *inout, size_t n)
{
    const struct gr_call *call = ctx;

    /* n is at most what fits a slot */
    ompi_op_reduce(call->reduction, (void *) in, inout, (gr_count_t) n, call->rtype);
}

/* Room for the per-rank sizes of a v-call; kept with the op. */
static bool need_counts(struct gr_mpi_op *op, int p)
{
    if (p > op->kept.ncounts) {
        free(op->kept.counts);
        op->kept.counts = gr_calloc(2 * (size_t) p, sizeof(size_t));
        op->kept.ncounts = NULL == op->kept.counts ? 0 : p;
    }
    op->kept.displs = NULL == op->kept.counts ? NULL : op->kept.counts + p;
    return NULL != op->kept.counts;
}

/* Per-rank sizes, in elements; displs of what is packed without gaps. Returns the sum. */
static size_t fill_counts(struct gr_mpi_op *op, size_t unit, size_t *largest)
{
    int p = ompi_comm_size(op->call.comm), r;
    size_t sum = 0;

    *largest = 0;
    for (r = 0; r < p; r++) {
        op->kept.counts[r] = GR_COUNT_AT(op->call.rcounts, r) * unit;
        op->kept.displs[r] = sum;
        sum += op->kept.counts[r];
        *largest = op->kept.counts[r] > *largest ? op->kept.counts[r] : *largest;
    }
    return sum;
}

int mca_coll_gpuring_buffers_size(struct gr_mpi_op *op)
{
    const struct gr_call *call = &op->call;
    const struct gr_call_row *row = &gr_calls[call->id];
    struct gr_data *data = &op->base.data;
    struct gr_plan_spec *r = &data->spec;
    size_t p = (size_t) ompi_comm_size(call->comm);
    size_t unit, total, largest; /* unit: elements per element of the MPI type */

    memset(data, 0, sizeof(*data));
    r->coll = row->coll;
    r->root = call->root;
    if (!gr_call_has_buffers(call->id)) {
        r->elem_bytes = r->total = data->bytes = data->post_bytes = sizeof(op->token);
        return OMPI_SUCCESS;
    }
    r->elem_bytes = row->reduces ? (size_t) mca_coll_gpuring_type_extent(call->rtype) : 1;
    unit = row->reduces ? 1 : mca_coll_gpuring_type_size(call->rtype);
    if (GR_ARRAY_IS(call->rcounts)) {
        if (!need_counts(op, (int) p)) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        total = fill_counts(op, unit, &largest);
        r->counts = op->kept.counts;
        r->displs = op->kept.displs;
    } else if (GR_COLL_ALLGATHER == row->coll || GR_COLL_REDUCE_SCATTER == row->coll ||
               GR_COLL_ALLTOALL == row->coll) {
        r->block = largest = call->rcount * unit;
        total = p * r->block;
    } else {
        r->total = total = largest = call->rcount * unit;
    }
    data->bytes = total * r->elem_bytes;
    data->post_bytes = gr_mailbox_bytes(row->coll, (int) p, data->bytes, largest * r->elem_bytes);
    return OMPI_SUCCESS;
}

/* Scratch for packed data. */
static unsigned char *scratch_get(struct gr_mpi_op *op, size_t bytes)
{
    return mca_coll_gpuring_scratch_get(&op->kept.packed, bytes, op->base.exec->on_device);
}

static bool in_place(const struct gr_call *call)
{
    return MPI_IN_PLACE == call->sbuf;
}

/* Of bytes as they lie, between scratch and the call's buffers. */
static int copy(const struct gr_mpi_op *op, void *to, const void *from, size_t bytes)
{
    if (op->base.exec->on_device) {
        return mca_coll_gpuring_to_ompi(gr_copy_after(&op->stage.after, to, from, bytes));
    }
    memcpy(to, from, bytes);
    return OMPI_SUCCESS;
}

/* Bytes that a reduction leaves on this rank. */
static size_t reduced_bytes(const struct gr_mpi_op *op)
{
    const struct gr_plan_spec *spec = &op->base.data.spec;
    const int rank = ompi_comm_rank(op->call.comm);

    switch (spec->coll) {
    case GR_COLL_REDUCE_SCATTER:
        return gr_plan_block(spec, rank) * spec->elem_bytes;
    case GR_COLL_REDUCE:
        return rank == op->call.root ? op->base.data.bytes : 0;
    default:
        return op->base.data.bytes;
    }
}

/*
 * The output is copied out of scratch, and so is the input into it where elements end with a tail:
 * steps move whole elements, and the buffers may end before the last one's tail. apart: the output
 * does not replace the input.
 */
static int copy_elements(struct gr_mpi_op *op, size_t tail, bool apart)
{
    struct gr_data *data = &op->base.data;
    const size_t in = tail > 0 ? data->bytes : 0, out = reduced_bytes(op);
    unsigned char *scratch = scratch_get(op, in + (apart ? out : 0) + 1);
    int rc = OMPI_SUCCESS;

    if (NULL == scratch) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (in > 0) {
        rc = copy(op, scratch, data->in, in - tail);
        data->in = scratch;
    }
    if (out > 0 || 0 == tail) {
        data->out = apart ? scratch + in : scratch;
        op->out_bytes = out > 0 ? out - tail : 0;
        op->finish = GR_FINISH_COPY;
    }
    return rc;
}

static int begin_reduction(struct gr_mpi_op *op)
{
    const struct gr_call *call = &op->call;
    struct gr_data *data = &op->base.data;
    size_t tail;
    bool apart;

    data->in = in_place(call) ? call->rbuf : (unsigned char *) call->sbuf;
    data->out = call->rbuf;
    data->reducer.fused =
        gr_reduce_find(mca_coll_gpuring_type(call->rtype), mca_coll_gpuring_redop(call->reduction));
    data->reducer.other = reduce_by_ompi;
    data->reducer.ctx = (void *) call;
    tail = mca_coll_gpuring_type_tail(call->rtype);
    /* in place, the output of a reduce_scatter lies over input that is still to be sent */
    apart = in_place(call) && GR_COLL_REDUCE_SCATTER == data->spec.coll;
    return apart || tail > 0 ? copy_elements(op, tail, !in_place(call) || apart) : OMPI_SUCCESS;
}

static int begin_bcast(struct gr_mpi_op *op)
{
    const struct gr_call *call = &op->call;
    struct gr_data *data = &op->base.data;

    if (mca_coll_gpuring_is_contiguous(call->rtype, call->rcount)) {
        data->in = data->out = mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype);
        return OMPI_SUCCESS;
    }
    data->in = data->out = scratch_get(op, data->bytes);
    if (NULL == data->in) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (ompi_comm_rank(call->comm) == call->root) {
        return mca_coll_gpuring_convert(call->rbuf, call->rtype, call->rcount, data->in, true);
    }
    op->finish = GR_FINISH_UNPACK;
    return OMPI_SUCCESS;
}

/* Rank r's block in the receive buffer of an allgather(v): its count and first byte. */
static size_t gathered_block(const struct gr_call *call, int r, unsigned char **start)
{
    ptrdiff_t extent = mca_coll_gpuring_type_extent(call->rtype);
    size_t count = GR_ARRAY_IS(call->rcounts) ? GR_COUNT_AT(call->rcounts, r) : call->rcount;
    ptrdiff_t at = GR_ARRAY_IS(call->rcounts) ? GR_DISP_AT(call->displs, r)
                                              : (ptrdiff_t) r * (ptrdiff_t) call->rcount;

    *start = (unsigned char *) call->rbuf + at * extent;
    return count;
}

/*
 * Use the receive buffer as it is where its type is solid: blocks at their own displacements, which
 * are relative to the lowest one since the core's are unsigned. Allgatherv's displacements may
 * differ from rank to rank; only counts must agree.
 */
static void gather_in_buffer(struct gr_mpi_op *op)
{
    const struct gr_call *call = &op->call;
    struct gr_data *data = &op->base.data;
    int p = ompi_comm_size(call->comm), r;
    ptrdiff_t extent = mca_coll_gpuring_type_extent(call->rtype), lowest = 0;

    data->out = mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype);
    if (!GR_ARRAY_IS(call->rcounts)) {
        return;
    }
    for (r = 0; r < p; r++) {
        ptrdiff_t at = GR_DISP_AT(call->displs, r) * extent;

        lowest = at < lowest ? at : lowest;
    }
    for (r = 0; r < p; r++) {
        op->kept.displs[r] = (size_t) (GR_DISP_AT(call->displs, r) * extent - lowest);
    }
    data->out += lowest;
}

static int begin_allgather(struct gr_mpi_op *op)
{
    const struct gr_call *call = &op->call;
    struct gr_data *data = &op->base.data;
    int rank = ompi_comm_rank(call->comm);
    size_t mine = gr_plan_block(&data->spec, rank), count;
    bool solid = mca_coll_gpuring_is_gapless(call->rtype);
    bool pack_input = !in_place(call) && !mca_coll_gpuring_is_contiguous(call->stype, call->scount);
    unsigned char *scratch = NULL, *start;

    if (!solid || pack_input) {
        scratch = scratch_get(op, (solid ? 0 : data->bytes) + (pack_input ? mine : 0) + 1);
        if (NULL == scratch) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    if (solid) {
        gather_in_buffer(op);
    } else {
        data->out = scratch;
        scratch += data->bytes;
        op->finish = GR_FINISH_UNPACK;
    }
    if (!in_place(call)) {
        data->in =
            pack_input ? scratch : mca_coll_gpuring_contiguous_start(call->sbuf, call->stype);
        return pack_input ? mca_coll_gpuring_convert((void *) call->sbuf, call->stype, call->scount,
                                                     scratch, true)
                          : OMPI_SUCCESS;
    }
    data->in = data->out + gr_plan_block_begin(&data->spec, rank);
    count = gathered_block(call, rank, &start);
    return solid ? OMPI_SUCCESS
                 : mca_coll_gpuring_convert(start, call->rtype, count, data->in, true);
}

/*
 * The blocks of input and of output lie together, in the order of the ranks. In place, the input is
 * a copy.
 */
static int begin_alltoall(struct gr_mpi_op *op)
{
    const struct gr_call *call = &op->call;
    struct gr_data *data = &op->base.data;
    size_t p = (size_t) ompi_comm_size(call->comm);
    bool solid = mca_coll_gpuring_is_gapless(call->rtype);
    /* in place, MPI ignores the send type */
    bool copies = in_place(call) || !mca_coll_gpuring_is_gapless(call->stype);
    unsigned char *scratch = NULL;

    if (copies || !solid) {
        scratch = scratch_get(op, (copies ? data->bytes : 0) + (solid ? 0 : data->bytes));
        if (NULL == scratch) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    data->in = copies ? scratch : mca_coll_gpuring_contiguous_start(call->sbuf, call->stype);
    data->out = solid ? mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype)
                      : scratch + (copies ? data->bytes : 0);
    op->finish = solid ? GR_FINISH_NONE : GR_FINISH_UNPACK;
    if (in_place(call)) {
        return solid ? copy(op, data->in, data->out, data->bytes)
                     : mca_coll_gpuring_convert(call->rbuf, call->rtype, p * call->rcount, data->in,
                                                true);
    }
    return copies ? mca_coll_gpuring_convert((void *) call->sbuf, call->stype, p * call->scount,
                                             data->in, true)
                  : OMPI_SUCCESS;
}

/* The token is the set of ranks that have entered (sched/dissemination.c), as a single bit. */
static int begin_barrier(struct gr_mpi_op *op)
{
    struct gr_data *data = &op->base.data;

    op->token = 1;
    data->in = data->out = &op->token;
    data->reducer.fused = gr_reduce_find(GR_TYPE_U8, GR_OP_BOR);
    return OMPI_SUCCESS;
}

/* Scratch for GR_TMP of the algorithm's schedule. */
static int find_tmp(struct gr_mpi_op *op)
{
    struct gr_plan_spec *r = &op->base.data.spec;
    size_t bytes = 0;

    op->base.data.tmp = NULL;
    if (op->base.choice.algo < GR_NALGOS) {
        r->algo = (enum gr_algo) op->base.choice.algo;
        bytes = gr_plan_scratch(r, ompi_comm_size(op->call.comm));
    }
    if (bytes > 0) {
        op->base.data.tmp =
            mca_coll_gpuring_scratch_get(&op->kept.tmp, bytes, op->base.exec->on_device);
    }
    return bytes > 0 && NULL == op->base.data.tmp ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}

/* Set the buffers: pack data with gaps, find scratch. OMPI error code. */
static int begin(struct gr_mpi_op *op)
{
    int rc = find_tmp(op);

    op->base.data.reducer.elem_bytes = op->base.data.spec.elem_bytes;
    op->finish = GR_FINISH_NONE;
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (gr_calls[op->call.id].reduces) {
        return begin_reduction(op);
    }
    switch (op->call.id) {
    case GR_CALL_BCAST:
        return begin_bcast(op);
    case GR_CALL_ALLTOALL:
        return begin_alltoall(op);
    case GR_CALL_BARRIER:
        return begin_barrier(op);
    default:
        return begin_allgather(op);
    }
}

/* Where on the device the data are that a staged buffer holds. */
static unsigned char *on_device(const unsigned char *data, const void *staged, const void *original)
{
    return (unsigned char *) original + (data - (const unsigned char *) staged);
}

static struct gr_staged_data find_staged(const struct gr_mpi_op *op)
{
    const struct gr_call *call = &op->call, *original = &op->stage.original;
    const struct gr_data *data = &op->base.data;
    bool out = op->stage.sides[1].replaced;
    int rank = ompi_comm_rank(call->comm);
    struct gr_staged_data staged = {.in = NULL};

    if (out && mca_coll_gpuring_reads_block(call, rank)) {
        staged.in = on_device(data->in, call->rbuf, original->rbuf);
    } else if (op->stage.sides[0].replaced) {
        staged.in = on_device(data->in, call->sbuf, original->sbuf);
    }
    if (out && GR_FINISH_NONE == op->finish && (GR_CALL_BCAST != call->id || rank != call->root)) {
        staged.out = on_device(data->out, call->rbuf, original->rbuf);
    }
    return staged;
}

int mca_coll_gpuring_buffers_prepare(struct gr_mpi_op *op)
{
    const struct gr_op *base = &op->base;
    bool staged = &gr_run_staged == base->exec; /* which copies data while it runs */
    int rc = OMPI_SUCCESS;

    if (staged) {
        rc = mca_coll_gpuring_stage_place(&op->stage, &op->call, NULL);
    } else if (op->stages) {
        rc = mca_coll_gpuring_stage_in(&op->stage, &op->call,
                                       base->exec->on_device ? base->queue->gpu->gpu : NULL);
    }
    rc = OMPI_SUCCESS == rc ? begin(op) : rc;
    op->base.data.staged = staged ? find_staged(op) : (struct gr_staged_data) {.in = NULL};
    return rc;
}

/* Unpack the output; of an allgather(v), every rank's block. */
static int unpack(const struct gr_call *call, const struct gr_data *data)
{
    int p = ompi_comm_size(call->comm), r, rc = OMPI_SUCCESS;
    unsigned char *start;

    if (GR_COLL_ALLGATHER != data->spec.coll) {
        return mca_coll_gpuring_convert(
            call->rbuf, call->rtype, (GR_CALL_ALLTOALL == call->id ? (size_t) p : 1) * call->rcount,
            data->out, false);
    }
    for (r = 0; r < p && OMPI_SUCCESS == rc; r++) {
        size_t count = gathered_block(call, r, &start);

        if (!(in_place(call) && r == ompi_comm_rank(call->comm))) {
            rc = mca_coll_gpuring_convert(start, call->rtype, count,
                                          data->out + gr_plan_block_begin(&data->spec, r), false);
        }
    }
    return rc;
}

int mca_coll_gpuring_buffers_end(struct gr_mpi_op *op)
{
    struct gr_scratch *packed = &op->kept.packed, *tmp = &op->kept.tmp;
    const struct gr_call *call = &op->call;
    const struct gr_data *data = &op->base.data;
    int rc = OMPI_SUCCESS;

    if (GR_FINISH_COPY == op->finish) {
        rc = copy(op, call->rbuf, data->out, op->out_bytes);
    } else if (GR_FINISH_UNPACK == op->finish) {
        rc = unpack(call, data);
    }
    if (0 != packed->bytes + packed->room.bytes + tmp->bytes + tmp->room.bytes) {
        mca_coll_gpuring_scratch_shrink(packed, op->base.nonblocking);
        mca_coll_gpuring_scratch_shrink(tmp, op->base.nonblocking);
    }
    return rc;
}
