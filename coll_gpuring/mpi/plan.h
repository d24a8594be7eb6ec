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
#include "comm/runtime.h"
#include "exec/mailbox.h"
#include "link/team.h"

#include <stdbool.h>
#include <stdint.h>

BEGIN_C_DECLS

struct gr_call;
struct gr_mpi_op;
struct mca_coll_gpuring_module;

/*
 * What makes calls alike. The type and the operation of a reduction are MPI's own, which nobody
 * frees; other types count by their bytes, since a handle may stand for another type later.
 */
struct gr_call_kind {
    enum gr_call_id id;
    int root;
    /* reductions: elements; others: bytes; of the buffer, or of each block, or of this rank's own */
    size_t count;
    struct ompi_datatype_t *type; /* NULL: no reduction */
    struct ompi_op_t *reduction;
    bool in_place;
};

struct gr_plan_of_call {
    struct gr_call_kind kind;
    struct gr_call_counter counter;
    struct gr_op_queue *queue;   /* of the calls' order; borrowed */
    struct gr_boards *boards;    /* of the queue; borrowed */
    struct gr_mailbox_call call; /* blocking calls, one at a time: of now, or of the last one */
    const void *hosts[2];        /* its buffers: they are in host memory */
    ptrdiff_t lowest;            /* allgatherv: of the displacements, in bytes, or 0 */
    /*
     * allgatherv, reduce_scatter: [rank]: elements or bytes of the block, as in call.counts; then
     * [rank]: where it lies, as in call.displs
     */
    size_t lists[];
};

#define GR_PLANS 32 /* most of a communicator, a power of two */

/* A communicator's plans. All zero: there are none. */
struct gr_plans {
    struct gr_plan_of_call *at[GR_PLANS]; /* by the hash of their kinds; NULL: none. Owned */
    uint32_t missed[GR_PLANS / 2]; /* [pair of places]: hash of the last kind not found there */
    struct gr_plan_of_call *last[GR_NSUPPORTED]; /* of the collective's last call; NULL: none */
};

/*
 * Whether the op, which is prepared, only posts to a mailbox and takes from it, in the buffers of its
 * call: then nothing of it changes when it is started again.
 */
bool mca_coll_gpuring_plan_fits(const struct gr_mpi_op *op);

/* A counter of calls like the op's, which has joined the process's (report.h). */
void mca_coll_gpuring_plan_count(struct gr_call_counter *counter, const struct gr_mpi_op *op);

/* Whether a call of the kind of a plan that has lists has the plan's blocks. */
bool mca_coll_gpuring_plan_has_blocks(const struct gr_plan_of_call *plan,
                                      const struct gr_call *call);

/* The plan of a call that is not of the kind of the collective's last call. NULL: none. */
struct gr_plan_of_call *mca_coll_gpuring_plan_by_hash(struct gr_plans *plans,
                                                      const struct gr_call *call);

/*
 * Wait for the other ranks, whose posts have not all come yet: the first gr_mailbox_take() returned
 * rc, or none could be done (0). 0, or GR_ERR_..., which has been reported.
 */
int mca_coll_gpuring_plan_wait(struct gr_plan_of_call *plan, int rc);

/* The plan of a nonblocking call, under the same conditions; NULL: none. Borrowed. */
struct gr_plan_of_call *mca_coll_gpuring_plan_find(struct mca_coll_gpuring_module *module,
                                                   const struct gr_call *call);

/* Start a nonblocking call by its plan, in the op of a new request, which may be complete then. */
void mca_coll_gpuring_plan_start(struct gr_plan_of_call *plan, const struct gr_call *call,
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
