/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which communicators, and which of their calls, gpuring does. Nothing here is known to one rank
 * only.
 */
#ifndef GR_MPI_COMM_H
#define GR_MPI_COMM_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

struct gr_call;

/*
 * Once per communicator: whether it is taken (module->refused), with which parameters, and its
 * queue for blocking calls. Thread-safe: the first blocking call may come at the same time as a
 * nonblocking one that Open MPI starts out of another thread's opal_progress. Sends nothing. OMPI
 * error code.
 */
int mca_coll_gpuring_decide_first(mca_coll_gpuring_module_t *module,
                                  struct ompi_communicator_t *comm);

static inline int mca_coll_gpuring_decide(mca_coll_gpuring_module_t *module,
                                          struct ompi_communicator_t *comm)
{
    return atomic_load_explicit(&module->decided, memory_order_acquire)
               ? OMPI_SUCCESS
               : mca_coll_gpuring_decide_first(module, comm);
}

/*
 * The module has decided: -1 where the call is one that gpuring does; or why not, an enum
 * gr_fallback_reason.
 */
int mca_coll_gpuring_refusal(const mca_coll_gpuring_module_t *module, const struct gr_call *call);

END_C_DECLS

#endif
