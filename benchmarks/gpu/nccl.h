/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL beside gpuring: the same ranks, in the same processes and on the same streams and buffers,
 * with as many blocks per rank as there are channels. The library is loaded at run time; nothing of
 * it is needed for building.
 *
 * Several ranks on one device need NCCL 2.30.3 and NCCL_MULTI_RANK_GPU_ENABLE=1; nccl_open sets
 * that, and the least and the most blocks of a collective (NCCL_MIN_CTAS, NCCL_MAX_CTAS), before it
 * first calls NCCL.
 */
#ifndef BENCH_GPU_NCCL_H
#define BENCH_GPU_NCCL_H

#include "crew.h"

#include "cuda/stream.h"
#include "common/moves.h"
#include "sched/sched.h"

struct nccl;

/* The call of one rank; counts are in the shape. */
struct nccl_call {
    enum gr_coll coll;
    enum element_type_id type;
    enum element_op op;
    const struct shape *shape;
    const struct buffers *buffers;
};

/* Whether NCCL combines such elements. */
int nccl_has(enum element_type_id type);

/*
 * Loads the library and makes a communicator of the crew's ranks; the device's context must be
 * current. Collective over the crew. NULL on every process when that fails on one; a process that
 * failed has a line in error[CLI_ERROR_CHARS].
 */
struct nccl *nccl_open(const char *library, struct crew *crew, uint32_t channels, char *error);

/* Collective. NULL is fine. */
void nccl_close(struct nccl *nccl);

/* "2.30.3" */
const char *nccl_version(const struct nccl *nccl);

/* Enqueues a call per rank of this process, as one group. 0, or -1 with a line in error. */
int nccl_start(struct nccl *nccl, const struct nccl_call *calls,
               struct gr_gpu_stream *const *streams, char *error);

#endif
