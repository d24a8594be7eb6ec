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
 * Groups of parameters, each with a comma behind it, and what they set in struct gr_call.
 * GR_FOR_EACH_SUPPORTED() and the like say which a collective has.
 */
#define PARAMETERS_NONE
#define SET_NONE
#define PARAMETERS_SEND const void *sbuf, gr_count_t scount, struct ompi_datatype_t *stype,
#define SET_SEND call.sbuf = sbuf, call.scount = (size_t) scount, call.stype = stype
#define PARAMETERS_SEND_V \
    const void *sbuf, gr_counts_t scounts, gr_counts_t sdispls, struct ompi_datatype_t *stype,
#define SET_SEND_V \
    call.sbuf = sbuf, call.scounts = scounts, call.sdispls = sdispls, call.stype = stype
#define PARAMETERS_SEND_W                                       \
    const void *sbuf, gr_counts_t scounts, gr_counts_t sdispls, \
        struct ompi_datatype_t *const *stypes,
#define SET_SEND_W \
    call.sbuf = sbuf, call.scounts = scounts, call.sdispls = sdispls, call.stypes = stypes
#define PARAMETERS_SEND_FAR                                       \
    const void *sbuf, gr_counts_t scounts, gr_offsets_t soffsets, \
        struct ompi_datatype_t *const *stypes,
#define SET_SEND_FAR \
    call.sbuf = sbuf, call.scounts = scounts, call.soffsets = soffsets, call.stypes = stypes
#define PARAMETERS_RECEIVE void *rbuf, gr_count_t rcount, struct ompi_datatype_t *rtype,
#define SET_RECEIVE call.rbuf = rbuf, call.rcount = (size_t) rcount, call.rtype = rtype
#define PARAMETERS_RECEIVE_V \
    void *rbuf, gr_counts_t rcounts, gr_counts_t displs, struct ompi_datatype_t *rtype,
#define SET_RECEIVE_V \
    call.rbuf = rbuf, call.rcounts = rcounts, call.displs = displs, call.rtype = rtype
#define PARAMETERS_RECEIVE_W \
    void *rbuf, gr_counts_t rcounts, gr_counts_t displs, struct ompi_datatype_t *const *rtypes,
#define SET_RECEIVE_W \
    call.rbuf = rbuf, call.rcounts = rcounts, call.displs = displs, call.rtypes = rtypes
#define PARAMETERS_RECEIVE_FAR \
    void *rbuf, gr_counts_t rcounts, gr_offsets_t roffsets, struct ompi_datatype_t *const *rtypes,
#define SET_RECEIVE_FAR \
    call.rbuf = rbuf, call.rcounts = rcounts, call.roffsets = roffsets, call.rtypes = rtypes
#define PARAMETERS_REDUCED                                                          \
    const void *sbuf, void *rbuf, gr_count_t rcount, struct ompi_datatype_t *rtype, \
        struct ompi_op_t *reduction,
#define SET_REDUCED call.sbuf = sbuf, call.reduction = reduction, SET_RECEIVE
#define PARAMETERS_REDUCED_V                                                          \
    const void *sbuf, void *rbuf, gr_counts_t rcounts, struct ompi_datatype_t *rtype, \
        struct ompi_op_t *reduction,
#define SET_REDUCED_V                                                               \
    call.sbuf = sbuf, call.rbuf = rbuf, call.rcounts = rcounts, call.rtype = rtype, \
    call.reduction = reduction
#define PARAMETERS_ROOT int root,
#define SET_ROOT call.root = root

/* A collective's own arguments. */
#define CALL(ID, a, b, c)                     \
    struct gr_call call;                      \
    gr_call_clear(&call, GR_CALL_##ID, comm); \
    SET_##a;                                  \
    SET_##b;                                  \
    SET_##c;

/* The three entry points of a collective. */
#define ENTRIES(unused, name, ID, a, b, c)                                                    \
    static int enter_##name(                                                                  \
        PARAMETERS_##a PARAMETERS_##b PARAMETERS_##c struct ompi_communicator_t *comm,        \
        mca_coll_base_module_t *module)                                                       \
    {                                                                                         \
        CALL(ID, a, b, c)                                                                     \
        return enter_blocking((mca_coll_gpuring_module_t *) module, &call, GR_CALL_##ID);     \
    }                                                                                         \
    static int enter_i##name(                                                                 \
        PARAMETERS_##a PARAMETERS_##b PARAMETERS_##c struct ompi_communicator_t *comm,        \
        ompi_request_t **request, mca_coll_base_module_t *module)                             \
    {                                                                                         \
        CALL(ID, a, b, c)                                                                     \
        struct gr_form form = {.kind = GR_NONBLOCKING, .request = request};                   \
        return mca_coll_gpuring_dispatch((mca_coll_gpuring_module_t *) module, &call, &form); \
    }                                                                                         \
    static int enter_##name##_init(                                                           \
        PARAMETERS_##a PARAMETERS_##b PARAMETERS_##c struct ompi_communicator_t *comm,        \
        struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)   \
    {                                                                                         \
        CALL(ID, a, b, c)                                                                     \
        struct gr_form form = {.kind = GR_PERSISTENT, .info = info, .request = request};      \
        return mca_coll_gpuring_dispatch((mca_coll_gpuring_module_t *) module, &call, &form); \
    }

GR_FOR_EACH_SUPPORTED(ENTRIES, )
GR_FOR_EACH_UNBUFFERED(ENTRIES, )
GR_FOR_EACH_STAGED(ENTRIES, )

static int enter_reduce_local(PARAMETERS_REDUCED mca_coll_base_module_t *module)
{
    struct gr_call call;

    gr_call_clear(&call, GR_CALL_REDUCE_LOCAL, NULL);
    SET_REDUCED;
    return enter_blocking((mca_coll_gpuring_module_t *) module, &call, GR_CALL_REDUCE_LOCAL);
}

void mca_coll_gpuring_calls_install(mca_coll_gpuring_module_t *module, bool host, bool staged)
{
#define INSTALL(name) module->super.coll_##name = enter_##name;
    GR_FOR_EACH_SUPPORTED(GR_FORMS_OF, INSTALL)
    if (host) {
        GR_FOR_EACH_UNBUFFERED(GR_FORMS_OF, INSTALL)
    }
    if (staged) {
        GR_FOR_EACH_STAGED(GR_FORMS_OF, INSTALL)
        INSTALL(reduce_local)
    }
#undef INSTALL
}
