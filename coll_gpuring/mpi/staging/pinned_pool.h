/* SPDX-License-Identifier: BSD-3-Clause */
/* Host memory in the place of device buffers: pinned, and reused by later calls. */
#ifndef GR_STAGING_PINNED_POOL_H
#define GR_STAGING_PINNED_POOL_H

#include "mpi/ompi.h"

struct gr_gpu;

/* A buffer that grows, and stays until it is shrunk. All zero at first. */
struct gr_pinned_buffer {
    unsigned char *base;
    size_t bytes;
    bool pinned;        /* it is to be pinned */
    struct gr_gpu *gpu; /* by which it was pinned; NULL: plain memory, also where no device is */
};

/*
 * reserve: at least that many bytes, pinned where kernels use them or this process expects devices
 * and the driver has pinned memory left; NULL: no memory. shrink: give the buffer back when it is
 * larger than `keep` bytes. Thread-safe.
 */
unsigned char *mca_coll_gpuring_pinned_reserve(struct gr_pinned_buffer *room, size_t bytes,
                                               bool kernels);
void mca_coll_gpuring_pinned_shrink(struct gr_pinned_buffer *room, size_t keep);

/* Free the buffers that wait for reuse. */
void mca_coll_gpuring_pinned_close(void);

/* ---- scratch ---- */

/* Scratch memory of an op, kept from call to call. All zero at first. */
struct gr_scratch {
    unsigned char *base;          /* plain memory; owned */
    size_t bytes;                 /* of base */
    struct gr_pinned_buffer room; /* memory that devices use too */
};

/*
 * get: at least that many bytes, valid until shrink; device: kernels use it; NULL: no memory.
 * shrink: after a call, free what is too much to keep; a request keeps less than a blocking call.
 */
unsigned char *mca_coll_gpuring_scratch_get(struct gr_scratch *s, size_t bytes, bool device);
void mca_coll_gpuring_scratch_shrink(struct gr_scratch *s, bool request);
void mca_coll_gpuring_scratch_free(struct gr_scratch *s);

#endif
