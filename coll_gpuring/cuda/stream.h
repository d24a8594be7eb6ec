/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies, streams, and kernel launches on streams. */
#ifndef GR_CUDA_STREAM_H
#define GR_CUDA_STREAM_H

#include "cuda/types.h"
#include "exec/gpu/args.h"
#include "exec/gpu/kernels.h"
#include "exec/gpu/leader_args.h"

#include <stddef.h>
#include <stdint.h>

/*
 * ---- copies that the host waits for ----
 *
 * Copies between any memory of this process: device, managed, pinned or plain host memory, of any
 * device and context. They are ordered after the application's work on the legacy default stream.
 */

/* Copy bytes and wait until the copy is done. */
int gr_gpu_copy(struct gr_gpu *gpu, void *dst, const void *src, size_t bytes);

/* One copy: rows of the same length. */
struct gr_gpu_run {
    void *dst;        /* first row */
    const void *src;  /* first row */
    size_t bytes;     /* length of a row */
    size_t more_rows; /* rows after the first */
    size_t dst_pitch; /* bytes from one row to the next; unused if more_rows is 0 */
    size_t src_pitch; /* bytes from one row to the next; unused if more_rows is 0 */
};

/*
 * Append `next`, which has one row, to the run: to its bytes if it is contiguous, or as another
 * row. So all elements of a vector type are one copy. Returns 1, or 0: it does not fit the run.
 */
int gr_gpu_run_join(struct gr_gpu_run *run, const struct gr_gpu_run *next);

/* Copy n runs in order, and wait once. */
int gr_gpu_copy_runs(struct gr_gpu *gpu, const struct gr_gpu_run *runs, size_t n);

/*
 * Wait for the work on the legacy default stream of the calling thread's current context, unless
 * that is the primary context of device `but`. Returns 0 or GR_ERR_CUDA.
 */
int gr_gpus_wait_current(struct gr_gpus *gpus, int but);

/*
 * Wait for the work on the legacy default stream of the device's primary context. Returns 0 or
 * GR_ERR_CUDA.
 */
int gr_gpu_wait_default(struct gr_gpu *gpu);

/* ---- streams ---- */

/* A stream of gpuring is non-blocking, of the highest priority. */
int gr_gpu_stream_open(struct gr_gpu *gpu, struct gr_gpu_stream **stream);

/* A stream for copies, and its device. */
struct gr_copy_stream {
    struct gr_gpu *gpu;
    struct gr_gpu_stream *stream; /* NULL: none was to be had */
};

/*
 * Wait until the stream is empty, and free it. All kernels of gpuring end in bounded time. stream
 * may be NULL.
 */
void gr_gpu_stream_close(struct gr_gpu_stream *stream);

/*
 * Make later work on the stream wait for the work that is now on the legacy default stream of the
 * device's primary context.
 */
int gr_gpu_stream_follow(struct gr_gpu_stream *stream);

/*
 * The same, for the host: note where that stream now is, and ask whether it has come there. What is
 * asked is an event, and nothing is put on this stream, so no other context has to give way to it.
 * noted: 1 yes, 0 no, negative: an error.
 */
int gr_gpu_stream_note(struct gr_gpu_stream *stream);
int gr_gpu_stream_noted(struct gr_gpu_stream *stream);

/* A point in the legacy default stream of a device's primary context. Initialised to zero. */
struct gr_gpu_point {
    struct gr_gpu *gpu; /* the device; NULL: never set */
    void *event;        /* the event that marks the point; reused by the next gr_gpu_point_set() */
};

/* Set the point behind the work that is now on the stream. On error it is not set. */
int gr_gpu_point_set(struct gr_gpu_point *point, struct gr_gpu *gpu);
void gr_gpu_point_free(struct gr_gpu_point *point);

/* Whether the work before the point is done: 1 yes, 0 no, negative: an error. */
int gr_gpu_point_reached(const struct gr_gpu_point *point);

/* Make later work on the stream wait for a point of any device. */
int gr_gpu_stream_follow_point(struct gr_gpu_stream *stream, const struct gr_gpu_point *point);

/* Launch a kernel with nblocks blocks of args->threads threads. args is copied. */
int gr_gpu_launch(struct gr_gpu_stream *stream, enum gr_kernel kernel, uint32_t nblocks,
                  const struct gr_gpu_args *args);

/* The same of a leader's kernel. */
int gr_gpu_launch_leader(struct gr_gpu_stream *stream, enum gr_kernel kernel, uint32_t nblocks,
                         const struct gr_leader_args *args);

/* Put a copy on the stream. Host memory must be pinned. */
int gr_gpu_stream_copy(struct gr_gpu_stream *stream, gr_gpu_ptr dst, gr_gpu_ptr src, size_t bytes);

/* Put n copies on the stream. */
int gr_gpu_stream_copy_runs(struct gr_gpu_stream *stream, const struct gr_gpu_run *runs, size_t n);

/* Put a fill of device memory with zeros on the stream. */
int gr_gpu_stream_zero(struct gr_gpu_stream *stream, gr_gpu_ptr at, size_t bytes);

/* Set mark number `mark`, below GR_GPU_MARKS, behind the work that is now on the stream. */
int gr_gpu_stream_mark(struct gr_gpu_stream *stream, uint32_t mark);

/* Whether the work before the mark, which has been set, is done: 1 yes, 0 no, negative: an error. */
int gr_gpu_stream_reached(struct gr_gpu_stream *stream, uint32_t mark);

/* Whether all work on the stream is done: 1 yes, 0 no, negative: the stream has failed for good. */
int gr_gpu_stream_done(struct gr_gpu_stream *stream);

/* Wait until all work on the stream is done. Returns 0 or an error. */
int gr_gpu_stream_wait(struct gr_gpu_stream *stream);

#endif
