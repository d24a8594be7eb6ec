/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host executor on staged data: its buffers are pinned memory in the place of device memory,
 * copied piece by piece while steps run.
 *
 *      device input  --band 0--band 1--band 2--> pinned    ready(): a step waits for its band
 *      device output <--band 0--band 1--         pinned    a band is copied when all its results
 *                                                          are stored: GR_FINAL
 *
 * A band is what the schedule needs at one time: in GR_PIPE so many chunks of every channel, one
 * behind the other; in GR_BLOCKS so many slices of every block, or where a slice is long, some
 * blocks of it, in the order in which the rank's steps first read (or store the results of) them.
 * What no step calls a result is copied in the end. All copies in are put on a stream at once, with
 * a mark behind each band. Nobody waits: a step whose band is not there is not ready yet.
 */
#ifndef GR_EXEC_STAGED_H
#define GR_EXEC_STAGED_H

#include "cuda/device.h"
#include "cuda/stream.h"
#include "exec/host.h"

/* Most bands of one way; larger data has larger ones. */
#define GR_BANDS GR_GPU_MARKS

/* What is copied one way, and how. */
struct gr_staged_copy {
    /* of its own; it is behind what must come first. NULL: nothing goes this way */
    struct gr_gpu_stream *stream;
    /* bytes from the pinned address of an element to its address on the device */
    ptrdiff_t device;
};

/* One way; private. */
struct gr_staged_way {
    struct gr_staged_copy copy;
    enum gr_space space;
    uint32_t nblocks; /* used in a unit (split.h) of a channel */
    uint32_t nbands;
    uint32_t done; /* bands: in, that are there; out, that are to be copied no more */
    /* [channel * p + block]: its number among those, in time; GR_PIPE: no blocks, all 0 */
    uint32_t *order;
};

/* All zero at first. Streams, plan and host belong to the caller and outlive the call. */
struct gr_staged {
    struct gr_host_op *host;
    const struct gr_stepper *stepper;
    int error; /* of a copy; the call has failed then */
    struct gr_staged_way in, out;
    size_t left[GR_BANDS];   /* elements of an outgoing band that are no results yet */
    uint32_t full[GR_BANDS]; /* bands that have all of them since the last commit() */
    uint32_t nfull;
    uint32_t *orders; /* kept for the next call */
    size_t room;
};

/*
 * Begin the copies of a call whose machine was started with gr_staged_executor and this. At most
 * piece > 0 bytes are copied at a time, but for GR_BANDS. Negative on error; then, too, copies may
 * be under way until gr_staged_end().
 */
int gr_staged_begin(struct gr_staged *s, struct gr_host_op *host, const struct gr_stepper *stepper,
                    const struct gr_staged_copy *in, const struct gr_staged_copy *out,
                    size_t piece);

/*
 * The call is over, well or not: wait for copies that are under way. 0, or the error that ended it.
 */
int gr_staged_end(struct gr_staged *s);

/* Free what is kept. */
void gr_staged_free(struct gr_staged *s);

/* Whether the channel's next step waits for a copy. For reports. */
int gr_staged_waits(const struct gr_staged *s, uint32_t channel);

/* For struct gr_stepper; ctx is a struct gr_staged. */
extern const struct gr_executor_ops gr_staged_executor;

#endif
