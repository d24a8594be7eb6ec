/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions that the saved collective does element by element, cut into segments: while it works
 * on one, the next one is copied from the device and the last one back. All ranks cut alike, once
 * they know that some buffer is on a device (dispatch.c); how a rank brings its segments is its own
 * matter.
 *
 *      on a device    two streams and three buffers of a segment, in turn:
 *                     copy in k+1 | reduce k | copy out k-1
 *      with gaps      the whole is staged, and then cut
 *      host memory    cut where it lies
 */
#include "mpi/fallback.h"

#include "comm/runtime.h"
#include "exec/default_streams.h"
#include "mpi/buffer_desc.h"
#include "mpi/call.h"
#include "mpi/datatype.h"
#include "mpi/module.h"
#include "mpi/staging/pinned_pool.h"
#include "mpi/staging/stage.h"

#include "cuda/stream.h"
#include "cuda/device.h"

/* Bytes of a segment, at most; the least call that is cut. Equal on all ranks. */
#define SEGMENT ((size_t) 1 << 20)
#define LEAST (4 * SEGMENT)

/* Buffers that segments take in turn: one is worked on, one comes, one goes. */
#define BUFFERS 3

/* One side of the call. */
struct direction {
    unsigned char *user; /* what MPI was given; NULL: nothing to be moved along */
    ptrdiff_t lb;        /* from there to the first byte of data */
    unsigned char *room; /* NULL: segments lie where the caller's buffer is */
    bool reads, writes;  /* copied before, copied after */
    struct gr_copy_stream in, out;
};

struct segmented_call {
    const struct gr_call *call;
    size_t n, per;                  /* elements in all, and of a segment */
    ptrdiff_t extent;               /* bytes from one to the next */
    struct direction directions[2]; /* send, receive */
};

bool mca_coll_gpuring_segments_fit(const struct gr_call *call, const struct gr_form *form)
{
    size_t size;

    if (GR_BLOCKING != form->kind || !gr_calls[call->id].elementwise) {
        return false;
    }
    size = mca_coll_gpuring_type_size(call->rtype);
    return size > 0 && size <= SEGMENT && call->rcount >= LEAST / size;
}

static ptrdiff_t start_of(const struct segmented_call *c, size_t k)
{
    return (ptrdiff_t) (k * c->per) * c->extent;
}

static size_t elements_of(const struct segmented_call *c, size_t k)
{
    size_t left = c->n - k * c->per;

    return left < c->per ? left : c->per;
}

/* Only what has no gaps has buffers and is copied. */
static size_t bytes_of(const struct segmented_call *c, size_t k)
{
    return elements_of(c, k) * (size_t) c->extent;
}

static unsigned char *pinned_of(const struct segmented_call *c, const struct direction *w, size_t k)
{
    return w->room + k % BUFFERS * bytes_of(c, 0);
}

/* ---- copies; all negative on error ---- */

/* Wait until the stream has come to the mark of segment k. */
static int wait_for(struct gr_copy_stream *copy_stream, size_t k)
{
    int rc;

    while (0 == (rc = gr_gpu_stream_reached(copy_stream->stream, (uint32_t) (k % BUFFERS)))) {
        opal_progress();
    }
    return rc < 0 ? rc : 0;
}

static int put(struct gr_copy_stream *copy_stream, void *dst, const void *src, size_t bytes,
               size_t k)
{
    const struct gr_gpu_run run = {.dst = dst, .src = src, .bytes = bytes};
    int rc = gr_gpu_stream_copy_runs(copy_stream->stream, &run, 1);

    return 0 == rc ? gr_gpu_stream_mark(copy_stream->stream, (uint32_t) (k % BUFFERS)) : rc;
}

/* Begin to copy in segment k, to a buffer whose last segment was copied back. */
static int copy_in(struct segmented_call *c, struct direction *w, size_t k)
{
    int rc = w->writes && k >= BUFFERS ? wait_for(&w->out, k) : 0;

    return 0 == rc && w->reads ? put(&w->in, pinned_of(c, w, k), w->user + w->lb + start_of(c, k),
                                     bytes_of(c, k), k)
                               : rc;
}

/* Begin to take segment k back. */
static int copy_out(struct segmented_call *c, struct direction *w, size_t k)
{
    return w->writes ? put(&w->out, w->user + w->lb + start_of(c, k), pinned_of(c, w, k),
                           bytes_of(c, k), k)
                     : 0;
}

static int end(struct segmented_call *c)
{
    int k, rc = 0, one;

    for (k = 0; k < 2; k++) {
        struct gr_copy_stream *copy_streams[2] = {&c->directions[k].in, &c->directions[k].out};
        int i;

        for (i = 0; i < 2; i++) {
            one = NULL != copy_streams[i]->stream ? gr_gpu_stream_wait(copy_streams[i]->stream) : 0;
            rc = 0 == rc ? one : rc;
            gr_copy_stream_put(copy_streams[i]);
        }
    }
    return rc;
}

/* ---- the call ---- */

/* Where the saved collective is to find a side's segment. */
static unsigned char *buffer_of(const struct segmented_call *c, const struct direction *w,
                                const void *given, size_t k)
{
    if (NULL == w->user) {
        return (unsigned char *) given;
    }
    return NULL == w->room ? w->user + start_of(c, k) : pinned_of(c, w, k) - w->lb;
}

static int run(mca_coll_gpuring_module_t *module, struct segmented_call *c,
               const struct gr_form *form)
{
    size_t n = (c->n + c->per - 1) / c->per, k;
    struct gr_call segment = *c->call;
    int rc = OMPI_SUCCESS, copied = 0, w;

    for (k = 0; k < n && OMPI_SUCCESS == rc && 0 == copied; k++) {
        for (w = 0; w < 2; w++) {
            struct direction *direction = &c->directions[w];

            copied = 0 == copied && NULL != direction->room && 0 == k ? copy_in(c, direction, 0)
                                                                      : copied;
            copied = 0 == copied && NULL != direction->room && k + 1 < n
                         ? copy_in(c, direction, k + 1)
                         : copied;
            copied = 0 == copied && direction->reads ? wait_for(&direction->in, k) : copied;
        }
        if (copied < 0) {
            break;
        }
        segment.sbuf = buffer_of(c, &c->directions[0], c->call->sbuf, k);
        segment.rbuf = buffer_of(c, &c->directions[1], c->call->rbuf, k);
        segment.rcount = elements_of(c, k);
        rc = mca_coll_gpuring_saved_call(module, &segment, form);
        for (w = 0; w < 2 && OMPI_SUCCESS == rc && 0 == copied; w++) {
            copied = copy_out(c, &c->directions[w], k);
        }
    }
    if (copied < 0) {
        gr_print("gpuring: %s: copying between host and device memory failed: %s",
                 gr_calls[c->call->id].name, gr_gpu_error());
    }
    return OMPI_SUCCESS == rc && copied < 0 ? OMPI_ERROR : rc;
}

/* Streams and room for a side, if it is on a device. False: there are none to be had. */
static bool prepare(struct segmented_call *c, struct gr_stage *stage, bool receive)
{
    struct gr_block_desc block;
    struct gr_buffer_desc side = mca_coll_gpuring_buffer_desc(c->call, receive);
    struct direction *w = &c->directions[receive];

    if (!stage->sides[receive].replaced) {
        return true;
    }
    block = mca_coll_gpuring_block_desc(&side, 0);
    w->lb = block.type->super.true_lb;
    w->reads = !receive || mca_coll_gpuring_reads_block(c->call, 0);
    w->writes = receive && mca_coll_gpuring_writes_block(c->call, 0, &block);
    w->room = mca_coll_gpuring_pinned_reserve(&stage->sides[receive].room, BUFFERS * bytes_of(c, 0),
                                              false);
    if (w->reads) {
        w->in = gr_copy_stream_take(w->user + w->lb, NULL);
    }
    if (w->writes) {
        w->out = gr_copy_stream_take(w->user + w->lb, NULL);
    }
    return NULL != w->room && (!w->reads || NULL != w->in.stream) &&
           (!w->writes || NULL != w->out.stream);
}

static void describe(struct segmented_call *c, const struct gr_call *call)
{
    struct gr_buffer_desc send = mca_coll_gpuring_buffer_desc(call, false),
                          receive = mca_coll_gpuring_buffer_desc(call, true);

    *c = (struct segmented_call) {.call = call,
                                  .n = call->rcount,
                                  .per = SEGMENT / mca_coll_gpuring_type_size(call->rtype),
                                  .extent = mca_coll_gpuring_type_extent(call->rtype)};
    c->directions[0].user = send.n > 0 ? (unsigned char *) call->sbuf : NULL;
    c->directions[1].user = receive.n > 0 ? call->rbuf : NULL;
}

int mca_coll_gpuring_segments_do(mca_coll_gpuring_module_t *module, struct gr_stage *stage,
                                 const struct gr_call *call, const struct gr_form *form)
{
    struct gr_call staged = *call;
    struct segmented_call c;
    bool streams;
    int rc, out;

    describe(&c, call);
    if (NULL == stage) {
        return run(module, &c, form);
    }
    mca_coll_gpuring_stage_find(stage, call, NULL);
    streams = mca_coll_gpuring_is_gapless(call->rtype) && prepare(&c, stage, false) &&
              prepare(&c, stage, true);
    if (streams) {
        rc = run(module, &c, form);
        out = end(&c);
        rc = OMPI_SUCCESS == rc && 0 > out ? OMPI_ERROR : rc;
        (void) mca_coll_gpuring_stage_out(stage, &staged, false);
        return rc;
    }
    (void) end(&c);
    rc = mca_coll_gpuring_stage_in(stage, &staged, NULL);
    if (OMPI_SUCCESS == rc) {
        describe(&c, &staged);
        rc = run(module, &c, form);
        out = mca_coll_gpuring_stage_out(stage, &staged, OMPI_SUCCESS == rc);
        rc = OMPI_SUCCESS == rc ? out : rc;
    }
    return rc;
}
