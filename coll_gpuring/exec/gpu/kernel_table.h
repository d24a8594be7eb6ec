/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of each type and operation. */
#ifndef GR_EXEC_GPU_KERNEL_TABLE_H
#define GR_EXEC_GPU_KERNEL_TABLE_H

#include "exec/gpu/kernels.h"
#include "exec/reduce.h"

/* The kernel (enum gr_kernel) for a type and operation; -1: there is none. */
int gr_gpu_kernel(enum gr_type type, enum gr_redop redop);

#endif
