/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels that team_test uses under a sanitizer: kernels.cu with a shorter table, which
 * compiles sooner.
 */
#include "exec/gpu/kernels.h"

#undef GR_KERNELS
#define GR_KERNELS(X) X(i32, sum) X(i8, sum) X(f64, sum) X(f32, max)

#include "exec/gpu/kernels/kernels.cu"
