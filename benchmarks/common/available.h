/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory is left, so that a measurement is not what uses it up: malloc() refuses little,
 * and what then uses the pages is killed. No MPI.
 */
#ifndef BENCH_AVAILABLE_H
#define BENCH_AVAILABLE_H

#include <stddef.h>

/*
 * Bytes that this process can still use: what the kernel says is available, and what the limits of
 * its control groups, version 1 or 2, leave. SIZE_MAX: neither is known.
 */
size_t available_bytes(void);

#endif
