/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry points: all collectives, each blocking, nonblocking and persistent.
 * They only gather their arguments; what happens to them is the business of
 * mca_coll_gpuring_dispatch().
 */
#include "mpi/dispatch.h"

#include "mpi/call.h"
#include "mpi/module.h"

#define LIST(...) __VA_ARGS__

static const struct gr_form blocking = {.kind = GR_BLOCKING};

/*
 * The three entry points of a collective: its own parameters, each with a comma behind it, and what
 * they are in struct gr_call.
 */
#define ENTRIES_WITH(name, ID, parameters, ...)                                                   \
    static int enter_##name(parameters struct ompi_communicator_t *comm,                          \
                            mca_coll_base_module_t *module)                                       \
    {                                                                                             \
        struct gr_call call = {.id = ID, .comm = comm, __VA_ARGS__};                              \
        return mca_coll_gpuring_dispatch((mca_coll_gpuring_module_t *) module, &call, &blocking); \
    }                                                                                             \
    static int enter_i##name(parameters struct ompi_communicator_t *comm,                         \
                             ompi_request_t **request, mca_coll_base_module_t *module)            \
    {                                                                                             \
        struct gr_call call = {.id = ID, .comm = comm, __VA_ARGS__};                              \
        struct gr_form form = {.kind = GR_NONBLOCKING, .request = request};                       \
        return mca_coll_gpuring_dispatch((mca_coll_gpuring_module_t *) module, &call, &form);     \
    }                                                                                             \
    static int enter_##name##_init(parameters struct ompi_communicator_t *comm,                   \
                                   struct ompi_info_t *info, ompi_request_t **request,            \
                                   mca_coll_base_module_t *module)                                \
    {                                                                                             \
        struct gr_call call = {.id = ID, .comm = comm, __VA_ARGS__};                              \
        struct gr_form form = {.kind = GR_PERSISTENT, .info = info, .request = request};          \
        return mca_coll_gpuring_dispatch((mca_coll_gpuring_module_t *) module, &call, &form);     \
    }

/* With at least one parameter besides the communicator. */
#define ENTRIES(name, ID, parameters, ...) ENTRIES_WITH(name, ID, LIST(parameters, ), __VA_ARGS__)

/* Parameters that several have in common, and what they are in the call. */
#define BLOCKS_IN const void *sbuf, gr_count_t scount, struct ompi_datatype_t *stype
#define BLOCKS_IN_V \
    const void *sbuf, gr_counts_t scounts, gr_counts_t sdispls, struct ompi_datatype_t *stype
#define BLOCKS_OUT void *rbuf, gr_count_t rcount, struct ompi_datatype_t *rtype
#define BLOCKS_OUT_V \
    void *rbuf, gr_counts_t rcounts, gr_counts_t displs, struct ompi_datatype_t *rtype
#define OF_BLOCKS_IN .sbuf = sbuf, .scount = (size_t) scount, .stype = stype
#define OF_BLOCKS_IN_V .sbuf = sbuf, .scounts = scounts, .sdispls = sdispls, .stype = stype
#define OF_BLOCKS_OUT .rbuf = rbuf, .rcount = (size_t) rcount, .rtype = rtype
#define OF_BLOCKS_OUT_V .rbuf = rbuf, .rcounts = rcounts, .displs = displs, .rtype = rtype
#define REDUCED                                                                   \
    const void *sbuf, void *rbuf, gr_count_t count, struct ompi_datatype_t *type, \
        struct ompi_op_t *op
#define OF_REDUCED \
    .sbuf = sbuf, .rbuf = rbuf, .rcount = (size_t) count, .rtype = type, .reduction = op

ENTRIES(allreduce, GR_CALL_ALLREDUCE, LIST(REDUCED), OF_REDUCED)

ENTRIES(allgather, GR_CALL_ALLGATHER, LIST(BLOCKS_IN, BLOCKS_OUT), OF_BLOCKS_IN, OF_BLOCKS_OUT)
ENTRIES(allgatherv, GR_CALL_ALLGATHERV, LIST(BLOCKS_IN, BLOCKS_OUT_V), OF_BLOCKS_IN,
        OF_BLOCKS_OUT_V)

ENTRIES(reduce_scatter, GR_CALL_REDUCE_SCATTER,
        LIST(const void *sbuf, void *rbuf, gr_counts_t rcounts, struct ompi_datatype_t *type,
             struct ompi_op_t *op),
        .sbuf = sbuf, .rbuf = rbuf, .rcounts = rcounts, .rtype = type, .reduction = op)

ENTRIES(reduce_scatter_block, GR_CALL_REDUCE_SCATTER_BLOCK,
        LIST(const void *sbuf, void *rbuf, gr_count_t rcount, struct ompi_datatype_t *type,
             struct ompi_op_t *op),
        .sbuf = sbuf, .rbuf = rbuf, .rcount = (size_t) rcount, .rtype = type, .reduction = op)

ENTRIES(bcast, GR_CALL_BCAST,
        LIST(void *buf, gr_count_t count, struct ompi_datatype_t *type, int root), .rbuf = buf,
        .rcount = (size_t) count, .rtype = type, .root = root)

ENTRIES(reduce, GR_CALL_REDUCE, LIST(REDUCED, int root), OF_REDUCED, .root = root)
ENTRIES(gather, GR_CALL_GATHER, LIST(BLOCKS_IN, BLOCKS_OUT, int root), OF_BLOCKS_IN, OF_BLOCKS_OUT,
        .root = root)
ENTRIES(gatherv, GR_CALL_GATHERV, LIST(BLOCKS_IN, BLOCKS_OUT_V, int root), OF_BLOCKS_IN,
        OF_BLOCKS_OUT_V, .root = root)
ENTRIES(scatter, GR_CALL_SCATTER, LIST(BLOCKS_IN, BLOCKS_OUT, int root), OF_BLOCKS_IN,
        OF_BLOCKS_OUT, .root = root)
ENTRIES(scatterv, GR_CALL_SCATTERV, LIST(BLOCKS_IN_V, BLOCKS_OUT, int root), OF_BLOCKS_IN_V,
        OF_BLOCKS_OUT, .root = root)
ENTRIES(alltoall, GR_CALL_ALLTOALL, LIST(BLOCKS_IN, BLOCKS_OUT), OF_BLOCKS_IN, OF_BLOCKS_OUT)
ENTRIES(alltoallv, GR_CALL_ALLTOALLV, LIST(BLOCKS_IN_V, BLOCKS_OUT_V), OF_BLOCKS_IN_V,
        OF_BLOCKS_OUT_V)
ENTRIES(alltoallw, GR_CALL_ALLTOALLW,
        LIST(const void *sbuf, gr_counts_t scounts, gr_counts_t sdispls,
             struct ompi_datatype_t *const *stypes, void *rbuf, gr_counts_t rcounts,
             gr_counts_t displs, struct ompi_datatype_t *const *rtypes),
        .sbuf = sbuf, .scounts = scounts, .sdispls = sdispls, .stypes = stypes, .rbuf = rbuf,
        .rcounts = rcounts, .displs = displs, .rtypes = rtypes)
ENTRIES_WITH(barrier, GR_CALL_BARRIER, , )
ENTRIES(scan, GR_CALL_SCAN, LIST(REDUCED), OF_REDUCED)
ENTRIES(exscan, GR_CALL_EXSCAN, LIST(REDUCED), OF_REDUCED)
ENTRIES(neighbor_allgather, GR_CALL_NEIGHBOR_ALLGATHER, LIST(BLOCKS_IN, BLOCKS_OUT), OF_BLOCKS_IN,
        OF_BLOCKS_OUT)
ENTRIES(neighbor_allgatherv, GR_CALL_NEIGHBOR_ALLGATHERV, LIST(BLOCKS_IN, BLOCKS_OUT_V),
        OF_BLOCKS_IN, OF_BLOCKS_OUT_V)
ENTRIES(neighbor_alltoall, GR_CALL_NEIGHBOR_ALLTOALL, LIST(BLOCKS_IN, BLOCKS_OUT), OF_BLOCKS_IN,
        OF_BLOCKS_OUT)
ENTRIES(neighbor_alltoallv, GR_CALL_NEIGHBOR_ALLTOALLV, LIST(BLOCKS_IN_V, BLOCKS_OUT_V),
        OF_BLOCKS_IN_V, OF_BLOCKS_OUT_V)
ENTRIES(neighbor_alltoallw, GR_CALL_NEIGHBOR_ALLTOALLW,
        LIST(const void *sbuf, gr_counts_t scounts, gr_offsets_t soffsets,
             struct ompi_datatype_t *const *stypes, void *rbuf, gr_counts_t rcounts,
             gr_offsets_t roffsets, struct ompi_datatype_t *const *rtypes),
        .sbuf = sbuf, .scounts = scounts, .soffsets = soffsets, .stypes = stypes, .rbuf = rbuf,
        .rcounts = rcounts, .roffsets = roffsets, .rtypes = rtypes)

static int enter_reduce_local(REDUCED, mca_coll_base_module_t *module)
{
    struct gr_call call = {.id = GR_CALL_REDUCE_LOCAL, OF_REDUCED};
    return mca_coll_gpuring_dispatch((mca_coll_gpuring_module_t *) module, &call, &blocking);
}

void mca_coll_gpuring_calls_install(mca_coll_gpuring_module_t *module, bool host, bool staged)
{
#define INSTALL(name) module->super.coll_##name = enter_##name;
    GR_FOR_EACH_SUPPORTED(INSTALL)
    if (host) {
        GR_FOR_EACH_UNBUFFERED(INSTALL)
    }
    if (staged) {
        GR_FOR_EACH_STAGED(INSTALL)
    }
#undef INSTALL
}
