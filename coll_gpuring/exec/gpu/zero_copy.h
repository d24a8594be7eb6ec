/* SPDX-License-Identifier: BSD-3-Clause */
/* Zero copy: results are stored in the output of the rank that they are for. */
#ifndef GR_EXEC_GPU_ZERO_COPY_H
#define GR_EXEC_GPU_ZERO_COPY_H

#include "exec/gpu/op.h"

/*
 * Map the outputs of the ranks to which this rank sends results, and put the copy of their
 * addresses on the stream. handles: [rank] of the outputs. Results for ranks whose output cannot be
 * mapped go through slots. Returns 0 or GR_ERR_CUDA.
 */
int gr_gpu_zero_begin(struct gr_gpu_op *op, const struct gr_plan_spec *spec,
                      const struct gr_ipc_handle *const *handles);
void gr_gpu_zero_end(struct gr_gpu_op *op);

#endif
