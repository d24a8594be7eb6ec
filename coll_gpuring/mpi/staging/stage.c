/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging: host memory in the place of a call's buffers. The copy has the layout of the original,
 * so the saved collective gets the same call with other addresses.
 *
 *      sbuf [ device ]  --copy all-->   send [ pinned ]           the call, with these
 *      rbuf [ device ]  --in place-->   receive [ pinned ]
 *                       <--only what the call wrote, run by run: gaps are the application's
 *
 * One copy each way where what is copied is one run of bytes, or rows of one length at one distance
 * (a vector type).
 */
#include "mpi/staging/stage.h"

#include "comm/devices.h"
#include "mpi/buffer_desc.h"
#include "mpi/call.h"
#include "mpi/datatype.h"
#include "mpi/runtime.h"
#include "mpi/staging/pinned_pool.h"

#include "cuda/stream.h"
#include "cuda/pointer.h"
#include "link/lease.h"

#include "opal/datatype/opal_convertor.h"

#include <stdlib.h>
#include <sys/uio.h>

/* Runs of bytes that are copied at a time. */
#define RUNS 512

/* Kept between calls. */
#define ROOM_KEPT ((size_t) 4 << 20)

/* Where blocks span more than this beyond twice what they hold, they lie far apart. */
#define APART_BYTES ((size_t) 1 << 20)

/* ---- where buffers are ---- */

/* The next block of a side that has data, from k on; its number, or n. */
static int next_block(const struct gr_buffer_desc *s, int k, struct gr_block_desc *b,
                      ptrdiff_t *low, ptrdiff_t *high)
{
    for (; k < s->n; k++) {
        *b = mca_coll_gpuring_block_desc(s, k);
        if (mca_coll_gpuring_block_span(b, low, high)) {
            break;
        }
    }
    return k;
}

/*
 * What kind of memory the blocks lie in: the first one says it for all, but where each may be a
 * buffer of its own (MPI_BOTTOM, and displacements that are addresses). *device: some of them on a
 * device; and gr_wait_default_stream() for them. *known: the last of them.
 */
static int look_at(const struct gr_buffer_desc *s, struct gr_known_address *known, bool *device)
{
    struct gr_block_desc b;
    ptrdiff_t low, high;
    int k, rc = OMPI_SUCCESS;

    for (k = next_block(s, 0, &b, &low, &high); k < s->n && OMPI_SUCCESS == rc;
         k = GR_PARTS_W == s->parts ? next_block(s, k + 1, &b, &low, &high) : s->n) {
        struct gr_pointer pointer = gr_pointer_of(b.at + low);

        *known = (struct gr_known_address) {b.at + low, pointer};
        *device = *device || gr_is_devices(pointer);
        rc = mca_coll_gpuring_to_ompi(gr_wait_default_stream(pointer));
    }
    return rc;
}

int mca_coll_gpuring_classify_buffers(const struct gr_call *call, struct gr_stage *stage,
                                      bool *device)
{
    struct gr_known_address unused, *known;
    int receive, rc = OMPI_SUCCESS;

    *device = false;
    for (receive = 0; receive < 2 && OMPI_SUCCESS == rc; receive++) {
        struct gr_buffer_desc side = mca_coll_gpuring_buffer_desc(call, 0 != receive);

        known = NULL == stage ? &unused : &stage->sides[receive].known;
        known->at = NULL;
        rc = look_at(&side, known, device);
    }
    return rc;
}

/*
 * The bytes from the first of a side's blocks to the last, [*low, *high) as offsets from its
 * buffer; and in all.
 */
static size_t side_span(const struct gr_buffer_desc *s, ptrdiff_t *low, ptrdiff_t *high)
{
    const unsigned char *base = s->receive ? s->call->rbuf : s->call->sbuf;
    struct gr_block_desc b;
    ptrdiff_t l, h;
    size_t sum = 0;
    int k;

    *low = *high = 0;
    for (k = next_block(s, 0, &b, &l, &h); k < s->n; k = next_block(s, k + 1, &b, &l, &h)) {
        l += b.at - base;
        h += b.at - base;
        *low = 0 == sum || l < *low ? l : *low;
        *high = 0 == sum || h > *high ? h : *high;
        sum += (size_t) (h - l);
    }
    return sum;
}

/* Whether kernels on gpu can use all of a side that has data. Sets *elsewhere as needs_stage(). */
static bool kernels_reach(const struct gr_buffer_desc *s, const struct gr_known_address *known,
                          struct gr_gpu *gpu, bool *elsewhere)
{
    const unsigned char *base = s->receive ? s->call->rbuf : s->call->sbuf;
    struct gr_pointer pointer;
    ptrdiff_t low, high;

    (void) side_span(s, &low, &high);
    pointer = known->at == base + low ? known->pointer : gr_pointer_of(base + low);
    return gr_reaches(gpu, &pointer, base + low, (size_t) (high - low), elsewhere);
}

/*
 * Whether kernels on gpu, or the saved collective (gpu NULL), cannot use the memory as it is. Sets
 * *elsewhere if gpu is not NULL and the memory is another device's.
 */
static bool needs_stage(const struct gr_buffer_desc *s, const struct gr_known_address *known,
                        struct gr_gpu *gpu, bool *elsewhere)
{
    bool device = false;
    struct gr_block_desc b;
    ptrdiff_t low, high;
    int k = next_block(s, 0, &b, &low, &high);

    if (NULL != gpu) {
        /*
         * what has gaps is packed by the host; those of MPI's pairs kernels move as part of the
         * elements
         */
        return k < s->n &&
               (!kernels_reach(s, known, gpu, elsewhere) ||
                (!gr_calls[s->call->id].reduces && !mca_coll_gpuring_is_gapless(b.type)));
    }
    for (; k < s->n && !device;
         k = GR_PARTS_W == s->parts ? next_block(s, k + 1, &b, &low, &high) : s->n) {
        device = gr_is_devices(gr_pointer_of(b.at + low));
    }
    return device;
}

/* ---- room ---- */

/*
 * Put room in the place of one side of the call: for what lies in between too, unless that is out
 * of all proportion. Both sides never get one address, as by chance they might where displacements
 * count from MPI_BOTTOM: libnbc takes that for a call in place. kernels: they use the room. OMPI
 * error code.
 */
static int place(struct gr_stage *stage, struct gr_call *call, bool receive, bool kernels)
{
    struct gr_buffer_desc s = mca_coll_gpuring_buffer_desc(&stage->original, receive);
    struct gr_sparse_layout *layout = &stage->sides[receive].sparse;
    ptrdiff_t low, high;
    size_t bytes = side_span(&s, &low, &high);
    bool far = GR_PARTS_W == s.parts && (size_t) (high - low) > 2 * bytes + APART_BYTES;
    unsigned char *at;
    int rc = far && 0 == layout->n ? mca_coll_gpuring_sparse_layout_make(layout, &s) : OMPI_SUCCESS;

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    at = mca_coll_gpuring_pinned_reserve(
        &stage->sides[receive].room,
        (far ? layout->bytes : (size_t) (high - low)) + (receive ? GR_CACHE_LINE : 0), kernels);
    if (NULL == at) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (far) {
        mca_coll_gpuring_call_set_blocks(call, receive, layout->types, layout->counts,
                                         layout->zeros, layout->offsets);
    }
    if (receive) {
        call->rbuf = far ? at : at - low;
        if (call->rbuf == call->sbuf) {
            call->rbuf = (unsigned char *) call->rbuf + GR_CACHE_LINE;
        }
    } else {
        call->sbuf = far ? at : at - low;
    }
    return OMPI_SUCCESS;
}

/* ---- points in default streams ---- */

/* The device of the first block that has data; NULL: there is none. */
static struct gr_gpu *gpu_of_side(const struct gr_buffer_desc *s)
{
    struct gr_block_desc b;
    ptrdiff_t low, high;

    return gr_gpu_of(next_block(s, 0, &b, &low, &high) < s->n ? b.at + low : NULL);
}

/* Add the device's, unless it is there or NULL. False: it has none. */
static bool add_point(struct gr_points *points, struct gr_gpu *gpu)
{
    int k;

    for (k = 0; NULL != gpu && k < points->n && gpu != points->at[k].gpu; k++) {
    }
    if (NULL == gpu || k < points->n) {
        return true;
    }
    points->n++;
    return 0 == gr_gpu_point_set(&points->at[k], gpu);
}

void mca_coll_gpuring_points_set(struct gr_points *points, const struct gr_call *call,
                                 struct gr_gpu *team)
{
    struct gr_buffer_desc send = mca_coll_gpuring_buffer_desc(call, false),
                          receive = mca_coll_gpuring_buffer_desc(call, true);

    points->n = 0;
    /* each block of the ...w calls may be on a device of its own */
    if (GR_PARTS_W == send.parts || GR_PARTS_W == receive.parts || !add_point(points, team) ||
        !add_point(points, gpu_of_side(&send)) || !add_point(points, gpu_of_side(&receive))) {
        points->n = 0;
    }
}

/* ---- copies ---- */

/*
 * Copies that are collected: what goes on where the last one ended makes that longer, or is its
 * next row.
 */
struct batch {
    int rc; /* OMPI error code of what was copied */
    const struct gr_points *after;
    struct gr_gpu *gpu; /* of the block last begun, where blocks may be buffers of their own */
    size_t first, n;    /* the first run of that block; all */
    struct gr_gpu_run runs[RUNS];
};

static void batch_begin(struct batch *b, const struct gr_points *after)
{
    b->rc = OMPI_SUCCESS;
    b->after = after;
    b->gpu = NULL;
    b->first = b->n = 0;
}

static void batch_copy(struct batch *b)
{
    int rc = mca_coll_gpuring_to_ompi(gr_copy_runs_after(b->after, b->runs, b->n));

    b->rc = OMPI_SUCCESS == b->rc ? rc : b->rc;
    b->first = b->n = 0;
}

static void batch_add(struct batch *b, unsigned char *dst, const unsigned char *src, size_t bytes)
{
    const struct gr_gpu_run run = {.dst = dst, .src = src, .bytes = bytes};

    if (b->n > b->first && gr_gpu_run_join(&b->runs[b->n - 1], &run)) {
        return;
    }
    if (RUNS == b->n) {
        batch_copy(b);
    }
    b->runs[b->n++] = run;
}

/*
 * A block of a side that begins there is next. Where blocks may be buffers of their own, a batch is
 * of one device's memory, and no run goes on into another block.
 */
static void batch_next(struct batch *b, const struct gr_buffer_desc *s, const unsigned char *at)
{
    struct gr_gpu *gpu = GR_PARTS_W == s->parts ? gr_gpu_of(at) : NULL;

    if (gpu != b->gpu) {
        batch_copy(b);
        b->gpu = gpu;
    }
    b->first = GR_PARTS_W == s->parts ? b->n : b->first;
}

/* The first byte that a block with data covers. */
static unsigned char *first_of(const struct gr_block_desc *b)
{
    ptrdiff_t low = 0, high;

    (void) mca_coll_gpuring_block_span(b, &low, &high);
    return b->at + low;
}

/* Copy what the call reads of a side into the room that has taken its place, gaps too. */
static int copy_in(const struct gr_stage *stage, const struct gr_call *call, bool receive)
{
    const struct gr_call *original = &stage->original;
    struct gr_buffer_desc from = mca_coll_gpuring_buffer_desc(original, receive),
                          to = mca_coll_gpuring_buffer_desc(call, receive);
    struct batch batch;
    struct gr_block_desc b;
    ptrdiff_t low, high;
    int k;

    batch_begin(&batch, &stage->after);
    for (k = next_block(&from, 0, &b, &low, &high); k < from.n;
         k = next_block(&from, k + 1, &b, &low, &high)) {
        if (!receive || mca_coll_gpuring_reads_block(original, k)) {
            struct gr_block_desc t = mca_coll_gpuring_block_desc(&to, k);

            batch_next(&batch, &from, b.at + low);
            batch_add(&batch, first_of(&t), b.at + low, (size_t) (high - low));
        }
    }
    batch_copy(&batch);
    return batch.rc;
}

void mca_coll_gpuring_stage_find(struct gr_stage *stage, const struct gr_call *call,
                                 struct gr_gpu *gpu)
{
    int receive;

    stage->original = *call;
    stage->elsewhere = false;
    for (receive = 0; receive < 2; receive++) {
        struct gr_buffer_desc s = mca_coll_gpuring_buffer_desc(call, 0 != receive);
        struct gr_stage_side *side = &stage->sides[receive];

        side->replaced = needs_stage(&s, &side->known, gpu, &stage->elsewhere);
    }
}

int mca_coll_gpuring_stage_place(struct gr_stage *stage, struct gr_call *call, struct gr_gpu *gpu)
{
    int k, rc = OMPI_SUCCESS;

    mca_coll_gpuring_stage_find(stage, call, gpu);
    for (k = 0; k < 2 && OMPI_SUCCESS == rc; k++) {
        rc = stage->sides[k].replaced ? place(stage, call, 0 != k, NULL != gpu) : rc;
    }
    if (OMPI_SUCCESS != rc) {
        (void) mca_coll_gpuring_stage_out(stage, call, false);
    }
    return rc;
}

int mca_coll_gpuring_stage_in(struct gr_stage *stage, struct gr_call *call, struct gr_gpu *gpu)
{
    int k, rc = mca_coll_gpuring_stage_place(stage, call, gpu);

    for (k = 0; k < 2 && OMPI_SUCCESS == rc; k++) {
        rc = stage->sides[k].replaced ? copy_in(stage, call, 0 != k) : rc;
    }
    if (OMPI_SUCCESS != rc) {
        (void) mca_coll_gpuring_stage_out(stage, call, false);
    }
    return rc;
}

/* The data of a block, without its gaps; the same in both from their first bytes on. */
static void add_runs(struct batch *batch, const struct gr_block_desc *to,
                     const unsigned char *first, const unsigned char *from)
{
    opal_convertor_t convertor;
    struct iovec found[RUNS];
    uint32_t n, k;
    size_t bytes;
    int done = 0, rc;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    rc = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &to->type->super,
                                                  to->count, to->at, 0, &convertor);
    while (OPAL_SUCCESS == rc && !done) {
        n = RUNS;
        bytes = 0;
        done = opal_convertor_raw(&convertor, found, &n, &bytes);
        rc = done < 0 ? OMPI_ERROR : OPAL_SUCCESS;
        for (k = 0; k < n && OPAL_SUCCESS == rc; k++) {
            unsigned char *at = found[k].iov_base;

            batch_add(batch, at, from + (at - first), found[k].iov_len);
        }
    }
    OBJ_DESTRUCT(&convertor);
    batch->rc = OMPI_SUCCESS == batch->rc ? rc : batch->rc;
}

/* Copy back what the call wrote. */
static int copy_out(const struct gr_stage *stage, const struct gr_call *call)
{
    const struct gr_call *original = &stage->original;
    struct gr_buffer_desc to = mca_coll_gpuring_buffer_desc(original, true),
                          from = mca_coll_gpuring_buffer_desc(call, true);
    struct batch batch;
    int k;

    batch_begin(&batch, &stage->after);
    for (k = 0; k < to.n; k++) {
        struct gr_block_desc t = mca_coll_gpuring_block_desc(&to, k),
                             f = mca_coll_gpuring_block_desc(&from, k);
        ptrdiff_t low, high;

        if (!mca_coll_gpuring_writes_block(original, k, &t) ||
            !mca_coll_gpuring_block_span(&t, &low, &high)) {
            continue;
        }
        if (GR_PARTS_OWN == to.parts) {
            f.count = t.count; /* in place, there is more of it */
        }
        batch_next(&batch, &to, t.at + low);
        if (mca_coll_gpuring_is_contiguous(t.type, t.count)) {
            batch_add(&batch, t.at + low, first_of(&f), (size_t) (high - low));
        } else {
            add_runs(&batch, &t, t.at + low, first_of(&f));
        }
    }
    batch_copy(&batch);
    return batch.rc;
}

int mca_coll_gpuring_stage_put(const struct gr_block_desc *to, const unsigned char *from)
{
    struct batch batch;

    batch_begin(&batch, NULL);
    add_runs(&batch, to, first_of(to), from);
    batch_copy(&batch);
    return batch.rc;
}

/* Release layouts, and rooms of more than `keep` bytes. */
static void shrink(struct gr_stage *stage, size_t keep)
{
    int k;

    for (k = 0; k < 2; k++) {
        mca_coll_gpuring_sparse_layout_free(&stage->sides[k].sparse);
        mca_coll_gpuring_pinned_shrink(&stage->sides[k].room, keep);
    }
}

int mca_coll_gpuring_stage_out(struct gr_stage *stage, struct gr_call *call, bool bring)
{
    int rc = OMPI_SUCCESS;

    if (!stage->sides[0].replaced && !stage->sides[1].replaced) {
        return OMPI_SUCCESS;
    }
    if (stage->sides[1].replaced && bring) {
        rc = copy_out(stage, call);
    }
    *call = stage->original;
    stage->sides[0].replaced = stage->sides[1].replaced = false;
    if (!stage->kept) {
        shrink(stage, ROOM_KEPT);
    }
    return rc;
}

void mca_coll_gpuring_stage_free(struct gr_stage *stage)
{
    gr_points_free(&stage->after);
    shrink(stage, 0);
}

void mca_coll_gpuring_stage_delete(struct gr_stage *stage)
{
    if (NULL != stage) {
        mca_coll_gpuring_stage_free(stage);
        free(stage);
    }
}
