/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between host and device memory. */
#ifndef GR_STAGING_COPY_H
#define GR_STAGING_COPY_H

#include "mpi/ompi.h"
#include "cuda/stream.h"

BEGIN_C_DECLS

struct gr_gpu_run;
struct gr_points;

/*
 * Copy between any two places, after the points; NULL, or without any: after what is on default
 * streams now. OMPI error code, and said when it failed.
 */
int mca_coll_gpuring_copy(const struct gr_points *after, void *dst, const void *src, size_t bytes);
int mca_coll_gpuring_copy_runs(const struct gr_points *after, const struct gr_gpu_run *runs,
                               size_t n);

END_C_DECLS

#endif
