/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations of kernels, one element at a time. Those that the host executor has no loops for
 * are written anew: halves, complex numbers, values with an index. The host's side of kernel_case.h
 * combines with these.
 */
#ifndef GR_TESTS_KERNEL_REFERENCE_H
#define GR_TESTS_KERNEL_REFERENCE_H

#include "exec/reduce.h"
#include "exec/gpu/kernels.h"

/*
 * The host's loop for the kernel's type and operation, or NULL. Bits are the same in elements of
 * any type.
 */
gr_reduce_fn kr_host_loop(enum gr_kernel kernel);

/* Whether the kernel's operation is written here. */
int kr_has(enum gr_kernel kernel);

/*
 * *result = (*src[0] op *src[1]) op ..., n elements as they lie in memory: of any alignment where
 * kr_has().
 */
void kr_combine(enum gr_kernel kernel, void *result, const void *const *src, int n);

#endif
