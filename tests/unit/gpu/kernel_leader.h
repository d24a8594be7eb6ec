/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call of a leader's kernel, which works on the buffers of all ranks, against the same call one
 * element at a time (kernel_reference.h). Guards are around buffers; a side of a rank is in one
 * buffer, or comes and goes piece by piece, as the component copies it.
 */
#ifndef GR_TESTS_KERNEL_LEADER_H
#define GR_TESTS_KERNEL_LEADER_H

#include "exec/gpu/kernels.h"
#include "exec/gpu/leader_args.h"
#include "sched/sched.h"

struct kl_case {
    enum gr_coll coll;
    enum gr_kernel kernel;
    int p, root;
    size_t count; /* elements of the vector, or of each block where there are no counts */
    int has_counts, has_places;
    size_t counts[GR_LEADER_RANKS];
    size_t most;     /* elements of a piece */
    uint64_t copied; /* bit r: rank r's sides are copied, if the call is done in pieces */
    size_t offset
        [2]; /* bytes by which inputs, outputs are off a multiple of 16; rank r: r times that */
    int in_place;
    uint32_t blocks, threads;
    uint64_t seed;
};

/* Whatever a call may be like. kernel -1: any that the collective may have. */
struct kl_case kl_any(enum gr_coll coll, int p, int kernel);

/* Run it and compare. 0, or -1 with why. */
int kl_run(const struct kl_case *c, char *why, size_t size);

#endif
