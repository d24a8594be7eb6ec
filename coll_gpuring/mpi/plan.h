/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: what a rank keeps of a kind of call, so that the next call of the kind decides nothing.
 *
 * A plan holds for calls in host memory among ranks that share one mailbox (exec/mailbox.h), without
 * a copy of their own: the buffers are one run of bytes each. Whether a call is of the kind follows
 * from its arguments alone: collective, root, bytes, and for reductions type and operation. Nothing in
 * a plan was agreed on with other ranks, so a rank may lose one, or not make it for lack of memory: its
 * call then takes the long way, to the same mailbox.
 *
 * The first calls of a kind take the long way (dispatch.c). The second in a row makes the plan.
 * Blocking and nonblocking calls have mailboxes of their own, and plans. A persistent request is its
 * own plan (request.c).
 */
#ifndef GR_MPI_PLAN_H
#define GR_MPI_PLAN_H

#include "mpi/ompi.h"

#include "comm/collectives.h"

#include <stdbool.h>
#include <stdint.h>

BEGIN_C_DECLS

struct gr_call;
struct gr_mpi_op;
struct gr_plan_of_call;
struct mca_coll_gpuring_module;

#define GR_PLANS 32 /* most of a communicator, a power of two */

/* A communicator's plans. All zero: there are none. */
struct gr_plans {
    struct gr_plan_of_call *at[GR_PLANS]; /* by the hash of their kinds; NULL: none. Owned */
    uint32_t missed[GR_PLANS / 2]; /* [pair of places]: hash of the last kind not found there */
    struct gr_plan_of_call *last[GR_NSUPPORTED]; /* of the collective's last call; NULL: none */
};

/*
 * Do a blocking call by its plan. Returns whether there is one; then *rc is an OMPI error code, and
 * the communicator has failed if it is one. The module has plans, and its communicator has not
 * failed.
 */
bool mca_coll_gpuring_plan_run(struct mca_coll_gpuring_module *module, const struct gr_call *call,
                               int *rc);

/*
 * Whether the op, which is prepared, only posts to a mailbox and takes from it, in the buffers of its
 * call: then nothing of it changes when it is started again.
 */
bool mca_coll_gpuring_plan_fits(const struct gr_mpi_op *op);

/* The plan of a nonblocking call, under the same conditions; NULL: none. Borrowed. */
struct gr_plan_of_call *mca_coll_gpuring_plan_find(struct mca_coll_gpuring_module *module,
                                                   const struct gr_call *call);

/* Start a nonblocking call by its plan, in the op of a new request, which may be complete then. */
void mca_coll_gpuring_plan_start(const struct gr_plan_of_call *plan, const struct gr_call *call,
                                 struct gr_mpi_op *op);

/*
 * A blocking call without a plan is done, or a nonblocking one is prepared: make a plan, where there
 * may be one and it pays.
 */
void mca_coll_gpuring_plan_make(struct mca_coll_gpuring_module *module, const struct gr_mpi_op *op);

/* Free a communicator's plans. */
void mca_coll_gpuring_plans_free(struct gr_plans *plans);

END_C_DECLS

#endif
