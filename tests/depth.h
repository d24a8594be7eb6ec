/* SPDX-License-Identifier: BSD-3-Clause */
/* The extent of a test: short in ./check, complete in ./check --all, which sets GPURING_ALL. */
#ifndef GR_TESTS_DEPTH_H
#define GR_TESTS_DEPTH_H

#include <stdlib.h>

static inline int depth(int quick, int all)
{
    return NULL != getenv("GPURING_ALL") ? all : quick;
}

#endif
