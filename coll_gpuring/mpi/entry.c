/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry points: all collectives, each blocking, nonblocking and persistent.
 * They only gather their arguments: a blocking call that is cached is run here (call_cache.h), all
 * else is the business of mca_coll_gpuring_dispatch().
 */

#include "mpi/call.h"
#include "mpi/module.h"
#include "mpi/call_cache.h"
#include "mpi/runtime.h"

#define LIST(...) __VA_ARGS__

/* Any blocking call. last: what gr_cached_last() says. */
__attribute__((noinline)) static int enter_other(mca_coll_gpuring_module_t *module,
                                                 const struct gr_call *call,
                                                 struct gr_cached_call *last)
{
    static const struct gr_form blocking = {.kind = GR_BLOCKING};
    struct gr_call_cache *cache = module->cache[GR_ORDER_BLOCKING];
    struct gr_cached_call *cached = NULL;

    if (NULL != cache && OMPI_SUCCESS == gr_ompi_failure(&module->comm)) {
        cached = mca_coll_gpuring_cached_find(cache, call, last);
    }
    return NULL == cached ? mca_coll_gpuring_dispatch(module, call, &blocking)
                          : mca_coll_gpuring_cached_run(cached);
}

/*
 * A blocking call, which may be the collective's last one again. Where there is a cache, gpuring
 * does the calls. The entry points call nothing else but at their end, so they save no registers.
 */
static GR_INLINE int enter_blocking(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                    enum gr_call_id id)
{
    const struct gr_call_cache *cache = module->cache[GR_ORDER_BLOCKING];
    struct gr_cached_call *cached = NULL;
    struct gr_call copy;

    if (NULL != cache && !gr_ompi_may_have_failed(&module->comm)) {
        cached = gr_cached_last(cache, call, id);
    }
    if (NULL != cached && gr_cached_is_ready(cached, call, id)) {
        return mca_coll_gpuring_cached_run(cached);
    }
    copy = *call; /* see gr_cached_last() */
    return enter_other(module, &copy, cached);
}

/*
 * The three entry points of a collective: its own parameters, each with a comma behind it, and what
 * they set in struct gr_call.
 */
#define ENTRIES_WITH(name, ID, parameters, ...)                                               \
    static int enter_##name(parameters struct ompi_communicator_t *comm,                      \
                            mca_coll_base_module_t *module)                                   \
    {                                                                                         \
        struct gr_call call;                                                                  \
        gr_call_clear(&call, ID, comm);                                                       \
        __VA_ARGS__;                                                                          \
        return enter_blocking((mca_coll_gpuring_module_t *) module, &call, ID);               \
    }                                                                                         \
    static int enter_i##name(parameters struct ompi_communicator_t *comm,                     \
                             ompi_request_t **request, mca_coll_base_module_t *module)        \
    {                                                                                         \
        struct gr_call call;                                                                  \
        gr_call_clear(&call, ID, comm);                                                       \
        __VA_ARGS__;                                                                          \
        struct gr_form form = {.kind = GR_NONBLOCKING, .request = request};                   \
        return mca_coll_gpuring_dispatch((mca_coll_gpuring_module_t *) module, &call, &form); \
    }                                                                                         \
    static int enter_##name##_init(parameters struct ompi_communicator_t *comm,               \
                                   struct ompi_info_t *info, ompi_request_t **request,        \
                                   mca_coll_base_module_t *module)                            \
    {                                                                                         \
        struct gr_call call;                                                                  \
        gr_call_clear(&call, ID, comm);                                                       \
        __VA_ARGS__;                                                                          \
        struct gr_form form = {.kind = GR_PERSISTENT, .info = info, .request = request};      \
        return mca_coll_gpuring_dispatch((mca_coll_gpuring_module_t *) module, &call, &form); \
    }

/* With at least one parameter besides the communicator. */
#define ENTRIES(name, ID, parameters, ...) ENTRIES_WITH(name, ID, LIST(parameters, ), __VA_ARGS__)

/* Parameters that several have in common, and what they set in the call. */
#define BLOCKS_IN const void *sbuf, gr_count_t scount, struct ompi_datatype_t *stype
#define BLOCKS_IN_V \
    const void *sbuf, gr_counts_t scounts, gr_counts_t sdispls, struct ompi_datatype_t *stype
#define BLOCKS_OUT void *rbuf, gr_count_t rcount, struct ompi_datatype_t *rtype
#define BLOCKS_OUT_V \
    void *rbuf, gr_counts_t rcounts, gr_counts_t displs, struct ompi_datatype_t *rtype
#define OF_BLOCKS_IN call.sbuf = sbuf, call.scount = (size_t) scount, call.stype = stype
#define OF_BLOCKS_IN_V \
    call.sbuf = sbuf, call.scounts = scounts, call.sdispls = sdispls, call.stype = stype
#define OF_BLOCKS_OUT call.rbuf = rbuf, call.rcount = (size_t) rcount, call.rtype = rtype
#define OF_BLOCKS_OUT_V \
    call.rbuf = rbuf, call.rcounts = rcounts, call.displs = displs, call.rtype = rtype
#define REDUCED                                                                   \
    const void *sbuf, void *rbuf, gr_count_t count, struct ompi_datatype_t *type, \
        struct ompi_op_t *op
#define OF_REDUCED                                                                       \
    call.sbuf = sbuf, call.rbuf = rbuf, call.rcount = (size_t) count, call.rtype = type, \
    call.reduction = op

ENTRIES(allreduce, GR_CALL_ALLREDUCE, LIST(REDUCED), OF_REDUCED)

ENTRIES(allgather, GR_CALL_ALLGATHER, LIST(BLOCKS_IN, BLOCKS_OUT), OF_BLOCKS_IN, OF_BLOCKS_OUT)
ENTRIES(allgatherv, GR_CALL_ALLGATHERV, LIST(BLOCKS_IN, BLOCKS_OUT_V), OF_BLOCKS_IN,
        OF_BLOCKS_OUT_V)

ENTRIES(reduce_scatter, GR_CALL_REDUCE_SCATTER,
        LIST(const void *sbuf, void *rbuf, gr_counts_t rcounts, struct ompi_datatype_t *type,
             struct ompi_op_t *op),
        call.sbuf = sbuf, call.rbuf = rbuf, call.rcounts = rcounts, call.rtype = type,
        call.reduction = op)

ENTRIES(reduce_scatter_block, GR_CALL_REDUCE_SCATTER_BLOCK, LIST(REDUCED), OF_REDUCED)

ENTRIES(bcast, GR_CALL_BCAST,
        LIST(void *buf, gr_count_t count, struct ompi_datatype_t *type, int root), call.rbuf = buf,
        call.rcount = (size_t) count, call.rtype = type, call.root = root)

ENTRIES(reduce, GR_CALL_REDUCE, LIST(REDUCED, int root), OF_REDUCED, call.root = root)
ENTRIES(gather, GR_CALL_GATHER, LIST(BLOCKS_IN, BLOCKS_OUT, int root), OF_BLOCKS_IN, OF_BLOCKS_OUT,
        call.root = root)
ENTRIES(gatherv, GR_CALL_GATHERV, LIST(BLOCKS_IN, BLOCKS_OUT_V, int root), OF_BLOCKS_IN,
        OF_BLOCKS_OUT_V, call.root = root)
ENTRIES(scatter, GR_CALL_SCATTER, LIST(BLOCKS_IN, BLOCKS_OUT, int root), OF_BLOCKS_IN,
        OF_BLOCKS_OUT, call.root = root)
ENTRIES(scatterv, GR_CALL_SCATTERV, LIST(BLOCKS_IN_V, BLOCKS_OUT, int root), OF_BLOCKS_IN_V,
        OF_BLOCKS_OUT, call.root = root)
ENTRIES(alltoall, GR_CALL_ALLTOALL, LIST(BLOCKS_IN, BLOCKS_OUT), OF_BLOCKS_IN, OF_BLOCKS_OUT)
ENTRIES(alltoallv, GR_CALL_ALLTOALLV, LIST(BLOCKS_IN_V, BLOCKS_OUT_V), OF_BLOCKS_IN_V,
        OF_BLOCKS_OUT_V)
ENTRIES(alltoallw, GR_CALL_ALLTOALLW,
        LIST(const void *sbuf, gr_counts_t scounts, gr_counts_t sdispls,
             struct ompi_datatype_t *const *stypes, void *rbuf, gr_counts_t rcounts,
             gr_counts_t displs, struct ompi_datatype_t *const *rtypes),
        call.sbuf = sbuf, call.scounts = scounts, call.sdispls = sdispls, call.stypes = stypes,
        call.rbuf = rbuf, call.rcounts = rcounts, call.displs = displs, call.rtypes = rtypes)
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
        call.sbuf = sbuf, call.scounts = scounts, call.soffsets = soffsets, call.stypes = stypes,
        call.rbuf = rbuf, call.rcounts = rcounts, call.roffsets = roffsets, call.rtypes = rtypes)

static int enter_reduce_local(REDUCED, mca_coll_base_module_t *module)
{
    struct gr_call call;

    gr_call_clear(&call, GR_CALL_REDUCE_LOCAL, NULL);
    OF_REDUCED;
    return enter_blocking((mca_coll_gpuring_module_t *) module, &call, GR_CALL_REDUCE_LOCAL);
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
