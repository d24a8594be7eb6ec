/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between any memory of this process: device, managed, pinned or plain host memory, of any
 * device and context. They are ordered after the application's work on the legacy default stream.
 */
#ifndef GR_CUDA_COPY_H
#define GR_CUDA_COPY_H

#include "cuda/types.h"

#include <stddef.h>

struct CUstream_st;
struct gr_cuda;

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

/* Put copies of n runs on a CUstream. The context is current. Internal to cuda/. */
int gr_cuda_copy_runs(const struct gr_cuda *cuda, const struct gr_gpu_run *runs, size_t n,
                      struct CUstream_st *stream);

#endif
