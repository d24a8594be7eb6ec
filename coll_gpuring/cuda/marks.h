/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The application's allocations of which gpuring has set CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, so that
 * the attribute can be given back.
 */
#ifndef GR_CUDA_MARKS_H
#define GR_CUDA_MARKS_H

#include "cuda/device.h"
#include "exec/gpu/args.h"

/*
 * Set SYNC_MEMOPS of the allocation that begins at `start` and has that buffer id, if the driver
 * permits it. is_set: the application has set it, so nothing is done. Without memory for an entry
 * the attribute is set, and stays.
 */
void gr_marks_set(struct gr_gpus *gpus, gr_gpu_ptr start, uint64_t id, int is_set);

/*
 * Clear SYNC_MEMOPS of all allocations for which gr_marks_set() has set it, and which still exist.
 * Those of which it was set before are left alone.
 */
void gr_marks_clear(struct gr_gpus *gpus);

#endif
