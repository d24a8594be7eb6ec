/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which communicators, and which of their calls, gpuring does: decided by what all ranks know.
 */
#ifndef GR_MPI_COMM_H
#define GR_MPI_COMM_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

struct gr_call;

/*
 * Decide once per communicator: sets module->refused and params, and makes the queue of blocking
 * calls. Thread-safe: Open MPI may start a nonblocking call out of another thread's opal_progress
 * during the first blocking call. Sends no message. OMPI error code.
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
 * After the decision: why the call is left to the saved collective, an enum gr_fallback_reason; -1:
 * gpuring does it.
 */
int mca_coll_gpuring_refusal(const mca_coll_gpuring_module_t *module, const struct gr_call *call);

END_C_DECLS

#endif
