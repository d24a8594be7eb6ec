/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of MPI's collectives: what their buffers look like, and which of the schedules'
 * collectives they are.
 */
#include "comm/collectives.h"

#include "sched/sched.h"

#define SEND(...) .send = {__VA_ARGS__}
#define RECEIVE(...) .receive = {__VA_ARGS__}

const struct gr_call_row gr_calls[GR_NCALLS] = {
    [GR_CALL_ALLREDUCE] = {"allreduce", GR_COLL_ALLREDUCE, SEND(GR_PARTS_ONE),
                           RECEIVE(GR_PARTS_ONE), .reduces = true, .elementwise = true},
    [GR_CALL_ALLGATHER] = {"allgather", GR_COLL_ALLGATHER, SEND(GR_PARTS_ONE),
                           RECEIVE(GR_PARTS_EACH)},
    [GR_CALL_ALLGATHERV] = {"allgatherv", GR_COLL_ALLGATHER, SEND(GR_PARTS_ONE),
                            RECEIVE(GR_PARTS_V)},
    [GR_CALL_REDUCE_SCATTER] = {"reduce_scatter", GR_COLL_REDUCE_SCATTER, SEND(GR_PARTS_SUM),
                                RECEIVE(GR_PARTS_OWN), .reduces = true},
    [GR_CALL_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", GR_COLL_REDUCE_SCATTER,
                                      SEND(GR_PARTS_SUM), RECEIVE(GR_PARTS_OWN), .reduces = true},
    [GR_CALL_BCAST] = {"bcast", GR_COLL_BCAST, RECEIVE(GR_PARTS_ONE), .has_root = true},
    [GR_CALL_REDUCE] = {"reduce", GR_COLL_REDUCE, SEND(GR_PARTS_ONE),
                        RECEIVE(GR_PARTS_ONE, GR_HELD_BY_ROOT), .has_root = true, .reduces = true,
                        .elementwise = true},
    [GR_CALL_BARRIER] = {"barrier", GR_COLL_BARRIER},
    [GR_CALL_GATHER] = {"gather", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_EACH, GR_HELD_BY_ROOT),
                        .has_root = true},
    [GR_CALL_GATHERV] = {"gatherv", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_V, GR_HELD_BY_ROOT),
                         .has_root = true},
    [GR_CALL_SCATTER] = {"scatter", 0, SEND(GR_PARTS_EACH, GR_HELD_BY_ROOT), RECEIVE(GR_PARTS_ONE),
                         .has_root = true},
    [GR_CALL_SCATTERV] = {"scatterv", 0, SEND(GR_PARTS_V, GR_HELD_BY_ROOT), RECEIVE(GR_PARTS_ONE),
                          .has_root = true},
    [GR_CALL_ALLTOALL] = {"alltoall", GR_COLL_ALLTOALL, SEND(GR_PARTS_EACH),
                          RECEIVE(GR_PARTS_EACH)},
    [GR_CALL_ALLTOALLV] = {"alltoallv", 0, SEND(GR_PARTS_V), RECEIVE(GR_PARTS_V)},
    [GR_CALL_ALLTOALLW] = {"alltoallw", 0, SEND(GR_PARTS_W), RECEIVE(GR_PARTS_W)},
    [GR_CALL_SCAN] = {"scan", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_ONE), .reduces = true,
                      .elementwise = true},
    [GR_CALL_EXSCAN] = {"exscan", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_ONE), .reduces = true,
                        .elementwise = true},
    [GR_CALL_NEIGHBOR_ALLGATHER] = {"neighbor_allgather", 0, SEND(GR_PARTS_ONE),
                                    RECEIVE(GR_PARTS_EACH), .neighbors = true},
    [GR_CALL_NEIGHBOR_ALLGATHERV] = {"neighbor_allgatherv", 0, SEND(GR_PARTS_ONE),
                                     RECEIVE(GR_PARTS_V), .neighbors = true},
    [GR_CALL_NEIGHBOR_ALLTOALL] = {"neighbor_alltoall", 0, SEND(GR_PARTS_EACH),
                                   RECEIVE(GR_PARTS_EACH), .neighbors = true},
    [GR_CALL_NEIGHBOR_ALLTOALLV] = {"neighbor_alltoallv", 0, SEND(GR_PARTS_V), RECEIVE(GR_PARTS_V),
                                    .neighbors = true},
    [GR_CALL_NEIGHBOR_ALLTOALLW] = {"neighbor_alltoallw", 0, SEND(GR_PARTS_W), RECEIVE(GR_PARTS_W),
                                    .neighbors = true},
    [GR_CALL_REDUCE_LOCAL] = {"reduce_local", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_ONE),
                              .reduces = true, .elementwise = true},
};
