/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry points: all collectives that have buffers, each blocking, nonblocking and persistent. They only gather their
 * arguments; what happens to them is the business of mca_coll_gpuring_enter(). The inverse, calling the saved
 * function, is here too.
 */
#include "coll_gpuring.h"

#define SEND(...) .send = {__VA_ARGS__}
#define RECEIVE(...) .receive = {__VA_ARGS__}

const struct gr_call_row gr_calls[GR_NCALLS] = {
    [GR_CALL_ALLREDUCE] = {"allreduce", GR_COLL_ALLREDUCE, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_ONE),
                           .reduces = true, .elementwise = true},
    [GR_CALL_ALLGATHER] = {"allgather", GR_COLL_ALLGATHER, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_EACH)},
    [GR_CALL_ALLGATHERV] = {"allgatherv", GR_COLL_ALLGATHER, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_V)},
    [GR_CALL_REDUCE_SCATTER] = {"reduce_scatter", GR_COLL_REDUCE_SCATTER, SEND(GR_PARTS_SUM), RECEIVE(GR_PARTS_OWN),
                                .reduces = true},
    [GR_CALL_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", GR_COLL_REDUCE_SCATTER, SEND(GR_PARTS_SUM),
                                      RECEIVE(GR_PARTS_OWN), .reduces = true},
    [GR_CALL_BCAST] = {"bcast", GR_COLL_BCAST, RECEIVE(GR_PARTS_ONE), .has_root = true},
    [GR_CALL_REDUCE] = {"reduce", GR_COLL_REDUCE, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_ONE, GR_HELD_BY_ROOT),
                        .has_root = true, .reduces = true, .elementwise = true},
    [GR_CALL_GATHER] = {"gather", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_EACH, GR_HELD_BY_ROOT), .has_root = true},
    [GR_CALL_GATHERV] = {"gatherv", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_V, GR_HELD_BY_ROOT), .has_root = true},
    [GR_CALL_SCATTER] = {"scatter", 0, SEND(GR_PARTS_EACH, GR_HELD_BY_ROOT), RECEIVE(GR_PARTS_ONE),
                         .has_root = true},
    [GR_CALL_SCATTERV] = {"scatterv", 0, SEND(GR_PARTS_V, GR_HELD_BY_ROOT), RECEIVE(GR_PARTS_ONE), .has_root = true},
    [GR_CALL_ALLTOALL] = {"alltoall", GR_COLL_ALLTOALL, SEND(GR_PARTS_EACH), RECEIVE(GR_PARTS_EACH)},
    [GR_CALL_ALLTOALLV] = {"alltoallv", 0, SEND(GR_PARTS_V), RECEIVE(GR_PARTS_V)},
    [GR_CALL_ALLTOALLW] = {"alltoallw", 0, SEND(GR_PARTS_W), RECEIVE(GR_PARTS_W)},
    [GR_CALL_SCAN] = {"scan", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_ONE), .reduces = true, .elementwise = true},
    [GR_CALL_EXSCAN] = {"exscan", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_ONE), .reduces = true, .elementwise = true},
    [GR_CALL_NEIGHBOR_ALLGATHER] = {"neighbor_allgather", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_EACH),
                                    .neighbors = true},
    [GR_CALL_NEIGHBOR_ALLGATHERV] = {"neighbor_allgatherv", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_V),
                                     .neighbors = true},
    [GR_CALL_NEIGHBOR_ALLTOALL] = {"neighbor_alltoall", 0, SEND(GR_PARTS_EACH), RECEIVE(GR_PARTS_EACH),
                                   .neighbors = true},
    [GR_CALL_NEIGHBOR_ALLTOALLV] = {"neighbor_alltoallv", 0, SEND(GR_PARTS_V), RECEIVE(GR_PARTS_V),
                                    .neighbors = true},
    [GR_CALL_NEIGHBOR_ALLTOALLW] = {"neighbor_alltoallw", 0, SEND(GR_PARTS_W), RECEIVE(GR_PARTS_W),
                                    .neighbors = true},
    [GR_CALL_REDUCE_LOCAL] = {"reduce_local", 0, SEND(GR_PARTS_ONE), RECEIVE(GR_PARTS_ONE), .reduces = true,
                              .elementwise = true},
};

#define LIST(...) __VA_ARGS__

/* The three entry points of a collective: its own parameters, and what they are in struct gr_call. */
#define ENTRIES(name, ID, parameters, ...)                                                                            \
    static int enter_##name(parameters, struct ompi_communicator_t *comm, mca_coll_base_module_t *module)             \
    {                                                                                                                 \
        struct gr_call call = {.id = ID, .comm = comm, __VA_ARGS__};                                                  \
        struct gr_form form = {.kind = GR_BLOCKING};                                                                  \
        return mca_coll_gpuring_enter((mca_coll_gpuring_module_t *) module, &call, &form);                            \
    }                                                                                                                 \
    static int enter_i##name(parameters, struct ompi_communicator_t *comm, ompi_request_t **request,                  \
                             mca_coll_base_module_t *module)                                                          \
    {                                                                                                                 \
        struct gr_call call = {.id = ID, .comm = comm, __VA_ARGS__};                                                  \
        struct gr_form form = {.kind = GR_NONBLOCKING, .request = request};                                           \
        return mca_coll_gpuring_enter((mca_coll_gpuring_module_t *) module, &call, &form);                            \
    }                                                                                                                 \
    static int enter_##name##_init(parameters, struct ompi_communicator_t *comm, struct ompi_info_t *info,            \
                                   ompi_request_t **request, mca_coll_base_module_t *module)                          \
    {                                                                                                                 \
        struct gr_call call = {.id = ID, .comm = comm, __VA_ARGS__};                                                  \
        struct gr_form form = {.kind = GR_PERSISTENT, .info = info, .request = request};                              \
        return mca_coll_gpuring_enter((mca_coll_gpuring_module_t *) module, &call, &form);                            \
    }

/* Parameters that several have in common, and what they are in the call. */
#define BLOCKS_IN const void *sbuf, gr_count_t scount, struct ompi_datatype_t *stype
#define BLOCKS_IN_V const void *sbuf, gr_counts_t scounts, gr_counts_t sdispls, struct ompi_datatype_t *stype
#define BLOCKS_OUT void *rbuf, gr_count_t rcount, struct ompi_datatype_t *rtype
#define BLOCKS_OUT_V void *rbuf, gr_counts_t rcounts, gr_counts_t displs, struct ompi_datatype_t *rtype
#define OF_BLOCKS_IN .sbuf = sbuf, .scount = (size_t) scount, .stype = stype
#define OF_BLOCKS_IN_V .sbuf = sbuf, .scounts = scounts, .sdispls = sdispls, .stype = stype
#define OF_BLOCKS_OUT .rbuf = rbuf, .rcount = (size_t) rcount, .rtype = rtype
#define OF_BLOCKS_OUT_V .rbuf = rbuf, .rcounts = rcounts, .displs = displs, .rtype = rtype
#define REDUCED const void *sbuf, void *rbuf, gr_count_t count, struct ompi_datatype_t *type, struct ompi_op_t *op
#define OF_REDUCED .sbuf = sbuf, .rbuf = rbuf, .rcount = (size_t) count, .rtype = type, .op = op

ENTRIES(allreduce, GR_CALL_ALLREDUCE, LIST(REDUCED), OF_REDUCED)

ENTRIES(allgather, GR_CALL_ALLGATHER, LIST(BLOCKS_IN, BLOCKS_OUT), OF_BLOCKS_IN, OF_BLOCKS_OUT)
ENTRIES(allgatherv, GR_CALL_ALLGATHERV, LIST(BLOCKS_IN, BLOCKS_OUT_V), OF_BLOCKS_IN, OF_BLOCKS_OUT_V)

ENTRIES(reduce_scatter, GR_CALL_REDUCE_SCATTER,
        LIST(const void *sbuf, void *rbuf, gr_counts_t rcounts, struct ompi_datatype_t *type, struct ompi_op_t *op),
        .sbuf = sbuf, .rbuf = rbuf, .rcounts = rcounts, .rtype = type, .op = op)

ENTRIES(reduce_scatter_block, GR_CALL_REDUCE_SCATTER_BLOCK,
        LIST(const void *sbuf, void *rbuf, gr_count_t rcount, struct ompi_datatype_t *type, struct ompi_op_t *op),
        .sbuf = sbuf, .rbuf = rbuf, .rcount = (size_t) rcount, .rtype = type, .op = op)

ENTRIES(bcast, GR_CALL_BCAST, LIST(void *buf, gr_count_t count, struct ompi_datatype_t *type, int root),
        .rbuf = buf, .rcount = (size_t) count, .rtype = type, .root = root)

ENTRIES(reduce, GR_CALL_REDUCE, LIST(REDUCED, int root), OF_REDUCED, .root = root)
ENTRIES(gather, GR_CALL_GATHER, LIST(BLOCKS_IN, BLOCKS_OUT, int root), OF_BLOCKS_IN, OF_BLOCKS_OUT, .root = root)
ENTRIES(gatherv, GR_CALL_GATHERV, LIST(BLOCKS_IN, BLOCKS_OUT_V, int root), OF_BLOCKS_IN, OF_BLOCKS_OUT_V, .root = root)
ENTRIES(scatter, GR_CALL_SCATTER, LIST(BLOCKS_IN, BLOCKS_OUT, int root), OF_BLOCKS_IN, OF_BLOCKS_OUT, .root = root)
ENTRIES(scatterv, GR_CALL_SCATTERV, LIST(BLOCKS_IN_V, BLOCKS_OUT, int root), OF_BLOCKS_IN_V, OF_BLOCKS_OUT,
        .root = root)
ENTRIES(alltoall, GR_CALL_ALLTOALL, LIST(BLOCKS_IN, BLOCKS_OUT), OF_BLOCKS_IN, OF_BLOCKS_OUT)
ENTRIES(alltoallv, GR_CALL_ALLTOALLV, LIST(BLOCKS_IN_V, BLOCKS_OUT_V), OF_BLOCKS_IN_V, OF_BLOCKS_OUT_V)
ENTRIES(alltoallw, GR_CALL_ALLTOALLW,
        LIST(const void *sbuf, gr_counts_t scounts, gr_counts_t sdispls, struct ompi_datatype_t *const *stypes,
             void *rbuf, gr_counts_t rcounts, gr_counts_t displs, struct ompi_datatype_t *const *rtypes),
        .sbuf = sbuf, .scounts = scounts, .sdispls = sdispls, .stypes = stypes, .rbuf = rbuf, .rcounts = rcounts,
        .displs = displs, .rtypes = rtypes)
ENTRIES(scan, GR_CALL_SCAN, LIST(REDUCED), OF_REDUCED)
ENTRIES(exscan, GR_CALL_EXSCAN, LIST(REDUCED), OF_REDUCED)
ENTRIES(neighbor_allgather, GR_CALL_NEIGHBOR_ALLGATHER, LIST(BLOCKS_IN, BLOCKS_OUT), OF_BLOCKS_IN, OF_BLOCKS_OUT)
ENTRIES(neighbor_allgatherv, GR_CALL_NEIGHBOR_ALLGATHERV, LIST(BLOCKS_IN, BLOCKS_OUT_V), OF_BLOCKS_IN, OF_BLOCKS_OUT_V)
ENTRIES(neighbor_alltoall, GR_CALL_NEIGHBOR_ALLTOALL, LIST(BLOCKS_IN, BLOCKS_OUT), OF_BLOCKS_IN, OF_BLOCKS_OUT)
ENTRIES(neighbor_alltoallv, GR_CALL_NEIGHBOR_ALLTOALLV, LIST(BLOCKS_IN_V, BLOCKS_OUT_V), OF_BLOCKS_IN_V,
        OF_BLOCKS_OUT_V)
ENTRIES(neighbor_alltoallw, GR_CALL_NEIGHBOR_ALLTOALLW,
        LIST(const void *sbuf, gr_counts_t scounts, const MPI_Aint *soffsets, struct ompi_datatype_t *const *stypes,
             void *rbuf, gr_counts_t rcounts, const MPI_Aint *roffsets, struct ompi_datatype_t *const *rtypes),
        .sbuf = sbuf, .scounts = scounts, .soffsets = soffsets, .stypes = stypes, .rbuf = rbuf, .rcounts = rcounts,
        .roffsets = roffsets, .rtypes = rtypes)

static int enter_reduce_local(REDUCED, mca_coll_base_module_t *module)
{
    struct gr_call call = {.id = GR_CALL_REDUCE_LOCAL, OF_REDUCED};
    struct gr_form form = {.kind = GR_BLOCKING};
    return mca_coll_gpuring_enter((mca_coll_gpuring_module_t *) module, &call, &form);
}

void mca_coll_gpuring_calls_install(mca_coll_gpuring_module_t *module, bool staged)
{
#define INSTALL(name) module->super.coll_##name = enter_##name;
    GR_FOR_EACH_TAKEN(INSTALL)
    if (staged) {
        GR_FOR_EACH_STAGED(INSTALL)
    }
#undef INSTALL
}

/* Call the saved function of the form with the collective's own arguments. */
#define SAVED(name, ...)                                                                                              \
    switch (form->kind) {                                                                                             \
    case GR_BLOCKING:                                                                                                 \
        return m->saved_##name(__VA_ARGS__, c->comm, m->saved_##name##_module);                                       \
    case GR_NONBLOCKING:                                                                                              \
        return m->saved_i##name(__VA_ARGS__, c->comm, form->request, m->saved_i##name##_module);                      \
    default:                                                                                                          \
        return m->saved_##name##_init(__VA_ARGS__, c->comm, form->info, form->request,                                \
                                      m->saved_##name##_init_module);                                                 \
    }

int mca_coll_gpuring_call_saved(mca_coll_gpuring_module_t *m, const struct gr_call *c, const struct gr_form *form)
{
    gr_count_t scount = (gr_count_t) c->scount, rcount = (gr_count_t) c->rcount;

    switch (c->id) {
    case GR_CALL_ALLREDUCE:
        SAVED(allreduce, c->sbuf, c->rbuf, rcount, c->rtype, c->op)
    case GR_CALL_ALLGATHER:
        SAVED(allgather, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype)
    case GR_CALL_ALLGATHERV:
        SAVED(allgatherv, c->sbuf, scount, c->stype, c->rbuf, c->rcounts, c->displs, c->rtype)
    case GR_CALL_REDUCE_SCATTER:
        SAVED(reduce_scatter, c->sbuf, c->rbuf, c->rcounts, c->rtype, c->op)
    case GR_CALL_REDUCE_SCATTER_BLOCK:
        SAVED(reduce_scatter_block, c->sbuf, c->rbuf, rcount, c->rtype, c->op)
    case GR_CALL_BCAST:
        SAVED(bcast, c->rbuf, rcount, c->rtype, c->root)
    case GR_CALL_REDUCE:
        SAVED(reduce, c->sbuf, c->rbuf, rcount, c->rtype, c->op, c->root)
    case GR_CALL_GATHER:
        SAVED(gather, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype, c->root)
    case GR_CALL_GATHERV:
        SAVED(gatherv, c->sbuf, scount, c->stype, c->rbuf, c->rcounts, c->displs, c->rtype, c->root)
    case GR_CALL_SCATTER:
        SAVED(scatter, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype, c->root)
    case GR_CALL_SCATTERV:
        SAVED(scatterv, c->sbuf, c->scounts, c->sdispls, c->stype, c->rbuf, rcount, c->rtype, c->root)
    case GR_CALL_ALLTOALL:
        SAVED(alltoall, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype)
    case GR_CALL_ALLTOALLV:
        SAVED(alltoallv, c->sbuf, c->scounts, c->sdispls, c->stype, c->rbuf, c->rcounts, c->displs, c->rtype)
    case GR_CALL_ALLTOALLW:
        SAVED(alltoallw, c->sbuf, c->scounts, c->sdispls, c->stypes, c->rbuf, c->rcounts, c->displs, c->rtypes)
    case GR_CALL_SCAN:
        SAVED(scan, c->sbuf, c->rbuf, rcount, c->rtype, c->op)
    case GR_CALL_EXSCAN:
        SAVED(exscan, c->sbuf, c->rbuf, rcount, c->rtype, c->op)
    case GR_CALL_NEIGHBOR_ALLGATHER:
        SAVED(neighbor_allgather, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype)
    case GR_CALL_NEIGHBOR_ALLGATHERV:
        SAVED(neighbor_allgatherv, c->sbuf, scount, c->stype, c->rbuf, c->rcounts, c->displs, c->rtype)
    case GR_CALL_NEIGHBOR_ALLTOALL:
        SAVED(neighbor_alltoall, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype)
    case GR_CALL_NEIGHBOR_ALLTOALLV:
        SAVED(neighbor_alltoallv, c->sbuf, c->scounts, c->sdispls, c->stype, c->rbuf, c->rcounts, c->displs, c->rtype)
    case GR_CALL_NEIGHBOR_ALLTOALLW:
        SAVED(neighbor_alltoallw, c->sbuf, c->scounts, c->soffsets, c->stypes, c->rbuf, c->rcounts, c->roffsets,
              c->rtypes)
    default:
        return m->saved_reduce_local(c->sbuf, c->rbuf, rcount, c->rtype, c->op, m->saved_reduce_local_module);
    }
}
