/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of small calls, and how they run (plan.h). */
#include "mpi/plan.h"

#include "comm/devices.h"
#include "comm/failure.h"
#include "comm/params.h"
#include "comm/runtime.h"
#include "comm/watchdog.h"
#include "engine/op_queue.h"
#include "engine/phases.h"
#include "exec/executor.h"
#include "exec/op_end.h"
#include "mpi/call.h"
#include "mpi/datatype.h"
#include "mpi/module.h"
#include "mpi/op.h"
#include "mpi/runtime.h"

#include "base/memory.h"
#include "base/errors.h"
#include "exec/mailbox.h"
#include "link/team.h"
#include "sched/sched.h"

#include <stdlib.h>
#include <string.h>

/* On the path of each small call, where a function's call would take as long as what it does. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * What makes calls alike. The type and the operation of a reduction are MPI's own, which nobody
 * frees; other types count by their bytes, since a handle may stand for another type later.
 */
struct kind {
    enum gr_call_id id;
    int root;
    /* reductions: elements; others: bytes; of the buffer, or of each block, or of this rank's own */
    size_t count;
    struct ompi_datatype_t *type; /* NULL: no reduction */
    struct ompi_op_t *reduction;
    bool in_place;
};

struct gr_plan_of_call {
    struct kind kind;
    size_t bytes;                /* of the call, for counters */
    struct gr_op_queue *queue;   /* of the calls' order; borrowed */
    struct gr_boards *boards;    /* of the queue; borrowed */
    struct gr_mailbox_call call; /* blocking calls, one at a time: of now, or of the last one */
    const void *hosts[2];        /* its buffers: they are in host memory */
    uint64_t seq;                /* blocking: its number */
    ptrdiff_t lowest;            /* allgatherv: of the displacements, in bytes, or 0 */
    /*
     * allgatherv, reduce_scatter: [rank]: elements or bytes of the block, as in call.counts; then
     * [rank]: where it lies, as in call.displs
     */
    size_t lists[];
};

static inline bool has_lists(enum gr_call_id id)
{
    return GR_CALL_ALLGATHERV == id || GR_CALL_REDUCE_SCATTER == id;
}

/* ---- which plan ---- */

/* Whether plans are made of such calls; then *kind is the call's. */
static ALWAYS_INLINE bool find_kind(const struct gr_call *call, struct kind *kind)
{
    *kind = (struct kind) {.id = call->id, .root = call->root};
    switch (call->id) {
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
            (GR_CALL_ALLGATHERV == call->id ? GR_COUNT_AT(call->rcounts, ompi_comm_rank(call->comm))
                                            : call->rcount);
        if (!mca_coll_gpuring_is_gapless(call->rtype) ||
            (MPI_IN_PLACE != call->sbuf && !mca_coll_gpuring_is_gapless(call->stype))) {
            return false;
        }
        break;
    default:
        return false;
    }
    kind->in_place = MPI_IN_PLACE == call->sbuf;
    /* in place these need a copy */
    return !kind->in_place ||
           (GR_CALL_REDUCE_SCATTER != call->id && GR_CALL_REDUCE_SCATTER_BLOCK != call->id &&
            GR_CALL_ALLTOALL != call->id);
}

static inline bool is_kind(const struct kind *a, const struct kind *b)
{
    return a->count == b->count && a->id == b->id && a->root == b->root && a->type == b->type &&
           a->reduction == b->reduction && a->in_place == b->in_place;
}

/* Whether a call of the plan's kind has the plan's blocks. */
static bool has_same_blocks(const struct gr_plan_of_call *plan, const struct gr_call *call)
{
    bool moves = GR_CALL_ALLGATHERV == call->id;
    size_t unit = moves ? mca_coll_gpuring_type_size(call->rtype) : 1;
    int p = plan->queue->comm->size, r;

    for (r = 0; r < p; r++) {
        if (GR_COUNT_AT(call->rcounts, r) * unit != plan->lists[r] ||
            (moves && GR_DISP_AT(call->displs, r) * (ptrdiff_t) unit !=
                          (ptrdiff_t) plan->lists[p + r] + plan->lowest)) {
            return false;
        }
    }
    return true;
}

static inline bool is_of(const struct gr_plan_of_call *plan, const struct kind *kind,
                         const struct gr_call *call)
{
    return is_kind(&plan->kind, kind) && (!has_lists(kind->id) || has_same_blocks(plan, call));
}

static inline uint32_t hash_of(const struct kind *kind)
{
    uint64_t h = kind->count ^ (uint64_t) kind->id << 56 ^ (uint64_t) kind->root << 32 ^
                 (uint64_t) (uintptr_t) kind->type << 8 ^ (uint64_t) (uintptr_t) kind->reduction;

    return (uint32_t) ((h * UINT64_C(0x9e3779b97f4a7c15)) >> 32) | 1;
}

/* The first of the two places that a kind may have. */
static inline unsigned place_of(uint32_t hash)
{
    return (hash >> 16) & (GR_PLANS - 2);
}

static struct gr_plan_of_call *find_by_hash(struct gr_plans *plans, const struct kind *kind,
                                            const struct gr_call *call)
{
    unsigned k = place_of(hash_of(kind)), end = k + 2;

    for (; k < end; k++) {
        if (NULL != plans->at[k] && is_of(plans->at[k], kind, call)) {
            plans->last[kind->id] = plans->at[k];
            return plans->at[k];
        }
    }
    return NULL;
}

/* Mostly it is that of the collective's last call. */
static inline struct gr_plan_of_call *find(struct gr_plans *plans, const struct kind *kind,
                                           const struct gr_call *call)
{
    struct gr_plan_of_call *plan = plans->last[kind->id];

    return NULL != plan && is_of(plan, kind, call) ? plan : find_by_hash(plans, kind, call);
}

/* ---- a call ---- */

/*
 * Whether the buffers are in host memory. On a communicator whose ranks expected no devices a CUDA
 * driver may be loaded later, and then the long way looks where the buffers are. The buffers of the
 * last call before that are known.
 */
static inline bool in_host_memory(struct gr_plan_of_call *plan, const struct gr_call *call)
{
    if (plan->hosts[0] == call->sbuf && plan->hosts[1] == call->rbuf) {
        return true;
    }
    if (mca_coll_gpuring_gpu_loaded()) {
        return false;
    }
    plan->hosts[0] = call->sbuf;
    plan->hosts[1] = call->rbuf;
    return true;
}

/* Where this rank's block lies in the result of an allgather(v), in bytes. */
static inline size_t own_block(const struct gr_plan_of_call *plan)
{
    size_t rank = (size_t) plan->queue->comm->rank;

    return has_lists(plan->kind.id) ? plan->call.displs[rank] : rank * plan->kind.count;
}

/* Buffers in the terms of mailboxes; mpi/op.c does it for all calls. */
static ALWAYS_INLINE void set_buffers(struct gr_mailbox_call *now,
                                      const struct gr_plan_of_call *plan,
                                      const struct gr_call *call)
{
    switch (call->id) {
    case GR_CALL_BARRIER:
        return; /* they are the plan's own */
    case GR_CALL_BCAST:
        now->in = now->out = mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype);
        return;
    case GR_CALL_ALLGATHER:
    case GR_CALL_ALLGATHERV:
    case GR_CALL_ALLTOALL:
        now->out = mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype) + plan->lowest;
        now->in = plan->kind.in_place ? now->out + own_block(plan)
                                      : mca_coll_gpuring_contiguous_start(call->sbuf, call->stype);
        return;
    default:
        now->out = call->rbuf;
        now->in = plan->kind.in_place ? call->rbuf : call->sbuf;
        now->reducer.ctx = (void *) call;
    }
}

static inline int poll(struct gr_plan_of_call *plan, uint64_t *moved)
{
    struct gr_mailbox *box = &plan->boards->box;
    struct gr_label_pair pair;
    int rc;

    rc = gr_mailbox_poll(box, &plan->call, moved);
    if (rc >= 0) {
        return rc > 0 ? GR_DONE : GR_AGAIN;
    }
    pair = gr_mailbox_difference(box, &plan->call);
    pair.rank = plan->boards->group.first + pair.rank * plan->boards->group.step;
    mca_coll_gpuring_report_difference(plan->queue->comm, plan->kind.id, plan->seq, rc, &pair);
    return rc;
}

static int poll_again(void *ctx, uint64_t *moved)
{
    return poll(ctx, moved);
}

static void explain(void *ctx, char *text, size_t size)
{
    const struct gr_plan_of_call *plan = ctx;

    mca_coll_gpuring_mailbox_explain(plan->boards, &plan->call, "mailbox", text, size);
}

/* The other ranks' posts have not all come yet. 0, or GR_ERR_... */
static int wait_for_others(struct gr_plan_of_call *plan)
{
    const struct gr_waiting waiting = {plan->queue->comm, gr_calls[plan->kind.id].name, plan->seq,
                                       explain, plan};
    unsigned polls = mca_coll_gpuring_polls_per_progress();
    uint64_t moved = 0;
    int rc = GR_AGAIN;

    while (GR_AGAIN == rc && --polls > 0) {
        rc = poll(plan, &moved);
    }
    return GR_AGAIN == rc ? mca_coll_gpuring_wait(poll_again, &waiting) : rc;
}

/* The plan of a call of the order, whose buffers are in host memory. NULL: none. */
static ALWAYS_INLINE struct gr_plan_of_call *plan_of(mca_coll_gpuring_module_t *module,
                                                     enum gr_call_order order,
                                                     const struct gr_call *call)
{
    struct gr_plan_of_call *plan;
    struct kind kind;

    if (!find_kind(call, &kind)) {
        return NULL;
    }
    plan = find(module->plans[order], &kind, call);
    return NULL != plan && in_host_memory(plan, call) ? plan : NULL;
}

bool mca_coll_gpuring_plan_run(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                               int *rc)
{
    struct gr_plan_of_call *plan = plan_of(module, GR_ORDER_BLOCKING, call);
    uint64_t moved = 0;
    double start;
    int error;

    if (NULL == plan) {
        return false;
    }
    start = mca_coll_gpuring_stats_timed() ? gr_runtime_now() : 0;
    plan->seq = ++plan->queue->seq;
    set_buffers(&plan->call, plan, call);
    gr_mailbox_begin(&plan->boards->box, &plan->call);
    error = poll(plan, &moved);
    if (GR_AGAIN == error) {
        error = wait_for_others(plan);
    }
    if (0 == error) {
        mca_coll_gpuring_stats_call(call->id, GR_WAY_MAILBOX, false, module->comm.size, plan->bytes,
                                    0 != start ? 1e6 * (gr_runtime_now() - start) : 0);
    }
    *rc = mca_coll_gpuring_to_ompi(error);
    return true;
}

/* The op of a call as the long way would leave it before the queue. */
static void set_op(struct gr_mpi_op *op, const struct gr_plan_of_call *plan,
                   const struct gr_call *call)
{
    struct gr_op *base = &op->base;

    mca_coll_gpuring_op_reset(base, plan->queue->comm, plan->queue);
    op->call = *call;
    op->stages = false;
    op->finish = GR_FINISH_NONE;
    base->id = call->id;
    base->root = call->root;
    base->data.bytes = plan->bytes;
    base->choice.way = GR_WAY_MAILBOX;
    base->exec = &mca_coll_gpuring_run_mailbox;
    base->seq = ++plan->queue->seq;
    base->run.mailbox.whole = plan->call;
    set_buffers(&base->run.mailbox.whole, plan, &op->call);
    base->early = (struct gr_early_post) {&base->run.mailbox.whole, GR_WAY_MAILBOX};
}

struct gr_plan_of_call *mca_coll_gpuring_plan_find(mca_coll_gpuring_module_t *module,
                                                   const struct gr_call *call)
{
    return plan_of(module, GR_ORDER_NONBLOCKING, call);
}

void mca_coll_gpuring_plan_start(const struct gr_plan_of_call *plan, const struct gr_call *call,
                                 struct gr_mpi_op *op)
{
    struct gr_op *base = &op->base;

    set_op(op, plan, call);
    if (!mca_coll_gpuring_queue_start_mail(base)) {
        base->start = mca_coll_gpuring_stats_timed() ? gr_runtime_now() : 0;
        mca_coll_gpuring_queue_start(&base, 1);
    }
}

/* ---- making one ---- */

/* Whether the op's call, which is done, only posted to a mailbox and took from it. */
static bool may_have_plan(const struct gr_mpi_op *op)
{
    const struct gr_op *base = &op->base;

    return &mca_coll_gpuring_run_mailbox == base->exec && NULL != base->early.call &&
           GR_WAY_MAILBOX == base->early.way && !base->comm->gpu && !op->stages &&
           GR_FINISH_NONE == op->finish &&
           gr_settings.verbose < 2; /* which says each call's choice */
}

bool mca_coll_gpuring_plan_fits(const struct gr_mpi_op *op)
{
    struct kind kind;

    return may_have_plan(op) && find_kind(&op->call, &kind);
}

/* What a barrier posts: any byte. */
static const unsigned char token = 1;

/* The op's lists serve its next call. */
static void copy_lists(struct gr_plan_of_call *plan, const struct gr_mpi_op *op)
{
    const struct gr_mailbox_call *whole = &op->base.run.mailbox.whole;
    size_t p = (size_t) plan->queue->comm->size;

    memcpy(plan->lists, whole->counts, p * sizeof(*plan->lists));
    memcpy(plan->lists + p, whole->displs, p * sizeof(*plan->lists));
    plan->call.counts = plan->lists;
    plan->call.displs = plan->lists + p;
    if (GR_CALL_ALLGATHERV == plan->kind.id) {
        plan->lowest =
            whole->out - mca_coll_gpuring_contiguous_start(op->call.rbuf, op->call.rtype);
    }
}

static struct gr_plan_of_call *plan_new(const struct gr_mpi_op *op, const struct kind *kind)
{
    size_t n = has_lists(kind->id) ? 2 * (size_t) op->base.comm->size : 0;
    struct gr_plan_of_call *plan = gr_calloc(1, sizeof(*plan) + n * sizeof(*plan->lists));

    if (NULL != plan) {
        plan->kind = *kind;
        plan->bytes = gr_call_has_buffers(kind->id) ? op->base.data.bytes : 0;
        plan->queue = op->base.queue;
        plan->boards = gr_team_boards(op->base.queue->team, GR_WAY_MAILBOX);
        plan->call = op->base.run.mailbox.whole;
        if (GR_CALL_BARRIER == kind->id) {
            plan->call.in = &token;
        }
        plan->hosts[0] = op->call.sbuf;
        plan->hosts[1] = op->call.rbuf;
        if (n > 0) {
            copy_lists(plan, op);
        }
    }
    return plan;
}

void mca_coll_gpuring_plan_make(mca_coll_gpuring_module_t *module, const struct gr_mpi_op *op)
{
    struct gr_plans **of_order = &module->plans[op->base.queue->order], *plans;
    struct gr_plan_of_call *plan;
    struct kind kind;
    uint32_t hash;
    unsigned k;

    if (!may_have_plan(op) || !find_kind(&op->call, &kind) ||
        /* several calls may wait, and need the lists of a plan that is replaced meanwhile */
        (GR_ORDER_NONBLOCKING == op->base.queue->order && has_lists(kind.id)) ||
        GR_LINKS_THERE != gr_team_links(op->base.queue->team, GR_WAY_MAILBOX, 0, 1)) {
        return;
    }
    if (NULL == *of_order) { /* many communicators have one call */
        *of_order = gr_calloc(1, sizeof(**of_order));
    }
    plans = *of_order;
    if (NULL == plans) {
        return;
    }
    hash = hash_of(&kind);
    k = place_of(hash);
    /* of a thousand sizes in turn none is worth it */
    if (hash != plans->missed[k / 2]) {
        plans->missed[k / 2] = hash;
        return;
    }
    plan = plan_new(op, &kind);
    if (NULL != plan) {
        k += NULL != plans->at[k];
        if (NULL != plans->at[k]) {
            plans->last[plans->at[k]->kind.id] = NULL;
            free(plans->at[k]);
        }
        plans->at[k] = plan;
    }
}

void mca_coll_gpuring_plans_free(struct gr_plans *plans)
{
    for (int k = 0; NULL != plans && k < GR_PLANS; k++) {
        free(plans->at[k]);
    }
    free(plans);
}
