/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations of kernels that the host executor has no loops for, written anew, one element at a
 * time: halves, complex numbers, values with an index. The host's side of kernel_case.h combines
 * with these.
 */
#ifndef GR_TESTS_KERNEL_REFERENCE_H
#define GR_TESTS_KERNEL_REFERENCE_H

#include "exec/gpu/kernels.h"

/* Whether kr_combine() is for this kernel. */
int kr_has(enum gr_kernel kernel);

/* *result = (*src[0] op *src[1]) op ..., n elements as they lie in memory, of any alignment. */
void kr_combine(enum gr_kernel kernel, void *result, const void *const *src, int n);

#endif
