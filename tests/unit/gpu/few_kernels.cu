/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels that kernel_test uses with KERNEL_TEST_FEW: kernels.cu with a shorter table, which
 * compiles sooner.
 */
#include "exec/gpu/kernels.h"

#undef GR_KERNELS
#define GR_KERNELS(X) X(f32, sum) X(f64, max) X(bits, bxor) X(f64_i32, minloc)

#include "exec/gpu/kernels/kernels.cu"
