/* SPDX-License-Identifier: BSD-3-Clause */
/* Building a plan: what the stepper runs for one call of one team. */
#ifndef GR_EXEC_PLAN_H
#define GR_EXEC_PLAN_H

#include "exec/stepper.h"
#include "link/team.h"

/* A call in the terms of schedules. The plan refers to its arrays and does not copy them. */
struct gr_plan_spec {
    enum gr_coll coll;
    enum gr_algo algo;
    int root;                      /* rank; 0 where there is none */
    uint32_t nchannels;            /* 1..the team's */
    size_t elem_bytes;             /* at most the links' slot_bytes */
    size_t chunk_bytes;            /* most bytes of a chunk; 0: a slot's */
    size_t total;                  /* elements of the vector (allreduce, bcast, reduce) */
    size_t block;                  /* elements per rank, where counts is NULL */
    const size_t *counts, *displs; /* by rank, elements; or NULL */
    int small;                     /* 1: over the team's links for small messages */
    int direct; /* 1: messages may be fetched from their senders' buffers (host.h) */
    /*
     * direct: most bytes of a message, if each step stores what it sends; 0: as many as a slot has
     */
    size_t direct_bytes;
    uint32_t slice_chunks;     /* pipelines: most chunks of a slice; 0: any number */
    struct gr_torus torus;     /* of the ranks; ndims 0: none is known */
    enum gr_protocol protocol; /* devices: of messages */
    /* devices, LL and LL128: threads of a block that move data, whole warps up to GR_LINE_UNITS */
    uint32_t threads;
};

/* Elements of rank r's block. */
static inline size_t gr_plan_block(const struct gr_plan_spec *spec, int r)
{
    return NULL != spec->counts ? spec->counts[r] : spec->block;
}

/* First element of rank r's block. */
static inline size_t gr_plan_block_begin(const struct gr_plan_spec *spec, int r)
{
    return NULL != spec->displs ? spec->displs[r] : (size_t) r * spec->block;
}

/*
 * Split the call's data into chunks of at most `most` bytes (a slot), and so that no message of
 * several chunks fills all slots of a link (gr_algo_message_chunks()). Chunks begin at multiples of
 * `align` bytes (a power of two) from the start of their block, so that ranks and channels do not
 * share cache lines.
 */
struct gr_split gr_plan_split(const struct gr_plan_spec *spec, int p, size_t most, uint32_t nslots,
                              size_t align);

/*
 * The schedule of a rank's channel, which refers to the order of its ring. Algorithms along a torus
 * ignore that: the channel gives their order.
 */
struct gr_sched gr_plan_sched(const struct gr_plan_spec *spec, int p, int rank,
                              const struct gr_rings *rings, uint32_t channel, uint32_t nchunks);

/* Bytes of scratch (GR_TMP) that a rank needs; 0: none. */
size_t gr_plan_scratch(const struct gr_plan_spec *spec, int p);

/* Fill the plan. The spec must be valid (checked by assertions only). */
void gr_plan_build(struct gr_plan *plan, const struct gr_team *team,
                   const struct gr_plan_spec *spec);

#endif
