/* SPDX-License-Identifier: BSD-3-Clause */
/* The eight collectives that gpuring takes. */
#ifndef TEST_COLLS_H
#define TEST_COLLS_H

#include <stdbool.h>

enum coll {
    COLL_ALLREDUCE,
    COLL_ALLGATHER,
    COLL_ALLGATHERV,
    COLL_REDUCE_SCATTER,
    COLL_REDUCE_SCATTER_BLOCK,
    COLL_BCAST,
    COLL_REDUCE,
    COLL_ALLTOALL,
    NUM_COLLS
};

struct coll_info {
    const char *name;
    bool reduces;  /* has an operation */
    bool blocks;   /* one block for each rank: the vector is shared out */
    bool in_place; /* MPI_IN_PLACE exists */
};

extern const struct coll_info coll_infos[NUM_COLLS];

#endif
