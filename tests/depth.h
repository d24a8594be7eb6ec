/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much a test does: in ./check what a person waits for, in ./check --all, which sets
 * GPURING_ALL, everything.
 */
#ifndef GR_TESTS_DEPTH_H
#define GR_TESTS_DEPTH_H

#include <stdlib.h>

static inline int depth(int quick, int all)
{
    return NULL != getenv("GPURING_ALL") ? all : quick;
}

#endif
