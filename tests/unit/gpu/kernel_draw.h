/* SPDX-License-Identifier: BSD-3-Clause */
/* Random cases for kernel_test, from a seed. */
#ifndef GR_TESTS_KERNEL_DRAW_H
#define GR_TESTS_KERNEL_DRAW_H

#include "kernel_case.h"

extern uint64_t kc_seed;

/* One of some values. */
size_t kc_any(const size_t *values, size_t n);
#define ANY(...) \
    kc_any((const size_t[]) {__VA_ARGS__}, sizeof((const size_t[]) {__VA_ARGS__}) / sizeof(size_t))

/* A kernel that the collective may use. */
enum gr_kernel kc_any_kernel(enum gr_coll coll);

/* Whatever a call may be like. Environment: KERNEL_TEST_FEW (kernel_test.c). */
struct kc_case any_case(enum gr_coll coll, enum gr_algo algo, int p);

#endif
