/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host backend on staged data: its buffers are pinned memory in the place of device memory,
 * copied band by band while steps run.
 *
 *      device input  --band 0--band 1--band 2--> pinned    ready(): a step waits for its band
 *      device output <--band 0--band 1--         pinned    a band is copied when all its results
 *                                                          are stored: GR_FINAL
 *
 * A band is the data that steps use at about the same time. In GR_PIPE it is some consecutive
 * chunks of every channel; in GR_BLOCKS some slices of every block, or, where slices are long, some
 * blocks of one slice, in the order in which the rank's steps first read them, or store their
 * results. Data that no step marks as a result are copied at the end. All copies to the host are
 * put on a stream at the start, with a mark behind each band. Nothing blocks: a step whose band has
 * not been copied is not ready.
 */
#ifndef GR_EXEC_STAGED_H
#define GR_EXEC_STAGED_H

#include "cuda/device.h"
#include "cuda/stream.h"
#include "exec/host.h"

/* Most bands in one direction; for larger data, bands are larger. */
#define GR_BANDS GR_GPU_MARKS

struct gr_staged_copy {
    /* used for these copies only, and ordered after the application's work; NULL: no copies */
    struct gr_gpu_stream *stream;
    /* bytes from the pinned address of an element to its address on the device */
    ptrdiff_t device;
};

/* State of one direction; private. */
struct gr_staged_direction {
    struct gr_staged_copy copy;
    enum gr_space space;
    uint32_t nblocks; /* blocks used in a cell (split.h) of a channel */
    uint32_t nbands;
    uint32_t done; /* bands: to the host, copied; to the device, queued, or without elements */
    /* [channel * p + block]: position among the nblocks, by time of use; GR_PIPE: all 0 */
    uint32_t *order;
};

/* All zero at first. Streams, plan and host belong to the caller and outlive the call. */
struct gr_staged {
    struct gr_host_op *host;
    const struct gr_stepper *stepper;
    int error; /* first error of a copy, which fails the call; 0: none */
    struct gr_staged_direction in, out;
    size_t left[GR_BANDS];   /* elements of each outgoing band that are not results yet */
    uint32_t full[GR_BANDS]; /* bands that were completed since the last commit() */
    uint32_t nfull;          /* entries of full */
    uint32_t *orders;        /* memory for the order of both directions; owned, kept */
    size_t room;             /* entries of orders */
};

/*
 * Begin the copies of a call whose stepper was started with gr_staged_backend and s. Bands have at
 * most `band_bytes` (> 0) bytes, unless there would be more than GR_BANDS. 0, or negative on error;
 * then, too, copies may be in flight until gr_staged_end().
 */
int gr_staged_begin(struct gr_staged *s, struct gr_host_op *host, const struct gr_stepper *stepper,
                    const struct gr_staged_copy *in, const struct gr_staged_copy *out,
                    size_t band_bytes);

/* The call has ended: wait for copies that are in flight. 0, or the first error of a copy. */
int gr_staged_end(struct gr_staged *s);

/* Free memory that is kept for the next call. */
void gr_staged_free(struct gr_staged *s);

/* Whether the channel's next step waits for a copy. For reports. */
int gr_staged_waits(const struct gr_staged *s, uint32_t channel);

/* For struct gr_stepper; ctx is a struct gr_staged. */
extern const struct gr_backend gr_staged_backend;

#endif
