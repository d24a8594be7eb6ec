/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The orders of reduction as the comments of sched/torus_{bucket,swing,mst}.c state them, written
 * again from the words. Nothing here calls a schedule.
 */
#ifndef GR_TESTS_TORUS_EXPECT_H
#define GR_TESTS_TORUS_EXPECT_H

#include "symbolic.h"

/*
 * Hash of the sum of all contributions to an element of a block (GR_BLOCKS) of a channel, in the
 * stated order.
 */
uint64_t torus_expect(const struct sym_case *c, uint32_t channel, int block, size_t elem);

#endif
