/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the eight collectives. */
#include "colls.h"

const struct coll_info coll_infos[NUM_COLLS] = {
    [COLL_ALLREDUCE] = {"allreduce", true, false, true},
    [COLL_ALLGATHER] = {"allgather", false, true, true},
    [COLL_ALLGATHERV] = {"allgatherv", false, true, true},
    [COLL_REDUCE_SCATTER] = {"reduce_scatter", true, true, true},
    [COLL_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", true, true, true},
    [COLL_BCAST] = {"bcast", false, false, false},
    [COLL_REDUCE] = {"reduce", true, false, true},
    [COLL_ALLTOALL] = {"alltoall", false, true, true},
};
