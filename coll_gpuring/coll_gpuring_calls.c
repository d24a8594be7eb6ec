/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seven entry points. Each only gathers its arguments; what happens to them is the business of
 * mca_coll_gpuring_enter(). The inverse, calling the saved function, is here too.
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

#define ENTER(...) \
    mca_coll_gpuring_enter((mca_coll_gpuring_module_t *) module, &(struct gr_call) {.comm = comm, __VA_ARGS__})

static int enter_allreduce(const void *sbuf, void *rbuf, gr_count_t count, struct ompi_datatype_t *type,
                           struct ompi_op_t *op, struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    return ENTER(.id = GR_CALL_ALLREDUCE, .sbuf = sbuf, .rbuf = rbuf, .rcount = (size_t) count, .rtype = type,
                 .op = op);
}

static int enter_allgather(const void *sbuf, gr_count_t scount, struct ompi_datatype_t *stype, void *rbuf,
                           gr_count_t rcount, struct ompi_datatype_t *rtype, struct ompi_communicator_t *comm,
                           mca_coll_base_module_t *module)
{
    return ENTER(.id = GR_CALL_ALLGATHER, .sbuf = sbuf, .scount = (size_t) scount, .stype = stype, .rbuf = rbuf,
                 .rcount = (size_t) rcount, .rtype = rtype);
}

static int enter_allgatherv(const void *sbuf, gr_count_t scount, struct ompi_datatype_t *stype, void *rbuf,
                            gr_counts_t rcounts, gr_counts_t displs, struct ompi_datatype_t *rtype,
                            struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    return ENTER(.id = GR_CALL_ALLGATHERV, .sbuf = sbuf, .scount = (size_t) scount, .stype = stype, .rbuf = rbuf,
                 .rcounts = rcounts, .displs = displs, .rtype = rtype);
}

static int enter_reduce_scatter(const void *sbuf, void *rbuf, gr_counts_t rcounts, struct ompi_datatype_t *type,
                                struct ompi_op_t *op, struct ompi_communicator_t *comm,
                                mca_coll_base_module_t *module)
{
    return ENTER(.id = GR_CALL_REDUCE_SCATTER, .sbuf = sbuf, .rbuf = rbuf, .rcounts = rcounts, .rtype = type,
                 .op = op);
}

static int enter_reduce_scatter_block(const void *sbuf, void *rbuf, gr_count_t rcount, struct ompi_datatype_t *type,
                                      struct ompi_op_t *op, struct ompi_communicator_t *comm,
                                      mca_coll_base_module_t *module)
{
    return ENTER(.id = GR_CALL_REDUCE_SCATTER_BLOCK, .sbuf = sbuf, .rbuf = rbuf, .rcount = (size_t) rcount,
                 .rtype = type, .op = op);
}

static int enter_bcast(void *buf, gr_count_t count, struct ompi_datatype_t *type, int root,
                       struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    return ENTER(.id = GR_CALL_BCAST, .rbuf = buf, .rcount = (size_t) count, .rtype = type, .root = root);
}

static int enter_reduce(const void *sbuf, void *rbuf, gr_count_t count, struct ompi_datatype_t *type,
                        struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
                        mca_coll_base_module_t *module)
{
    return ENTER(.id = GR_CALL_REDUCE, .sbuf = sbuf, .rbuf = rbuf, .rcount = (size_t) count, .rtype = type, .op = op,
                 .root = root);
}

void mca_coll_gpuring_calls_install(mca_coll_gpuring_module_t *module)
{
#define INSTALL(name) module->super.coll_##name = enter_##name;
    GR_FOR_EACH_CALL(INSTALL)
#undef INSTALL
}

int mca_coll_gpuring_call_saved(mca_coll_gpuring_module_t *m, const struct gr_call *c)
{
    gr_count_t rcount = (gr_count_t) c->rcount;

    switch (c->id) {
    case GR_CALL_ALLREDUCE:
        return m->saved_allreduce(c->sbuf, c->rbuf, rcount, c->rtype, c->op, c->comm, m->saved_allreduce_module);
    case GR_CALL_ALLGATHER:
        return m->saved_allgather(c->sbuf, (gr_count_t) c->scount, c->stype, c->rbuf, rcount, c->rtype, c->comm,
                                  m->saved_allgather_module);
    case GR_CALL_ALLGATHERV:
        return m->saved_allgatherv(c->sbuf, (gr_count_t) c->scount, c->stype, c->rbuf, c->rcounts, c->displs,
                                   c->rtype, c->comm, m->saved_allgatherv_module);
    case GR_CALL_REDUCE_SCATTER:
        return m->saved_reduce_scatter(c->sbuf, c->rbuf, c->rcounts, c->rtype, c->op, c->comm,
                                       m->saved_reduce_scatter_module);
    case GR_CALL_REDUCE_SCATTER_BLOCK:
        return m->saved_reduce_scatter_block(c->sbuf, c->rbuf, rcount, c->rtype, c->op, c->comm,
                                             m->saved_reduce_scatter_block_module);
    case GR_CALL_BCAST:
        return m->saved_bcast(c->rbuf, rcount, c->rtype, c->root, c->comm, m->saved_bcast_module);
    default:
        return m->saved_reduce(c->sbuf, c->rbuf, rcount, c->rtype, c->op, c->root, c->comm, m->saved_reduce_module);
    }
}
