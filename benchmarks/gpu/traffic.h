/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns what a collective makes the devices' memory do: bytes read and written by all ranks
 * together, counted by walking every rank's schedule, not by formula.
 */
#ifndef BENCH_GPU_TRAFFIC_H
#define BENCH_GPU_TRAFFIC_H

#include "exec/plan.h"

struct traffic {
    double user; /* bytes of the callers' buffers, read and written */
    double fifo; /* bytes of slots, written and read */
};

/*
 * For all ranks; the two orders are those of the even and the odd channels. message_bytes: of data
 * that a slot takes at most; per_byte: bytes of the slot for each of them; zero_copy: results go
 * past the slots.
 */
struct traffic traffic_count(const struct gr_request *request, int ranks, int *const order[2],
                             int *const where[2], size_t message_bytes, double per_byte,
                             int zero_copy);

#endif
