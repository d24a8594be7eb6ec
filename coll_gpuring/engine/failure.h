/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures: how all ranks of a communicator learn that one of them cannot go on.
 *
 * A rank whose call fails after the ranks have agreed on it leaves the others waiting for it, in
 * links, on boards, in kernels, in set-ups. So it sends each of them a message on MPI_COMM_WORLD,
 * and whoever waits looks for such messages. A communicator that has failed stays so: its calls
 * return the error at once. Other communicators go on.
 */
#ifndef GR_ENGINE_FAILURE_H
#define GR_ENGINE_FAILURE_H

#include "mpi/ompi.h"

#include "engine/op.h"
#include "mpi/module.h"

BEGIN_C_DECLS

/*
 * The same in an MPI call or opal_progress, at once: printed and sent; `code` is this call's alone.
 * Returns it.
 */
int mca_coll_gpuring_fail_here(mca_coll_gpuring_module_t *module, int code, const char *why);

/*
 * An op fails on this rank: printed, and sent as after mca_coll_gpuring_fail(); what failed, and
 * why. Any thread. Nothing where the communicator has failed already.
 */
struct gr_op;
void mca_coll_gpuring_op_fails(const struct gr_op *op, const char *what, const char *reason);

/*
 * For whoever waits on the module's communicator: whether it has failed, been revoked, or lost a
 * rank (ULFM). thorough: look for messages of other ranks, too; that takes as long as a call of
 * opal_progress. Returns the code, or 0.
 */
int mca_coll_gpuring_failure_check(mca_coll_gpuring_module_t *module, bool thorough);

/* The same at the beginning of a call: what is known already. */
static inline int mca_coll_gpuring_failure_known(mca_coll_gpuring_module_t *module)
{
    return 0 != module->failed || GR_COMM_REVOKED(module->comm) || GR_COMM_LOST_RANK(module->comm)
               ? mca_coll_gpuring_failure_check(module, false)
               : OMPI_SUCCESS;
}

END_C_DECLS

#endif
