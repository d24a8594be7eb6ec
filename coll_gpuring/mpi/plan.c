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

/* ---- which plan ---- */

bool mca_coll_gpuring_plan_has_blocks(const struct gr_plan_of_call *plan,
                                      const struct gr_call *call)
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

static inline uint32_t hash_of(const struct gr_call_kind *kind)
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

struct gr_plan_of_call *mca_coll_gpuring_plan_by_hash(struct gr_plans *plans,
                                                      const struct gr_call *call)
{
    struct gr_call_kind kind;
    unsigned k, end;

    if (gr_plan_find_kind(call, call->id, &kind)) {
        k = place_of(hash_of(&kind));
        for (end = k + 2; k < end; k++) {
            if (NULL != plans->at[k] && gr_plan_is_of(plans->at[k], &kind, call, kind.id)) {
                plans->last[kind.id] = plans->at[k];
                return plans->at[k];
            }
        }
    }
    return NULL;
}

/* ---- a call ---- */

/* rc: of gr_grouped_poll(). GR_DONE, GR_AGAIN, or GR_ERR_..., which is reported. */
static int polled(struct gr_plan_of_call *plan, int rc)
{
    struct gr_label_pair pair;

    if (rc >= 0) {
        return rc > 0 ? GR_DONE : GR_AGAIN;
    }
    pair = gr_grouped_difference(&plan->run);
    gr_report_difference(plan->queue->comm, plan->kind.id, plan->queue->seq, rc, &pair);
    return rc;
}

static int poll(struct gr_plan_of_call *plan, uint64_t *moved)
{
    return polled(plan, gr_grouped_poll(&plan->run, moved));
}

static int poll_again(void *ctx, uint64_t *moved)
{
    return poll(ctx, moved);
}

static void explain(void *ctx, char *text, size_t size)
{
    const struct gr_plan_of_call *plan = ctx;

    gr_grouped_explain(&plan->run, text, size);
}

int mca_coll_gpuring_plan_wait(struct gr_plan_of_call *plan, int rc)
{
    const struct gr_waiting waiting = {plan->queue->comm, gr_calls[plan->kind.id].name,
                                       plan->queue->seq, explain, plan};
    unsigned polls = gr_polls_per_progress();
    uint64_t moved = 0;

    plan->waited = true;
    rc = polled(plan, rc);
    while (GR_AGAIN == rc && --polls > 0) {
        rc = poll(plan, &moved);
    }
    return GR_AGAIN == rc ? gr_poll_to_end(poll_again, &waiting) : rc;
}

void mca_coll_gpuring_plan_count_timed(struct gr_plan_of_call *plan, double start, bool nonblocking)
{
    struct gr_call_time time = {.us = 1e6 * (gr_runtime_now() - start),
                                .wait_us = plan->waited ? GR_WAIT_UNKNOWN : 0,
                                .nonblocking = nonblocking};

    plan->waited = false;
    gr_stats_call(plan->kind.id, GR_ALGO_MAILBOX, false, plan->queue->comm->size,
                  plan->counter.bytes, &time);
}

/* The op of a call as dispatch.c would leave it before the queue. */
static void set_op(struct gr_mpi_op *op, const struct gr_plan_of_call *plan,
                   const struct gr_call *call)
{
    struct gr_op *base = &op->base;

    gr_op_reset(base, plan->queue->comm, plan->queue);
    op->call = *call;
    op->stages = false;
    op->finish = GR_FINISH_NONE;
    base->id = call->id;
    base->root = call->root;
    base->data.bytes = plan->counter.bytes;
    base->choice.algo = GR_ALGO_MAILBOX;
    base->choice.small = 0; /* the request may have served a call between nodes */
    base->exec = &gr_run_mailbox;
    base->has_buffers = true;
    base->seq = ++plan->queue->seq;
    gr_grouped_hand_over(&base->run.mailbox, &plan->run);
    /* the plan may go before the call */
    base->run.mailbox.whole.reducer.ctx = base->run.mailbox.now.reducer.ctx = &op->call;
    if (1 == plan->run.levels) {
        base->early = (struct gr_early_post) {&base->run.mailbox.whole, GR_ALGO_MAILBOX};
    }
}

bool mca_coll_gpuring_plan_begin(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                 struct gr_plan_begun *begun)
{
    struct gr_plan_of_call *plan = gr_plan_of(module, GR_ORDER_NONBLOCKING, call, call->id);

    if (NULL == plan) {
        return false;
    }
    begun->start = plan->timed ? gr_runtime_now() : 0;
    gr_plan_set_buffers(&plan->run.whole, plan, call, call->id);
    begun->rc = gr_queue_try_mail(plan->queue, &plan->run, GR_CALL_REDUCE == call->id);
    begun->plan = plan;
    if (1 == begun->rc) {
        ++plan->queue->seq;
        gr_plan_count(plan, begun->start, true);
        begun->plan = NULL;
    }
    return true;
}

void mca_coll_gpuring_plan_go_on(const struct gr_plan_begun *begun, const struct gr_call *call,
                                 struct gr_mpi_op *op)
{
    set_op(op, begun->plan, call);
    op->base.start = begun->start;
    if (GR_NO_MAIL == begun->rc) {
        mca_coll_gpuring_ops_start(&op, 1);
    } else {
        gr_queue_go_on(&op->base);
    }
}

/* ---- making one ---- */

/* Whether the op's call, which is prepared or done, only posts to mailboxes and takes from them. */
static bool may_have_plan(const struct gr_mpi_op *op)
{
    const struct gr_op *base = &op->base;

    return &gr_run_mailbox == base->exec && !base->comm->gpu && !op->stages &&
           GR_FINISH_NONE == op->finish &&
           gr_settings.verbose < 2; /* which says each call's choice */
}

bool mca_coll_gpuring_plan_fits(const struct gr_mpi_op *op)
{
    struct gr_call_kind kind;

    return may_have_plan(op) && gr_plan_find_kind(&op->call, op->call.id, &kind);
}

void mca_coll_gpuring_plan_count(struct gr_call_counter *counter, const struct gr_mpi_op *op)
{
    *counter = (struct gr_call_counter) {
        .id = op->base.id,
        .algo = GR_ALGO_MAILBOX,
        .bytes = gr_call_has_buffers(op->base.id) ? op->base.data.bytes : 0};
    mca_coll_gpuring_counter_join(counter);
}

/* What a barrier posts: any byte. */
static const unsigned char token = 1;

/* The op's lists serve its next call. */
static void copy_lists(struct gr_plan_of_call *plan, const struct gr_mpi_op *op)
{
    struct gr_mailbox_call *whole = &plan->run.whole;
    size_t p = (size_t) plan->queue->comm->size;

    memcpy(plan->lists, whole->counts, p * sizeof(*plan->lists));
    memcpy(plan->lists + p, whole->displs, p * sizeof(*plan->lists));
    whole->counts = plan->lists;
    whole->displs = plan->lists + p;
    if (GR_CALL_ALLGATHERV == plan->kind.id) {
        plan->lowest =
            whole->out - mca_coll_gpuring_contiguous_start(op->call.rbuf, op->call.rtype);
    }
}

static struct gr_plan_of_call *plan_new(const struct gr_mpi_op *op, const struct gr_call_kind *kind)
{
    size_t n = gr_plan_has_lists(kind->id) ? 2 * (size_t) op->base.comm->size : 0;
    struct gr_plan_of_call *plan = gr_calloc(1, sizeof(*plan) + n * sizeof(*plan->lists));

    if (NULL != plan) {
        plan->kind = *kind;
        mca_coll_gpuring_plan_count(&plan->counter, op);
        plan->queue = op->base.queue;
        plan->timed = gr_stats_timed();
        gr_grouped_hand_over(&plan->run, &op->base.run.mailbox);
        plan->reduced = op->call;
        plan->run.whole.reducer.ctx = &plan->reduced;
        if (GR_CALL_BARRIER == kind->id) {
            plan->run.whole.in = &token;
        }
        plan->hosts[0] = op->call.sbuf;
        plan->hosts[1] = op->call.rbuf;
        if (n > 0) {
            copy_lists(plan, op);
        }
    }
    return plan;
}

static void plan_free(struct gr_plan_of_call *plan)
{
    if (NULL != plan) {
        mca_coll_gpuring_counter_leave(&plan->counter);
        free(plan);
    }
}

_Static_assert(GR_NORDERS * sizeof(struct gr_plans) +
                       GR_NORDERS * GR_PLANS * sizeof(struct gr_plan_of_call) +
                       GR_PLANS * 2 * GR_PLAN_LIST_RANKS * sizeof(size_t) <=
                   64 << 10,
               "a communicator's plans take at most 64 KiB");

void mca_coll_gpuring_plan_make(mca_coll_gpuring_module_t *module, const struct gr_mpi_op *op)
{
    struct gr_plans **of_order = &module->plans[op->base.queue->order], *plans;
    struct gr_plan_of_call *plan;
    struct gr_call_kind kind;
    uint32_t hash;
    unsigned k;

    if (!may_have_plan(op) || !gr_plan_find_kind(&op->call, op->call.id, &kind) ||
        /* several calls may wait, and need the lists of a plan that is replaced meanwhile */
        (gr_plan_has_lists(kind.id) && (GR_ORDER_NONBLOCKING == op->base.queue->order ||
                                        op->base.comm->size > GR_PLAN_LIST_RANKS)) ||
        GR_LINKS_THERE != op->base.exec->links(&op->base)) {
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
            plan_free(plans->at[k]);
        }
        plans->at[k] = plan;
    }
}

void mca_coll_gpuring_plans_free(struct gr_plans *plans)
{
    for (int k = 0; NULL != plans && k < GR_PLANS; k++) {
        plan_free(plans->at[k]);
    }
    free(plans);
}
