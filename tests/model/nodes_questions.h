/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to the model between nodes, for its tests. To be included behind cmocka's, by one file of a program. */
#ifndef GR_TESTS_CORE_NODES_QUESTIONS_H
#define GR_TESTS_CORE_NODES_QUESTIONS_H

#include "tune/select.h"

enum { SLOT_BYTES = 65536, CHANNELS = 4 };

static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_ALLGATHER, GR_COLL_REDUCE_SCATTER, GR_COLL_BCAST,
                                     GR_COLL_REDUCE, GR_COLL_ALLTOALL};
enum { NCOLLS = sizeof(colls) / sizeof(colls[0]) };

/* Nodes with so many ranks each, in the order of nodes. */
static inline struct gr_question question(enum gr_coll coll, int nodes, int ranks, size_t bytes)
{
    struct gr_question q = {.coll = coll, .p = nodes * ranks, .bytes = bytes, .forced = -1, .nchannels = CHANNELS,
                            .slot_bytes = SLOT_BYTES, .nslots = 4, .post_bytes = bytes, .protocol = -1,
                            .far = {nodes, ranks, 20, 0.0008}};

    if (nodes > 1) {
        q.torus = (struct gr_torus) {.ndims = 2, .dims = {ranks, nodes}, .nested = 1};
    }
    return q;
}

static inline int way_of(struct gr_question q)
{
    return gr_select(&gr_costs_host, &q).way;
}

#endif
