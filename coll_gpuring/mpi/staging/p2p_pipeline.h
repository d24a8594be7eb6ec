/* SPDX-License-Identifier: BSD-3-Clause */
/* One large message between two ranks, in fragments; p2p_split.c has those of a call. */
#ifndef GR_STAGING_P2P_PIPELINE_H
#define GR_STAGING_P2P_PIPELINE_H

#include "mpi/ompi.h"

#include "exec/default_streams.h"
#include "mpi/buffer_desc.h"
#include "mpi/staging/pinned_pool.h"

/*
 * Fragments of a message that may be in flight at a time; each has a buffer in pinned memory, where
 * one is needed.
 */
#define GR_P2P_BUFFERS 2

/* A message. */
struct gr_p2p_message {
    struct gr_block_desc block; /* at this rank */
    int peer;
    bool receive, device, contiguous; /* contiguous: without gaps */
    unsigned char *first;             /* first of the bytes that the block covers */
    size_t span;                      /* number of bytes that the block covers, gaps included */
    size_t bytes;                     /* number of bytes of data; equal at both ends */
    /* ---- while the message is in flight ---- */
    bool agreed;         /* both ends know how it is moved */
    size_t fragment;     /* bytes of a fragment */
    size_t nfragments;   /* number of fragments */
    bool copied;         /* its fragments go through pinned buffers */
    bool packed;         /* its data are packed as a whole, before or after */
    unsigned char *data; /* the data, or their packed copy */
    /* fragments copied, then posted, done; by a receiver posted, then copied, done */
    size_t begun, turned, done;
};

/* What a message needs while it is in flight. All zero at first. */
struct gr_p2p_channel {
    struct gr_p2p_message *message; /* NULL: idle */
    struct gr_copy_stream copy_stream;
    struct gr_pinned_buffer room;
    ompi_request_t *pml_requests[GR_P2P_BUFFERS];
    uint8_t on_device[2];    /* whether it is on a device, here and at the other end; */
    ompi_request_t *told[2]; /* said, heard */
};

/* Where messages go, and the fragments of those that have an end on a device. */
struct gr_p2p_route {
    struct ompi_communicator_t *comm;
    int tag, reply; /* from the sender; from the receiver */
    size_t fragment;
};

struct gr_p2p_message mca_coll_gpuring_p2p_message(const struct gr_block_desc *block, int peer,
                                                   bool receive);

/* A message of a rank to itself, at once. OMPI error code. */
int mca_coll_gpuring_p2p_message_move(const struct gr_block_desc *to,
                                      const struct gr_block_desc *from);

/*
 * Take a message; go on with it (GR_DONE, GR_AGAIN or an OMPI error code); and, with nothing under
 * way, end it - ok: put what was received where it belongs.
 */
int mca_coll_gpuring_p2p_channel_load(struct gr_p2p_channel *channel,
                                      const struct gr_p2p_route *route,
                                      struct gr_p2p_message *message);
int mca_coll_gpuring_p2p_channel_step(struct gr_p2p_channel *channel,
                                      const struct gr_p2p_route *route, uint64_t *moved);
int mca_coll_gpuring_p2p_channel_unload(struct gr_p2p_channel *channel, bool ok);

#endif
