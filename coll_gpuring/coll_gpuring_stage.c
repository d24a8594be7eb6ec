/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging: host memory in the place of a call's buffers. The copy has the layout of the original, so whoever does the
 * call sees the same call with other addresses.
 *
 *      sbuf [ device ]  --copy all-->   send [ pinned ]           the call, with these
 *      rbuf [ device ]  --in place-->   receive [ pinned ]
 *                       <--only what the call wrote, block by block and run by run: gaps are the application's
 */
#include "coll_gpuring_op.h"

#include "opal/datatype/opal_convertor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Runs of a type with gaps that are copied at a time. */
#define RUNS 512

/* Kept between calls. */
#define ROOM_KEPT ((size_t) 4 << 20)

/* A run of elements of one type: a buffer, or a block of one. */
struct block {
    unsigned char *at;  /* what the MPI call would be given for it */
    size_t count;
    struct ompi_datatype_t *type;
};

/* What a side of a call consists of: n blocks. */
struct side {
    const struct gr_call *call;
    bool receive;
    int first, n;
};

static bool gathers(const struct gr_call *call)
{
    return GR_CALL_ALLGATHER == call->id || GR_CALL_ALLGATHERV == call->id;
}

static bool scatters(const struct gr_call *call)
{
    return GR_CALL_REDUCE_SCATTER == call->id || GR_CALL_REDUCE_SCATTER_BLOCK == call->id;
}

static struct side send_side(const struct gr_call *call)
{
    struct side s = {.call = call, .receive = false, .n = 1};

    if (GR_CALL_BCAST == call->id || MPI_IN_PLACE == call->sbuf) {
        s.n = 0;
    }
    return s;
}

static struct side receive_side(const struct gr_call *call)
{
    struct side s = {.call = call, .receive = true, .n = 1};

    if (gathers(call)) {
        s.n = ompi_comm_size(call->comm);
    } else if (GR_CALL_REDUCE == call->id && ompi_comm_rank(call->comm) != call->root) {
        s.n = 0;
    }
    return s;
}

/* Elements that a reduce_scatter takes in. */
static size_t sum_counts(const struct gr_call *call)
{
    int p = ompi_comm_size(call->comm), r;
    size_t n = 0;

    for (r = 0; r < p; r++) {
        n += NULL != call->rcounts ? GR_COUNT_AT(call->rcounts, r) : call->rcount;
    }
    return n;
}

/* Block k of a side, of the buffer `base`. */
static struct block block_of(const struct side *s, int k, const void *base)
{
    const struct gr_call *call = s->call;
    struct block b = {(unsigned char *) base, call->rcount, call->rtype};
    ptrdiff_t extent;

    if (!s->receive) {
        if (gathers(call)) {
            b.count = call->scount;
            b.type = call->stype;
        } else if (scatters(call)) {
            b.count = sum_counts(call);
        }
        return b;
    }
    if (scatters(call)) {
        /* in place: what comes in lies there too */
        b.count = MPI_IN_PLACE == call->sbuf ? sum_counts(call)
                  : NULL != call->rcounts ? GR_COUNT_AT(call->rcounts, ompi_comm_rank(call->comm)) : call->rcount;
    } else if (gathers(call)) {
        ompi_datatype_type_extent(call->rtype, &extent);
        b.count = NULL != call->rcounts ? GR_COUNT_AT(call->rcounts, k) : call->rcount;
        b.at += extent * (NULL != call->rcounts ? GR_DISP_AT(call->displs, k) : k * (ptrdiff_t) call->rcount);
    }
    return b;
}

/* The bytes that a block covers, gaps too: [*low, *high) as offsets from base. */
static void block_span(const struct block *b, const void *base, ptrdiff_t *low, ptrdiff_t *high)
{
    ptrdiff_t extent, first = b->at - (const unsigned char *) base, last;

    ompi_datatype_type_extent(b->type, &extent);
    last = first + (ptrdiff_t) (b->count - 1) * extent;
    *low = (first < last ? first : last) + b->type->super.true_lb;
    *high = (first < last ? last : first) + b->type->super.true_ub;
}

/* The same for a side; false: there is nothing. */
static bool side_span(const struct side *s, const void *base, ptrdiff_t *low, ptrdiff_t *high)
{
    bool any = false;
    int k;

    for (k = 0; k < s->n; k++) {
        struct block b = block_of(s, k, base);
        ptrdiff_t l, h;

        if (b.count > 0 && b.type->super.size > 0) {
            block_span(&b, base, &l, &h);
            *low = !any || l < *low ? l : *low;
            *high = !any || h > *high ? h : *high;
            any = true;
        }
    }
    return any;
}

/* The first byte of data, which says what kind of memory a buffer is. */
static const void *first_byte(const struct side *s, const void *base)
{
    ptrdiff_t low, high;

    return side_span(s, base, &low, &high) ? (const unsigned char *) base + low : NULL;
}

/* Managed memory too: the host could read it, page by page, but what we hand calls on to may not (coll/accelerator). */
static bool is_devices(struct gr_pointer pointer)
{
    return GR_MEMORY_DEVICE == pointer.memory || GR_MEMORY_MANAGED == pointer.memory;
}

int mca_coll_gpuring_look(const struct gr_call *call, bool *device)
{
    struct side sides[2] = {send_side(call), receive_side(call)};
    const void *bases[2] = {call->sbuf, call->rbuf};
    int k, rc = OMPI_SUCCESS;

    *device = false;
    for (k = 0; k < 2 && OMPI_SUCCESS == rc; k++) {
        struct gr_pointer pointer = mca_coll_gpuring_pointer(first_byte(&sides[k], bases[k]));

        *device = *device || is_devices(pointer);
        rc = mca_coll_gpuring_settle(pointer);
    }
    return rc;
}

/* Whether whoever does the call cannot use the side's memory as it is. */
static bool needs_stage(const struct side *s, const void *base, struct gr_gpu *gpu)
{
    const void *first = first_byte(s, base);

    if (NULL == first) {
        return false;
    }
    if (NULL == gpu) {
        return is_devices(mca_coll_gpuring_pointer(first));
    }
    /* what has gaps is packed by the host */
    return !mca_coll_gpuring_reaches(gpu, first) || !mca_coll_gpuring_is_solid(block_of(s, 0, base).type, 2);
}

/* Room for a side; returns what takes the place of base, or NULL. */
static unsigned char *place(struct gr_room *room, ptrdiff_t low, ptrdiff_t high)
{
    unsigned char *at = mca_coll_gpuring_room_get(room, (size_t) (high - low));

    return NULL == at ? NULL : at - low;
}

/* Copy each block of a side, gaps too. */
static int copy_blocks(const struct side *s, const void *base, unsigned char *copy)
{
    int k, rc = OMPI_SUCCESS;

    for (k = 0; k < s->n && OMPI_SUCCESS == rc; k++) {
        struct block b = block_of(s, k, base);
        ptrdiff_t low, high;

        if (b.count > 0 && b.type->super.size > 0) {
            block_span(&b, base, &low, &high);
            rc = mca_coll_gpuring_copy(copy + low, (const unsigned char *) base + low, (size_t) (high - low));
        }
    }
    return rc;
}

/* Whether the receive side holds something that the call reads. */
static bool reads_receive(const struct gr_call *call)
{
    return GR_CALL_BCAST == call->id ? ompi_comm_rank(call->comm) == call->root : MPI_IN_PLACE == call->sbuf;
}

int mca_coll_gpuring_stage_in(struct gr_stage *stage, struct gr_call *call, struct gr_gpu *gpu)
{
    struct side send = send_side(call), receive = receive_side(call);
    ptrdiff_t low = 0, high = 0;
    unsigned char *copy;
    int rc = OMPI_SUCCESS;

    stage->original = *call;
    stage->in = needs_stage(&send, call->sbuf, gpu);
    stage->out = needs_stage(&receive, call->rbuf, gpu);
    if (stage->in) {
        side_span(&send, call->sbuf, &low, &high);
        copy = place(&stage->send, low, high);
        rc = NULL == copy ? OMPI_ERR_OUT_OF_RESOURCE
                          : mca_coll_gpuring_copy(copy + low, (const unsigned char *) call->sbuf + low,
                                                  (size_t) (high - low));
        call->sbuf = copy;
    }
    if (stage->out && OMPI_SUCCESS == rc) {
        side_span(&receive, stage->original.rbuf, &low, &high);
        copy = place(&stage->receive, low, high);
        rc = NULL == copy ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
        if (OMPI_SUCCESS == rc && reads_receive(&stage->original)) {
            rc = copy_blocks(&receive, stage->original.rbuf, copy);
        }
        call->rbuf = copy;
    }
    if (OMPI_SUCCESS != rc) {
        (void) mca_coll_gpuring_stage_out(stage, call, false);
    }
    return rc;
}

/* Copy the data of a block, without its gaps. */
static int copy_runs(const struct block *to, const struct block *from)
{
    opal_convertor_t convertor;
    struct iovec found[RUNS];
    struct gr_gpu_run runs[RUNS];
    uint32_t n, k;
    size_t bytes;
    int done = 0, rc;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    rc = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &to->type->super, to->count, to->at, 0,
                                                  &convertor);
    while (OPAL_SUCCESS == rc && !done) {
        n = RUNS;
        bytes = 0;
        done = opal_convertor_raw(&convertor, found, &n, &bytes);
        for (k = 0; k < n; k++) {
            runs[k].dst = found[k].iov_base;
            runs[k].src = from->at + ((unsigned char *) found[k].iov_base - to->at);
            runs[k].bytes = found[k].iov_len;
        }
        rc = done < 0 ? OMPI_ERROR : mca_coll_gpuring_copy_runs(runs, n);
    }
    OBJ_DESTRUCT(&convertor);
    return rc;
}

/* Copy back what the call wrote. */
static int copy_results(const struct side *s, void *base, const unsigned char *copy)
{
    int k, rc = OMPI_SUCCESS;

    for (k = 0; k < s->n && OMPI_SUCCESS == rc; k++) {
        struct block to = block_of(s, k, base), from = block_of(s, k, copy);

        if (scatters(s->call)) {
            to.count = NULL != s->call->rcounts ? GR_COUNT_AT(s->call->rcounts, ompi_comm_rank(s->call->comm))
                                                : s->call->rcount;
        }
        if (to.count > 0 && to.type->super.size > 0) {
            ptrdiff_t low, high;

            block_span(&to, to.at, &low, &high);
            rc = mca_coll_gpuring_is_solid(to.type, to.count)
                     ? mca_coll_gpuring_copy(to.at + low, from.at + low, (size_t) (high - low))
                     : copy_runs(&to, &from);
        }
    }
    return rc;
}

int mca_coll_gpuring_stage_out(struct gr_stage *stage, struct gr_call *call, bool ok)
{
    struct side receive = receive_side(&stage->original);
    int rc = OMPI_SUCCESS;

    if (!stage->in && !stage->out) {
        return OMPI_SUCCESS;
    }
    if (stage->out && ok && !(GR_CALL_BCAST == call->id && reads_receive(&stage->original))) {
        rc = copy_results(&receive, stage->original.rbuf, call->rbuf);
    }
    *call = stage->original;
    stage->in = stage->out = false;
    if (!stage->kept) {
        mca_coll_gpuring_room_shrink(&stage->send, ROOM_KEPT);
        mca_coll_gpuring_room_shrink(&stage->receive, ROOM_KEPT);
    }
    return rc;
}

void mca_coll_gpuring_stage_free(struct gr_stage *stage)
{
    mca_coll_gpuring_room_shrink(&stage->send, 0);
    mca_coll_gpuring_room_shrink(&stage->receive, 0);
}

void mca_coll_gpuring_stage_delete(struct gr_stage *stage)
{
    if (NULL != stage) {
        mca_coll_gpuring_stage_free(stage);
        free(stage);
    }
}
