/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry points: seven collectives, each blocking, nonblocking and persistent. They only gather their
 * arguments; what happens to them is the business of mca_coll_gpuring_enter(). The inverse, calling the saved
 * function, is here too.
 */
#include "coll_gpuring.h"

const struct gr_call_row gr_calls[GR_NCALLS] = {
    [GR_CALL_ALLREDUCE] = {"allreduce", GR_COLL_ALLREDUCE, .reduces = true},
    [GR_CALL_ALLGATHER] = {"allgather", GR_COLL_ALLGATHER},
    [GR_CALL_ALLGATHERV] = {"allgatherv", GR_COLL_ALLGATHER},
    [GR_CALL_REDUCE_SCATTER] = {"reduce_scatter", GR_COLL_REDUCE_SCATTER, .reduces = true},
    [GR_CALL_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", GR_COLL_REDUCE_SCATTER, .reduces = true},
    [GR_CALL_BCAST] = {"bcast", GR_COLL_BCAST, .has_root = true},
    [GR_CALL_REDUCE] = {"reduce", GR_COLL_REDUCE, .has_root = true, .reduces = true},
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

ENTRIES(allreduce, GR_CALL_ALLREDUCE,
        LIST(const void *sbuf, void *rbuf, gr_count_t count, struct ompi_datatype_t *type, struct ompi_op_t *op),
        .sbuf = sbuf, .rbuf = rbuf, .rcount = (size_t) count, .rtype = type, .op = op)

ENTRIES(allgather, GR_CALL_ALLGATHER,
        LIST(const void *sbuf, gr_count_t scount, struct ompi_datatype_t *stype, void *rbuf, gr_count_t rcount,
             struct ompi_datatype_t *rtype),
        .sbuf = sbuf, .scount = (size_t) scount, .stype = stype, .rbuf = rbuf, .rcount = (size_t) rcount,
        .rtype = rtype)

ENTRIES(allgatherv, GR_CALL_ALLGATHERV,
        LIST(const void *sbuf, gr_count_t scount, struct ompi_datatype_t *stype, void *rbuf, gr_counts_t rcounts,
             gr_counts_t displs, struct ompi_datatype_t *rtype),
        .sbuf = sbuf, .scount = (size_t) scount, .stype = stype, .rbuf = rbuf, .rcounts = rcounts, .displs = displs,
        .rtype = rtype)

ENTRIES(reduce_scatter, GR_CALL_REDUCE_SCATTER,
        LIST(const void *sbuf, void *rbuf, gr_counts_t rcounts, struct ompi_datatype_t *type, struct ompi_op_t *op),
        .sbuf = sbuf, .rbuf = rbuf, .rcounts = rcounts, .rtype = type, .op = op)

ENTRIES(reduce_scatter_block, GR_CALL_REDUCE_SCATTER_BLOCK,
        LIST(const void *sbuf, void *rbuf, gr_count_t rcount, struct ompi_datatype_t *type, struct ompi_op_t *op),
        .sbuf = sbuf, .rbuf = rbuf, .rcount = (size_t) rcount, .rtype = type, .op = op)

ENTRIES(bcast, GR_CALL_BCAST, LIST(void *buf, gr_count_t count, struct ompi_datatype_t *type, int root),
        .rbuf = buf, .rcount = (size_t) count, .rtype = type, .root = root)

ENTRIES(reduce, GR_CALL_REDUCE,
        LIST(const void *sbuf, void *rbuf, gr_count_t count, struct ompi_datatype_t *type, struct ompi_op_t *op,
             int root),
        .sbuf = sbuf, .rbuf = rbuf, .rcount = (size_t) count, .rtype = type, .op = op, .root = root)

void mca_coll_gpuring_calls_install(mca_coll_gpuring_module_t *module)
{
#define INSTALL(name) module->super.coll_##name = enter_##name;
    GR_FOR_EACH_FUNCTION(INSTALL)
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
    default:
        SAVED(reduce, c->sbuf, c->rbuf, rcount, c->rtype, c->op, c->root)
    }
}
