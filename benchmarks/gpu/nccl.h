/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns NCCL beside us: the same ranks, in the same processes and on the same streams and buffers,
 * with no more blocks per rank than our channels. The library is loaded at run time and nothing of
 * it is needed for building.
 *
 * Several ranks on one device are what NCCL 2.30.3 allows where NCCL_MULTI_RANK_GPU_ENABLE is 1;
 * that, and the least and the most blocks of a collective (NCCL_MIN_CTAS, NCCL_MAX_CTAS), are set
 * here, before it is first called.
 */
#ifndef BENCH_GPU_NCCL_H
#define BENCH_GPU_NCCL_H

#include "crew.h"

#include "cuda/stream.h"
#include "common/moves.h"
#include "sched/sched.h"

struct nccl;

/* What is asked of it: buffers of one rank, counts in their shape. */
struct nccl_call {
    enum gr_coll coll;
    enum element_type_id type;
    enum element_op op;
    const struct shape *shape;
    const struct buffers *buffers;
};

/* Does NCCL combine these elements? It moves all. */
int nccl_has(enum element_type_id type);

/*
 * Loads the library and makes a communicator of the crew's ranks; the device's context must be
 * current. Collective over the crew. NULL on every process when that fails on one, with a line in
 * error[OPTIONS_ERROR_CHARS] on those that know why.
 */
struct nccl *nccl_open(const char *library, struct crew *crew, uint32_t channels, char *error);

/* Collective: NCCL's ranks take leave of each other. NULL is fine. */
void nccl_close(struct nccl *nccl);

/* "2.30.3" */
const char *nccl_version(const struct nccl *nccl);

/*
 * Puts one call per rank of this process on the ranks' streams, as one group. 0, or -1 with a line
 * in error.
 */
int nccl_start(struct nccl *nccl, const struct nccl_call *calls,
               struct gr_gpu_stream *const *streams, char *error);

#endif
