/* SPDX-License-Identifier: BSD-3-Clause */
/* Building a plan: what the stepper runs for one call of one team. */
#ifndef GR_EXEC_PLAN_H
#define GR_EXEC_PLAN_H

#include "exec/stepper.h"
#include "link/team.h"
#include "sched/split.h"

/* What is asked for. Arrays are referred to by the plan, not copied. */
struct gr_request {
    enum gr_coll coll;
    enum gr_algo algo;
    int root;                      /* rank; 0 where there is none */
    uint32_t nchannels;            /* 1..the team's */
    size_t elem_bytes;             /* at most the links' slot_bytes */
    size_t chunk_bytes;            /* most bytes of a chunk; 0: a slot's */
    size_t total;                  /* elements of the vector (allreduce, bcast, reduce) */
    size_t block;                  /* elements per rank, where counts is NULL */
    const size_t *counts, *displs; /* by rank, elements; or NULL */
    int small;                     /* over the team's links for small messages */
    int direct; /* 1: messages may be fetched from their senders' buffers (host.h) */
    /* then, most bytes of a message, where no step sends what it did not store; 0: a slot's */
    size_t direct_bytes;
    struct gr_torus torus;     /* that the ranks form; ndims 0: none is known */
    enum gr_protocol protocol; /* devices: in which messages are written; */
    /* of a block for data: whole warps, up to GR_LINE_UNITS; Simple takes all there are */
    uint32_t threads;
};

/* Elements of rank r's block, and where they begin. */
static inline size_t gr_request_block(const struct gr_request *request, int r)
{
    return NULL != request->counts ? request->counts[r] : request->block;
}

static inline size_t gr_request_begin(const struct gr_request *request, int r)
{
    return NULL != request->displs ? request->displs[r] : (size_t) r * request->block;
}

/*
 * The request's data cut into pieces of at most `most` bytes, a slot's, and such that messages of
 * several chunks do not fill all slots of a link (gr_algo_most()). Pieces begin at lines of `line`
 * bytes (a power of two) from their blocks' starts, so that ranks and channels do not share lines.
 */
struct gr_split gr_plan_split(const struct gr_request *request, int p, size_t most, uint32_t nslots,
                              size_t line);

/*
 * The schedule of a channel with this order of ranks, for a rank; order is referred to. Along a
 * torus it is the channel that says the order.
 */
struct gr_sched gr_plan_sched(const struct gr_request *request, int p, int rank, const int *order,
                              const int *where, uint32_t channel, uint32_t nchunks);

/* Bytes of scratch (GR_TMP) that a rank needs; 0: none. */
size_t gr_plan_scratch(const struct gr_request *request, int p);

/* Fill the plan. The request must be valid (checked by assertions only). */
void gr_plan_build(struct gr_plan *plan, const struct gr_team *team,
                   const struct gr_request *request);

#endif
