/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module of one communicator: the saved collectives, and the engine's communicator.
 */
#ifndef GR_MPI_MODULE_H
#define GR_MPI_MODULE_H

#include "mpi/ompi.h"

#include "engine/comm.h"
#include "mpi/call.h"

BEGIN_C_DECLS

struct gr_mpi_op;
struct gr_plans;
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
    struct gr_mpi_op *op; /* of blocking calls (blocking_op.h); NULL: none at present. Owned */
    struct gr_plans *plans[GR_NORDERS]; /* of calls of each order (plan.h); NULL: none. Owned */

    const void *hosts[2]; /* send and receive buffer of the last call without a CUDA driver */
    _Atomic(struct gr_stage *) stage; /* kept for blocking fallbacks; NULL: none, or in use */
} mca_coll_gpuring_module_t;

OBJ_CLASS_DECLARATION(mca_coll_gpuring_module_t);

/* When the component is opened, and closed: a module in reserve, for when memory is short. */
void mca_coll_gpuring_modules_open(void);
void mca_coll_gpuring_modules_close(void);

/* Open MPI asks: a module for the communicator, and its priority. NULL: none. */
mca_coll_base_module_t *mca_coll_gpuring_comm_query(struct ompi_communicator_t *comm,
                                                    int *priority);

END_C_DECLS

#endif
