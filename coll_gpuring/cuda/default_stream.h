/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The legacy default stream of the current context, which orders gpuring's work after the
 * application's. Internal to cuda/. The thread's capture mode is RELAXED (context.h).
 */
#ifndef GR_CUDA_DEFAULT_STREAM_H
#define GR_CUDA_DEFAULT_STREAM_H

#include "cuda/driver.h"

/*
 * Open a stream that runs after all work that is now on the legacy default stream: this stream
 * itself, or a new blocking stream while the application captures a blocking stream and the legacy
 * stream must not be used. Returns the driver's result.
 */
CUresult gr_cuda_default_open(const struct gr_cuda *cuda, CUstream *stream);
void gr_cuda_default_close(const struct gr_cuda *cuda, CUstream stream);

#endif
