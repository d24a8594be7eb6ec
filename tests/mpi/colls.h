/* SPDX-License-Identifier: BSD-3-Clause */
/* The eight collectives that gpuring takes. */
#ifndef TEST_COLLS_H
#define TEST_COLLS_H

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

#endif
