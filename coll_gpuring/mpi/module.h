/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module of one communicator: the saved collectives, the engine's communicator, and the path of
 * every call, taken or not, of each form. component.c makes and frees it.
 */
#ifndef GR_MPI_MODULE_H
#define GR_MPI_MODULE_H

#include "mpi/ompi.h"

#include "comm/comm.h"
#include "mpi/call.h"

struct gr_mpi_op;
struct gr_call_cache;
struct gr_stage;

/* By __typeof__, since the neighbourhood collectives have no function types of their own. */
#define GR_SAVED(name)                                                          \
    __typeof__(((mca_coll_base_comm_coll_t *) NULL)->coll_##name) saved_##name; \
    mca_coll_base_module_t *saved_##name##_module;

typedef struct mca_coll_gpuring_module {
    mca_coll_base_module_t super;
    GR_FOR_EACH_FUNCTION(GR_SAVED)
    bool saves;          /* some of these are set */
    bool takes;          /* gpuring may do calls itself; false: it only stages. Local */
    struct gr_comm comm; /* the communicator as the engine sees it */

    /* whether gpuring does calls of this communicator; equal on all ranks */
    atomic_bool decided;  /* the fields below are set, and those of comm */
    int refused;          /* an enum gr_fallback_reason; -1: it does */
    bool all_gpu;         /* every rank may have buffers on a device */
    struct gr_mpi_op *op; /* of blocking calls (request.h); NULL: none at present. Owned */
    struct gr_call_cache
        *cache[GR_NORDERS]; /* of calls of each order (call_cache.h); NULL: none. Owned */

    _Atomic(struct gr_stage *) stage; /* kept for blocking fallbacks; NULL: none, or in use */
} mca_coll_gpuring_module_t;

OBJ_CLASS_DECLARATION(mca_coll_gpuring_module_t);

/* ---- the saved functions ---- */

/* Call the saved function of that form with the collective's own arguments. OMPI error code. */
int mca_coll_gpuring_saved_call(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                const struct gr_form *form);

/*
 * For Open MPI, as coll_module_enable and _disable: save what the communicator has, and put the
 * module's functions in its place; and back.
 */
int mca_coll_gpuring_module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm);
int mca_coll_gpuring_module_disable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm);

/* Give back whatever was saved; harmless when repeated or after a partial enable. */
void mca_coll_gpuring_forget_saved(mca_coll_gpuring_module_t *module);

/* ---- calls (entry.c, dispatch.c) ---- */

/* The path of every call that is not cached. OMPI error code. */
int mca_coll_gpuring_dispatch(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                              const struct gr_form *form);

/*
 * Set the entry points of a module. host: also of collectives without buffers. staged: also of
 * those that gpuring only stages.
 */
void mca_coll_gpuring_calls_install(mca_coll_gpuring_module_t *module, bool host, bool staged);

#endif
