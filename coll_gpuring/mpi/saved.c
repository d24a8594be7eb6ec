/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that the module took the place of: what they are called with is what entry.c took
 * apart.
 */
#include "mpi/saved.h"

#include "mpi/call.h"
#include "mpi/module.h"

#define LIST(...) __VA_ARGS__

/* Call the saved function of the form with the collective's own arguments, each with a comma. */
#define SAVED_WITH(name, arguments)                                                           \
    switch (form->kind) {                                                                     \
    case GR_BLOCKING:                                                                         \
        return m->saved_##name(arguments c->comm, m->saved_##name##_module);                  \
    case GR_NONBLOCKING:                                                                      \
        return m->saved_i##name(arguments c->comm, form->request, m->saved_i##name##_module); \
    default:                                                                                  \
        return m->saved_##name##_init(arguments c->comm, form->info, form->request,           \
                                      m->saved_##name##_init_module);                         \
    }
#define SAVED(name, ...) SAVED_WITH(name, LIST(__VA_ARGS__, ))

int mca_coll_gpuring_saved_call(mca_coll_gpuring_module_t *m, const struct gr_call *c,
                                const struct gr_form *form)
{
    gr_count_t scount = (gr_count_t) c->scount, rcount = (gr_count_t) c->rcount;

    switch (c->id) {
    case GR_CALL_ALLREDUCE:
        SAVED(allreduce, c->sbuf, c->rbuf, rcount, c->rtype, c->reduction)
    case GR_CALL_ALLGATHER:
        SAVED(allgather, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype)
    case GR_CALL_ALLGATHERV:
        SAVED(allgatherv, c->sbuf, scount, c->stype, c->rbuf, c->rcounts, c->displs, c->rtype)
    case GR_CALL_REDUCE_SCATTER:
        SAVED(reduce_scatter, c->sbuf, c->rbuf, c->rcounts, c->rtype, c->reduction)
    case GR_CALL_REDUCE_SCATTER_BLOCK:
        SAVED(reduce_scatter_block, c->sbuf, c->rbuf, rcount, c->rtype, c->reduction)
    case GR_CALL_BCAST:
        SAVED(bcast, c->rbuf, rcount, c->rtype, c->root)
    case GR_CALL_REDUCE:
        SAVED(reduce, c->sbuf, c->rbuf, rcount, c->rtype, c->reduction, c->root)
    case GR_CALL_GATHER:
        SAVED(gather, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype, c->root)
    case GR_CALL_GATHERV:
        SAVED(gatherv, c->sbuf, scount, c->stype, c->rbuf, c->rcounts, c->displs, c->rtype, c->root)
    case GR_CALL_SCATTER:
        SAVED(scatter, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype, c->root)
    case GR_CALL_SCATTERV:
        SAVED(scatterv, c->sbuf, c->scounts, c->sdispls, c->stype, c->rbuf, rcount, c->rtype,
              c->root)
    case GR_CALL_ALLTOALL:
        SAVED(alltoall, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype)
    case GR_CALL_ALLTOALLV:
        SAVED(alltoallv, c->sbuf, c->scounts, c->sdispls, c->stype, c->rbuf, c->rcounts, c->displs,
              c->rtype)
    case GR_CALL_ALLTOALLW:
        SAVED(alltoallw, c->sbuf, c->scounts, c->sdispls, c->stypes, c->rbuf, c->rcounts, c->displs,
              c->rtypes)
    case GR_CALL_BARRIER:
        SAVED_WITH(barrier, )
    case GR_CALL_SCAN:
        SAVED(scan, c->sbuf, c->rbuf, rcount, c->rtype, c->reduction)
    case GR_CALL_EXSCAN:
        SAVED(exscan, c->sbuf, c->rbuf, rcount, c->rtype, c->reduction)
    case GR_CALL_NEIGHBOR_ALLGATHER:
        SAVED(neighbor_allgather, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype)
    case GR_CALL_NEIGHBOR_ALLGATHERV:
        SAVED(neighbor_allgatherv, c->sbuf, scount, c->stype, c->rbuf, c->rcounts, c->displs,
              c->rtype)
    case GR_CALL_NEIGHBOR_ALLTOALL:
        SAVED(neighbor_alltoall, c->sbuf, scount, c->stype, c->rbuf, rcount, c->rtype)
    case GR_CALL_NEIGHBOR_ALLTOALLV:
        SAVED(neighbor_alltoallv, c->sbuf, c->scounts, c->sdispls, c->stype, c->rbuf, c->rcounts,
              c->displs, c->rtype)
    case GR_CALL_NEIGHBOR_ALLTOALLW:
        SAVED(neighbor_alltoallw, c->sbuf, c->scounts, c->soffsets, c->stypes, c->rbuf, c->rcounts,
              c->roffsets, c->rtypes)
    default:
        return m->saved_reduce_local(c->sbuf, c->rbuf, rcount, c->rtype, c->reduction,
                                     m->saved_reduce_local_module);
    }
}
