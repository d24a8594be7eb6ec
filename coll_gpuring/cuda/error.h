/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's message for the last error of each thread. */
#ifndef GR_CUDA_ERROR_H
#define GR_CUDA_ERROR_H

/*
 * The message for this thread's last error, as "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY". Never NULL.
 */
const char *gr_gpu_error(void);

/* Set this thread's message. */
void gr_gpu_error_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
