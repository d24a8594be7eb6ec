/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory traffic of a collective: bytes read and written by all ranks together, counted by
 * walking every rank's schedule, not by formula.
 */
#ifndef BENCH_GPU_TRAFFIC_H
#define BENCH_GPU_TRAFFIC_H

#include "exec/gpu/op.h"

struct traffic {
    double user; /* bytes of the callers' buffers, read and written */
    double fifo; /* bytes of slots, written and read */
};

/*
 * Of all ranks in a call of one rank. per_byte: bytes of a slot for each byte of data; zero_copy:
 * results are written past the slots.
 */
struct traffic traffic_count(const struct gr_plan_spec *spec, const struct gr_gpu_op *op,
                             double per_byte, int zero_copy);

#endif
