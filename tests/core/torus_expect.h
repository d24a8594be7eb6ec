/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the schedules of sched/torus.h must give, written from the words of their files' comments: who owns which block
 * in which channel, and in which order contributions are combined. Calls none of the schedules.
 */
#ifndef GR_TESTS_TORUS_EXPECT_H
#define GR_TESTS_TORUS_EXPECT_H

#include "sched/torus.h"
#include "symbolic.h"

/* Hash of the sum of an element that all ranks contribute to, as struct sym_foreign wants it; for the algorithm. */
uint64_t torus_expect(enum gr_torus_algo algo, const struct gr_torus *t, const struct sym_case *c, uint32_t channel,
                      int block, size_t elem);

#endif
