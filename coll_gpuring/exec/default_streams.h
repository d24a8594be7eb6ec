/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Default streams: what the application has put there comes before a call uses its buffers. Copies
 * between host and device memory in that order, and streams for them.
 */
#ifndef GR_EXEC_DEFAULT_STREAMS_H
#define GR_EXEC_DEFAULT_STREAMS_H

#include "cuda/device.h"
#include "cuda/stream.h"

#include <stdbool.h>
#include <stddef.h>

struct gr_gpu_team;
struct gr_op;

/*
 * Points in the default streams of the devices that a nonblocking call's buffers are on, and of
 * `team`, at the moment of the call: what is put there later is not waited for when the call
 * starts. n 0: there are none, what is there at the start comes first.
 */
#define GR_POINTS 3
struct gr_points {
    int n;
    struct gr_gpu_point at[GR_POINTS];
};
void gr_points_free(struct gr_points *points);

/* ---- copies ---- */

/*
 * Copy between any two places, after the points; NULL, or without any: after what is on default
 * streams now. All runs are of one buffer. 0 or GR_ERR_CUDA, which is reported.
 */
int gr_copy_after(const struct gr_points *after, void *dst, const void *src, size_t bytes);
int gr_copy_runs_after(const struct gr_points *after, const struct gr_gpu_run *runs, size_t n);

/*
 * A stream for copies of the device that owns the buffer, after the points;
 * and give it back, with nothing in flight.
 */
struct gr_copy_stream gr_copy_stream_take(const void *buffer, const struct gr_points *after);
void gr_copy_stream_put(struct gr_copy_stream *copy_stream);
void gr_copy_streams_close(void);

/* ---- kernels of an op ---- */

/*
 * Call start() in a bracket of the device of the op's queue (gr_gpu_bracket_open()), for what a
 * call's start tells the driver. What it returns, or GR_ERR_..., which is reported.
 */
int gr_op_start_in_bracket(struct gr_op *op, int (*start)(struct gr_op *op));

/*
 * Let the team's stream come after op->after, or else after what is on default streams now. 0, or
 * GR_ERR_...; errors are reported.
 */
int gr_op_follow(const struct gr_op *op, struct gr_gpu_team *team);

/*
 * The same, for the host: whether that work is done: 1 yes, 0 no, or GR_ERR_... note: the first
 * time, at which an event may be recorded.
 */
int gr_op_reached(const struct gr_op *op, struct gr_gpu_team *team, bool note);

#endif
