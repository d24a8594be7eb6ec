/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One large message, in fragments. Of what lies on a device, one fragment is copied while another
 * one is on its way:
 *
 *     send      device --copy--> buffer 0 --message-->
 *               device --copy--> buffer 1 --message-->
 *
 *     receive   --message--> buffer 0 --copy--> device
 *               --message--> buffer 1 --copy--> device
 *
 * Host memory is sent from, and received into, as it lies. Data with gaps are packed before the
 * first fragment, and unpacked after the last.
 *
 * Before, each end tells the other whether it is on a device. Where neither is, the message goes as
 * a whole.
 */
#include "mpi/staging/p2p_pipeline.h"

#include "base/memory.h"
#include "comm/devices.h"
#include "base/errors.h"
#include "mpi/buffer_desc.h"
#include "mpi/datatype.h"
#include "mpi/runtime.h"
#include "mpi/staging/pinned_pool.h"
#include "mpi/staging/stage.h"

#include "cuda/stream.h"

#include "ompi/mca/pml/pml.h"

#include <stdlib.h>

static size_t fragment_bytes(const struct gr_p2p_message *p, size_t k)
{
    size_t left = p->bytes - k * p->fragment;

    return left < p->fragment ? left : p->fragment;
}

/* Where fragment k is while it is sent or received. */
static unsigned char *buffer_of(const struct gr_p2p_message *p, const struct gr_p2p_channel *c,
                                size_t k)
{
    return p->copied ? c->room.base + k % GR_P2P_BUFFERS * p->fragment : p->data + k * p->fragment;
}

struct gr_p2p_message mca_coll_gpuring_p2p_message(const struct gr_block_desc *block, int peer,
                                                   bool receive)
{
    struct gr_p2p_message p = {.block = *block, .peer = peer, .receive = receive};
    ptrdiff_t low = 0, high;

    p.bytes = block->count * block->type->super.size;
    if (mca_coll_gpuring_block_span(block, &low, &high)) {
        p.first = block->at + low;
        p.span = (size_t) (high - low);
        p.device = gr_is_devices(gr_pointer_of(p.first));
    }
    p.contiguous = mca_coll_gpuring_is_contiguous(block->type, block->count);
    return p;
}

/* ---- data with gaps ---- */

/*
 * All of it, from where it lies into p->data. A device's comes to the host as it lies first. OMPI
 * error code.
 */
static int pack(struct gr_p2p_message *p)
{
    unsigned char *twin = NULL, *at = p->block.at;
    int rc = OMPI_SUCCESS;

    if (p->device) {
        twin = gr_malloc(p->span);
        rc = NULL == twin ? OMPI_ERR_OUT_OF_RESOURCE
                          : mca_coll_gpuring_to_ompi(gr_copy_after(NULL, twin, p->first, p->span));
        at = twin - (p->first - p->block.at);
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_convert(at, p->block.type, p->block.count, p->data, true);
    }
    free(twin);
    return rc;
}

/* The way back; on a device only the data are written, not what lies between them. */
static int unpack(struct gr_p2p_message *p)
{
    unsigned char *twin;
    int rc;

    if (!p->device) {
        return mca_coll_gpuring_convert(p->block.at, p->block.type, p->block.count, p->data, false);
    }
    twin = gr_malloc(p->span);
    if (NULL == twin) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = mca_coll_gpuring_convert(twin - (p->first - p->block.at), p->block.type, p->block.count,
                                  p->data, false);
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_stage_put(&p->block, twin);
    }
    free(twin);
    return rc;
}

int mca_coll_gpuring_p2p_message_move(const struct gr_block_desc *to,
                                      const struct gr_block_desc *from)
{
    struct gr_p2p_message in = mca_coll_gpuring_p2p_message(from, -1, false);
    struct gr_p2p_message out = mca_coll_gpuring_p2p_message(to, -1, true);
    int rc;

    if (0 == in.bytes) {
        return OMPI_SUCCESS;
    }
    if (in.contiguous && out.contiguous) {
        if (in.device || out.device) {
            return mca_coll_gpuring_to_ompi(gr_copy_after(NULL, out.first, in.first, in.bytes));
        }
        memcpy(out.first, in.first, in.bytes); /* NOLINT(clang-analyzer-core.NonNullParamChecker) */
        return OMPI_SUCCESS;
    }
    in.data = out.data = gr_malloc(in.bytes);
    rc = NULL == in.data ? OMPI_ERR_OUT_OF_RESOURCE : pack(&in);
    rc = OMPI_SUCCESS == rc ? unpack(&out) : rc;
    free(in.data);
    return rc;
}

/* ---- channels ---- */

/* Buffers and a stream; false: none to be had. */
static bool prepare_buffers(struct gr_p2p_message *p, struct gr_p2p_channel *c)
{
    if (NULL == mca_coll_gpuring_pinned_reserve(&c->room, GR_P2P_BUFFERS * p->fragment, false)) {
        return false;
    }
    c->copy_stream = gr_copy_stream_take(p->first, NULL);
    if (NULL == c->copy_stream.stream) {
        mca_coll_gpuring_pinned_shrink(&c->room, 0);
        return false;
    }
    return true;
}

/* Tell the other end. OMPI error code. */
static int tell_device(struct gr_p2p_channel *c, const struct gr_p2p_route *to)
{
    const struct gr_p2p_message *p = c->message;
    int rc;

    c->on_device[0] = p->device;
    rc = MCA_PML_CALL(irecv(&c->on_device[1], 1, MPI_BYTE, p->peer,
                            p->receive ? to->tag : to->reply, to->comm, &c->told[1]));
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return MCA_PML_CALL(isend(&c->on_device[0], 1, MPI_BYTE, p->peer,
                              p->receive ? to->reply : to->tag, MCA_PML_BASE_SEND_STANDARD,
                              to->comm, &c->told[0]));
}

int mca_coll_gpuring_p2p_channel_load(struct gr_p2p_channel *c, const struct gr_p2p_route *route,
                                      struct gr_p2p_message *p)
{
    int k, rc;

    c->message = p;
    p->begun = p->turned = p->done = 0;
    p->fragment = route->fragment;
    p->nfragments = (p->bytes + p->fragment - 1) / p->fragment;
    p->agreed = p->device; /* whatever the other end says */
    c->told[0] = c->told[1] = MPI_REQUEST_NULL;
    for (k = 0; k < GR_P2P_BUFFERS; k++) {
        c->pml_requests[k] = MPI_REQUEST_NULL;
    }
    rc = tell_device(c, route);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    p->copied = p->contiguous && p->device && prepare_buffers(p, c);
    p->packed = !p->copied && (p->device || !p->contiguous);
    if (!p->packed) {
        p->data = p->first;
        return OMPI_SUCCESS;
    }
    p->data = gr_malloc(p->bytes);
    return NULL == p->data ? OMPI_ERR_OUT_OF_RESOURCE : p->receive ? OMPI_SUCCESS : pack(p);
}

int mca_coll_gpuring_p2p_channel_unload(struct gr_p2p_channel *c, bool ok)
{
    struct gr_p2p_message *p = c->message;
    int rc = ok && p->packed && p->receive ? unpack(p) : OMPI_SUCCESS;

    if (p->copied) {
        gr_copy_stream_put(&c->copy_stream);
        mca_coll_gpuring_pinned_shrink(&c->room, 0);
    }
    if (p->packed) {
        free(p->data);
    }
    p->data = NULL;
    c->message = NULL;
    return rc;
}

/* ---- fragments: three counters follow each other, at most GR_P2P_BUFFERS apart ---- */

/* Copy fragment k between its buffer and the device. */
static int copy_fragment(struct gr_p2p_channel *c, size_t k)
{
    const struct gr_p2p_message *p = c->message;
    unsigned char *buffer = buffer_of(p, c, k), *at = p->first + k * p->fragment;
    const struct gr_gpu_run run = {
        .dst = p->receive ? at : buffer,
        .src = p->receive ? buffer : at,
        .bytes = fragment_bytes(p, k),
    };
    int rc = p->copied ? gr_gpu_stream_copy_runs(c->copy_stream.stream, &run, 1) : 0;

    return p->copied && 0 == rc
               ? gr_gpu_stream_mark(c->copy_stream.stream, (uint32_t) (k % GR_P2P_BUFFERS))
               : rc;
}

/* 1: fragment k is copied; 0: not yet. */
static int is_copied(const struct gr_p2p_channel *c, size_t k)
{
    return c->message->copied
               ? gr_gpu_stream_reached(c->copy_stream.stream, (uint32_t) (k % GR_P2P_BUFFERS))
               : 1;
}

static int post_fragment(struct gr_p2p_channel *c, const struct gr_p2p_route *to, size_t k)
{
    const struct gr_p2p_message *p = c->message;
    ompi_request_t **pml_request = &c->pml_requests[k % GR_P2P_BUFFERS];

    if (p->receive) {
        return MCA_PML_CALL(irecv(buffer_of(p, c, k), fragment_bytes(p, k), MPI_BYTE, p->peer,
                                  to->tag, to->comm, pml_request));
    }
    return MCA_PML_CALL(isend(buffer_of(p, c, k), fragment_bytes(p, k), MPI_BYTE, p->peer, to->tag,
                              MCA_PML_BASE_SEND_STANDARD, to->comm, pml_request));
}

/* 1: the message with fragment k is through; 0: not yet; negative. */
static int is_posted(struct gr_p2p_channel *c, size_t k)
{
    return mca_coll_gpuring_pml_request_done(&c->pml_requests[k % GR_P2P_BUFFERS]);
}

/* 1: both ends have told each other; 0: not yet; negative. */
static int have_told(struct gr_p2p_channel *c)
{
    int rc = mca_coll_gpuring_pml_request_done(&c->told[0]);

    return 1 == rc ? mca_coll_gpuring_pml_request_done(&c->told[1]) : rc;
}

/* Find out how the message goes, where the other end has a say. As above. */
static int agree(struct gr_p2p_channel *c)
{
    struct gr_p2p_message *p = c->message;
    int rc = p->agreed ? 1 : have_told(c);

    if (1 == rc && !p->agreed && !c->on_device[1]) {
        p->fragment = p->bytes;
        p->nfragments = 1;
    }
    p->agreed = 1 == rc;
    return rc;
}

int mca_coll_gpuring_p2p_channel_step(struct gr_p2p_channel *c, const struct gr_p2p_route *route,
                                      uint64_t *moved)
{
    struct gr_p2p_message *p = c->message;
    int rc = agree(c);

    if (1 != rc) {
        return rc < 0 ? rc : GR_AGAIN;
    }

    /* a buffer is free when what was in it before has gone */
    while (p->begun < p->nfragments && p->begun < p->done + GR_P2P_BUFFERS) {
        rc = p->receive ? post_fragment(c, route, p->begun) : copy_fragment(c, p->begun);
        if (0 != rc) {
            return rc < 0 ? rc : OMPI_ERROR;
        }
        p->begun++;
        ++*moved;
    }
    while (p->turned < p->begun) {
        rc = p->receive ? is_posted(c, p->turned) : is_copied(c, p->turned);
        if (1 == rc) {
            rc = p->receive ? copy_fragment(c, p->turned) : post_fragment(c, route, p->turned);
            rc = 0 == rc ? 1 : OMPI_ERROR;
        }
        if (1 != rc) {
            break;
        }
        p->turned++;
        ++*moved;
    }
    if (p->turned < p->begun && rc < 0) {
        return rc;
    }
    while (p->done < p->turned) {
        rc = p->receive ? is_copied(c, p->done) : is_posted(c, p->done);
        if (1 != rc) {
            return rc < 0 ? rc : GR_AGAIN;
        }
        p->done++;
        ++*moved;
    }
    rc = p->done == p->nfragments ? have_told(c) : 0;
    return rc < 0 ? rc : 1 == rc ? GR_DONE : GR_AGAIN;
}
