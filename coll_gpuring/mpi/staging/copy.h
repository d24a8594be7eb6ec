/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between host and device memory, streams for them, and points in default streams that such
 * copies come after.
 */
#ifndef GR_STAGING_COPY_H
#define GR_STAGING_COPY_H

#include "mpi/ompi.h"

#include "exec/default_streams.h"

#include "cuda/device.h"
#include "cuda/stream.h"

BEGIN_C_DECLS

struct gr_call;
struct gr_gpu;
struct gr_gpu_run;
struct gr_gpu_stream;

/* Set the points for a call (exec/default_streams.h). team: a device of which there is one, too. */
void mca_coll_gpuring_points_set(struct gr_points *points, const struct gr_call *call,
                                 struct gr_gpu *team);

/* A stream for copies, and its device. */
struct gr_copy_stream {
    struct gr_gpu *gpu;
    struct gr_gpu_stream *stream; /* NULL: none was to be had */
};

/*
 * One for the device that owns the buffer, after the points (gr_points_follow()); and
 * give it back, with nothing in flight.
 */
struct gr_copy_stream mca_coll_gpuring_copy_stream_take(const void *buffer,
                                                        const struct gr_points *after);
void mca_coll_gpuring_copy_stream_put(struct gr_copy_stream *copy_stream);
void mca_coll_gpuring_copy_streams_close(void);

/* ---- copies ---- */

/*
 * Copy between any two places, after the points; NULL, or without any: after what is on default
 * streams now. OMPI error code, and said when it failed.
 */
int mca_coll_gpuring_copy(const struct gr_points *after, void *dst, const void *src, size_t bytes);
int mca_coll_gpuring_copy_runs(const struct gr_points *after, const struct gr_gpu_run *runs,
                               size_t n);

END_C_DECLS

#endif
