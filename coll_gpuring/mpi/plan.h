/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: what a rank keeps of a kind of call, so that the next call of the kind decides nothing.
 *
 * A plan holds for calls in host memory among ranks of one node, through mailboxes
 * (exec/grouped.h), without a copy of their own: the buffers are one run of bytes each. Whether a
 * call is of the kind follows from its arguments alone: collective, root, bytes, and for reductions
 * type and operation. Nothing in a plan was agreed on with other ranks, so a rank may lose one, or
 * not make it for lack of memory: its call is then dispatched anew, to the same mailbox.
 *
 * The first calls of a kind go through dispatch.c. The second in a row makes the plan. Blocking and
 * nonblocking calls have mailboxes of their own, and plans. A persistent request is its own plan
 * (request.c).
 */
#ifndef GR_MPI_PLAN_H
#define GR_MPI_PLAN_H

#include "mpi/ompi.h"

#include "comm/collectives.h"
#include "comm/devices.h"
#include "comm/runtime.h"
#include "exec/grouped.h"
#include "mpi/call.h"
#include "mpi/datatype.h"
#include "mpi/module.h"
#include "mpi/runtime.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

BEGIN_C_DECLS

struct gr_mpi_op;

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
    struct gr_op_queue *queue; /* of the calls' order; borrowed */
    struct gr_grouped run;     /* blocking calls, one at a time: of now, or of the last one */
    const void *hosts[2];      /* its buffers: they are in host memory */
    struct gr_call reduced;    /* type and operation, for Open MPI's reduction */
    bool timed;                /* the times of calls are wanted */
    bool waited;               /* the blocking call of now waits for other ranks */
    ptrdiff_t lowest;          /* allgatherv: of the displacements, in bytes, or 0 */
    /*
     * allgatherv, reduce_scatter: [rank]: elements or bytes of the block, as in run.whole.counts;
     * then [rank]: where it lies, as in run.whole.displs
     */
    size_t lists[];
};

/* Most plans of an order, a power of two; and most ranks of one with lists: 64 KiB hold all. */
#define GR_PLANS 32
#define GR_PLAN_LIST_RANKS 32

/* A communicator's plans. All zero: there are none. */
struct gr_plans {
    struct gr_plan_of_call *at[GR_PLANS]; /* by the hash of their kinds; NULL: none. Owned */
    uint32_t missed[GR_PLANS / 2]; /* [pair of places]: hash of the last kind not found there */
    struct gr_plan_of_call *last[GR_NSUPPORTED]; /* of the collective's last call; NULL: none */
};

/*
 * Whether the op, which is prepared, only posts to mailboxes and takes from them, in the buffers of
 * its call: then nothing of it changes when it is started again.
 */
bool mca_coll_gpuring_plan_fits(const struct gr_mpi_op *op);

/* A counter of calls like the op's, which has joined the process's (mpi/runtime.h). */
void mca_coll_gpuring_plan_count(struct gr_call_counter *counter, const struct gr_mpi_op *op);

/* What is returned of a call without a plan: no code of Open MPI's. */
#define GR_NO_PLAN INT_MIN

/* Whether a call of the kind of a plan that has lists has the plan's blocks. */
bool mca_coll_gpuring_plan_has_blocks(const struct gr_plan_of_call *plan,
                                      const struct gr_call *call);

/* The plan of a call that is not of the kind of the collective's last call. NULL: none. */
struct gr_plan_of_call *mca_coll_gpuring_plan_by_hash(struct gr_plans *plans,
                                                      const struct gr_call *call);

/*
 * Wait for the other ranks, whose posts have not all come yet: gr_grouped_run() returned rc. 0, or
 * GR_ERR_..., which has been reported.
 */
int mca_coll_gpuring_plan_wait(struct gr_plan_of_call *plan, int rc);

/* Count a call that is done, began at `start`, and is timed. */
void mca_coll_gpuring_plan_count_timed(struct gr_plan_of_call *plan, double start,
                                       bool nonblocking);

/* A nonblocking call that has begun by its plan. */
struct gr_plan_begun {
    struct gr_plan_of_call *plan; /* NULL: the call is done, and counted */
    double start;                 /* when it began; 0: it is not timed */
    int rc;                       /* of gr_queue_try_mail() */
};

/*
 * Begin a nonblocking call by its plan. False: it has none. A call that is not done goes on at once
 * in the op of a new request. As for gr_plan_run(), and the process has one thread (gr_threaded()).
 */
bool mca_coll_gpuring_plan_begin(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                 struct gr_plan_begun *begun);
void mca_coll_gpuring_plan_go_on(const struct gr_plan_begun *begun, const struct gr_call *call,
                                 struct gr_mpi_op *op);

/*
 * A blocking call without a plan is done, or a nonblocking one is prepared: make a plan, where
 * there may be one and it pays.
 */
void mca_coll_gpuring_plan_make(mca_coll_gpuring_module_t *module, const struct gr_mpi_op *op);

/* Free a communicator's plans. */
void mca_coll_gpuring_plans_free(struct gr_plans *plans);

/*
 * ---- small calls by their plans ----
 *
 * Inline in the entry points, so that compilers drop what the collective at hand, `id`, does not
 * need. It is call->id, which compilers do not take for constant.
 */

/* ---- which plan ---- */

static inline bool gr_plan_has_lists(enum gr_call_id id)
{
    return GR_CALL_ALLGATHERV == id || GR_CALL_REDUCE_SCATTER == id;
}

/* Whether plans are made of such calls; then *kind is the call's. */
static GR_INLINE bool gr_plan_find_kind(const struct gr_call *call, enum gr_call_id id,
                                        struct gr_call_kind *kind)
{
    *kind = (struct gr_call_kind) {.id = id, .root = call->root};
    switch (id) {
    case GR_CALL_BARRIER:
        return true;
    case GR_CALL_BCAST:
        kind->count = call->rcount * mca_coll_gpuring_type_size(call->rtype);
        return mca_coll_gpuring_is_contiguous(call->rtype, call->rcount);
    case GR_CALL_ALLREDUCE:
    case GR_CALL_REDUCE:
    case GR_CALL_REDUCE_SCATTER_BLOCK:
        kind->count = call->rcount;
        kind->type = call->rtype;
        kind->reduction = call->reduction;
        break;
    case GR_CALL_REDUCE_SCATTER:
        kind->count = GR_COUNT_AT(call->rcounts, ompi_comm_rank(call->comm));
        kind->type = call->rtype;
        kind->reduction = call->reduction;
        break;
    case GR_CALL_ALLGATHER:
    case GR_CALL_ALLGATHERV:
    case GR_CALL_ALLTOALL:
        kind->count =
            mca_coll_gpuring_type_size(call->rtype) *
            (GR_CALL_ALLGATHERV == id ? GR_COUNT_AT(call->rcounts, ompi_comm_rank(call->comm))
                                      : call->rcount);
        if (!mca_coll_gpuring_is_gapless(call->rtype) ||
            (MPI_IN_PLACE != call->sbuf && !mca_coll_gpuring_is_gapless(call->stype))) {
            return false;
        }
        break;
    default:
        return false;
    }
    if (NULL != kind->type && mca_coll_gpuring_type_tail(kind->type) > 0) {
        return false; /* they are copied */
    }
    kind->in_place = MPI_IN_PLACE == call->sbuf;
    /* in place these need a copy */
    return !kind->in_place || (GR_CALL_REDUCE_SCATTER != id && GR_CALL_REDUCE_SCATTER_BLOCK != id &&
                               GR_CALL_ALLTOALL != id);
}

static GR_INLINE bool gr_plan_is_kind(const struct gr_call_kind *a, const struct gr_call_kind *b)
{
    return a->count == b->count && a->id == b->id && a->root == b->root && a->type == b->type &&
           a->reduction == b->reduction && a->in_place == b->in_place;
}

static GR_INLINE bool gr_plan_is_of(const struct gr_plan_of_call *plan,
                                    const struct gr_call_kind *kind, const struct gr_call *call,
                                    enum gr_call_id id)
{
    return gr_plan_is_kind(&plan->kind, kind) &&
           (!gr_plan_has_lists(id) || mca_coll_gpuring_plan_has_blocks(plan, call));
}

/*
 * Mostly it is that of the collective's last call. NULL: none. Here and below, what is not inline
 * gets a copy of the call: so compilers keep it in registers.
 */
static GR_INLINE struct gr_plan_of_call *gr_plan_find(struct gr_plans *plans,
                                                      const struct gr_call *call,
                                                      enum gr_call_id id)
{
    struct gr_plan_of_call *plan;
    struct gr_call_kind kind;
    struct gr_call other;

    if (!gr_plan_find_kind(call, id, &kind)) {
        return NULL;
    }
    plan = plans->last[id];
    if (NULL != plan && gr_plan_is_of(plan, &kind, call, id)) {
        return plan;
    }
    other = *call;
    return mca_coll_gpuring_plan_by_hash(plans, &other);
}

/* ---- a call ---- */

/*
 * Whether the buffers are in host memory. On a communicator whose ranks expected no devices a CUDA
 * driver may be loaded later, and then dispatch.c looks where the buffers are. The buffers of the
 * last call before that are known.
 */
static inline bool gr_plan_in_host_memory(struct gr_plan_of_call *plan, const struct gr_call *call)
{
    if (plan->hosts[0] == call->sbuf && plan->hosts[1] == call->rbuf) {
        return true;
    }
    if (gr_gpu_loaded()) {
        return false;
    }
    plan->hosts[0] = call->sbuf;
    plan->hosts[1] = call->rbuf;
    return true;
}

/* Where this rank's block lies in the result of an allgather(v), in bytes. */
static inline size_t gr_plan_own_block(const struct gr_plan_of_call *plan)
{
    size_t rank = (size_t) plan->queue->comm->rank;

    return gr_plan_has_lists(plan->kind.id) ? plan->run.whole.displs[rank]
                                            : rank * plan->kind.count;
}

/* Buffers in the terms of mailboxes; mpi/buffers.c does it for all calls. */
static GR_INLINE void gr_plan_set_buffers(struct gr_mailbox_call *now,
                                          const struct gr_plan_of_call *plan,
                                          const struct gr_call *call, enum gr_call_id id)
{
    switch (id) {
    case GR_CALL_BARRIER:
        return; /* they are the plan's own */
    case GR_CALL_BCAST:
        now->in = now->out = mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype);
        return;
    case GR_CALL_ALLGATHER:
    case GR_CALL_ALLGATHERV:
    case GR_CALL_ALLTOALL:
        now->out = mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype) + plan->lowest;
        now->in = plan->kind.in_place ? now->out + gr_plan_own_block(plan)
                                      : mca_coll_gpuring_contiguous_start(call->sbuf, call->stype);
        return;
    default:
        now->out = call->rbuf;
        now->in = plan->kind.in_place ? call->rbuf : call->sbuf;
    }
}

/* The plan of a call of the order, whose buffers are in host memory. NULL: none. */
static GR_INLINE struct gr_plan_of_call *gr_plan_of(mca_coll_gpuring_module_t *module,
                                                    enum gr_call_order order,
                                                    const struct gr_call *call, enum gr_call_id id)
{
    struct gr_plan_of_call *plan = gr_plan_find(module->plans[order], call, id);

    return NULL != plan && gr_plan_in_host_memory(plan, call) ? plan : NULL;
}

/* Count a call that is done; where calls are timed, it began at `start`. */
static GR_INLINE void gr_plan_count(struct gr_plan_of_call *plan, double start, bool nonblocking)
{
    if (plan->timed) {
        mca_coll_gpuring_plan_count_timed(plan, start, nonblocking);
    } else {
        gr_count_call(&plan->counter);
    }
}

/*
 * Do a blocking call by its plan. GR_NO_PLAN, or an OMPI error code, with which the communicator
 * has failed. The module has plans, and its communicator has not failed.
 */
static GR_INLINE int gr_plan_run(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                 enum gr_call_id id)
{
    struct gr_plan_of_call *plan = gr_plan_of(module, GR_ORDER_BLOCKING, call, id);
    uint64_t moved = 0;
    double start = 0;
    int rc;

    if (NULL == plan) {
        return GR_NO_PLAN;
    }
    if (plan->timed) {
        start = gr_runtime_now();
    }
    ++plan->queue->seq;
    gr_plan_set_buffers(&plan->run.whole, plan, call, id);
    /* no call of this order is before it */
    rc = gr_grouped_run(&plan->run, GR_CALL_REDUCE == id, &moved);
    if (1 != rc) {
        rc = mca_coll_gpuring_plan_wait(plan, rc);
        if (0 != rc) {
            return mca_coll_gpuring_to_ompi(rc);
        }
    }
    gr_plan_count(plan, start, false);
    return OMPI_SUCCESS;
}

END_C_DECLS

#endif
