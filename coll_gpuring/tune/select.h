/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm, how many channels, how long chunks: a cost model and the choice that follows from it.
 *
 * Everything here is a pure function of what is equal on all ranks (collective, ranks, bytes, constants), so
 * that all ranks choose alike. Nothing measured on the fly goes in.
 */
#ifndef GR_TUNE_SELECT_H
#define GR_TUNE_SELECT_H

#include "../sched/sched.h"

/* Constants of the model, in microseconds. */
struct gr_costs {
    double step;     /* one step: see that a slot is there, hand it over */
    double byte;     /* move a byte through a link: written by one side, read by the other */
    int flat_ranks;  /* GR_ALGO_FLAT only up to that many ranks: it needs a link to everybody */
    size_t channel_bytes; /* a further channel only for each so many bytes of S */
};

/* Links in host shared memory. */
extern const struct gr_costs gr_costs_host;

struct gr_choice {
    enum gr_algo algo;
    uint32_t nchannels;
    size_t chunk_bytes; /* for gr_request.chunk_bytes */
    double us;          /* what the model expects */
};

/* What is to be chosen for. */
struct gr_question {
    enum gr_coll coll;
    int p;
    size_t bytes;      /* S as bandwidth is counted: the vector; all blocks for allgather and reduce_scatter */
    int forced;        /* an enum gr_algo that has a schedule for coll, or -1 */
    uint32_t nchannels; /* at most */
    size_t slot_bytes;
};

/* The model's time for one algorithm, with the chunk length that suits it best. */
double gr_cost(const struct gr_costs *costs, const struct gr_question *q, enum gr_algo algo, size_t *chunk_bytes);

struct gr_choice gr_select(const struct gr_costs *costs, const struct gr_question *q);

#endif
