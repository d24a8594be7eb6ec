/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of a call. Which way it goes depends only on what is equal on all ranks: the collective,
 * its form, the signature's bytes and type, the operation, the root, the team's verdicts and
 * parameters.
 *
 *      taken? --> op --> algorithm, set-up if new --> buffers --> queue
 *         |        |                                     blocking:    wait for its end
 *         '--------'---> saved collective                nonblocking: return a request
 *                                                        init:        own queue and set-up, request
 */
#include "mpi/dispatch.h"

#include "engine/call_agreement.h"
#include "engine/choose.h"
#include "mpi/call.h"
#include "engine/comm_queues.h"
#include "engine/devices.h"
#include "engine/executor.h"
#include "engine/failure.h"
#include "engine/log.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/progress_thread.h"
#include "engine/runtime.h"
#include "engine/setup.h"
#include "engine/setup_diagnose.h"
#include "engine/step_timing.h"
#include "engine/watchdog.h"
#include "mpi/args_copy.h"
#include "mpi/buffers.h"
#include "mpi/comm.h"
#include "mpi/fallback.h"
#include "mpi/module.h"
#include "mpi/params.h"
#include "mpi/report.h"
#include "mpi/request.h"
#include "mpi/saved.h"
#include "mpi/staging/p2p_split.h"
#include "mpi/staging/segments.h"
#include "mpi/staging/stage.h"

#include "exec/mail.h"
#include "link/lease.h"
#include "link/team.h"
#include "sched/sched.h"
#include "tune/select.h"

#include "ompi/errhandler/errcode.h"
#include "opal/util/error.h"

#include <stdio.h>

static int fall_back(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                     const struct gr_form *form, int reason)
{
    mca_coll_gpuring_stats_fallback((enum gr_fallback_reason) reason);
    if (mca_coll_gpuring_should_log(call->comm, 2)) {
        opal_output(0, "gpuring: %s on %s falls back: %s", gr_calls[call->id].name,
                    gr_comm_name(call->comm), mca_coll_gpuring_fallback_name(reason));
    }
    return mca_coll_gpuring_fall_back(module, call, form);
}

/*
 * Set the op's call and sizes, and choose its algorithm and executor. Where these depend on the
 * buffers of all ranks, prepare the agreement instead. use: GR_AGREEMENT_ONLY, or
 * GR_AGREEMENT_FIRST for an agreement where one is needed. OMPI error code, or
 * OMPI_ERR_NOT_AVAILABLE: it falls back, on all ranks.
 */
static int describe(struct gr_op_queue *queue, struct gr_op *op, const struct gr_call *call,
                    enum gr_form_kind form, enum gr_agreement_use use)
{
    mca_coll_gpuring_module_t *module = queue->module;
    bool device;
    int rc;

    op->call = *call;
    op->queue = GR_PERSISTENT == form ? NULL : queue; /* a persistent request's comes later */
    op->phase = GR_OP_QUEUED;
    op->exec = NULL;
    op->early.mail = NULL;
    op->kept.planned = false;
    op->agreement.use = GR_AGREEMENT_NONE;
    op->agreed = (struct gr_op_agreed) {.fetches = !module->gpu};
    rc = mca_coll_gpuring_buffers_size(op);
    if (OMPI_SUCCESS == rc && !module->gpu && !gr_is_known_host(module, call)) {
        rc = mca_coll_gpuring_gpu_late(module, call);
    }
    if (OMPI_SUCCESS != rc || 0 == op->data.bytes) {
        return rc;
    }
    op->data.request.torus = module->torus;
    op->seq = ++queue->seq;
    if (!module->gpu && GR_PERSISTENT != form && op->data.bytes > GR_PACK_LEAST) {
        int unwanted = mca_coll_gpuring_op_unwanted(module, op);

        if (unwanted >= 0) {
            op->fallback = (enum gr_fallback_reason) unwanted;
            return OMPI_ERR_NOT_AVAILABLE;
        }
    }
    if (module->gpu) {
        rc = mca_coll_gpuring_classify_buffers(call, &device);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        if (op->nonblocking) {
            mca_coll_gpuring_op_mark(op, queue);
        }
        mca_coll_gpuring_agreement_record(op, &module->params, device);
        if (GR_PERSISTENT == form) {
            rc = mca_coll_gpuring_agreement_exchange(module, op, gr_setup_number(queue));
        } else if (GR_AGREEMENT_ONLY == use || mca_coll_gpuring_op_agrees(module, op)) {
            return mca_coll_gpuring_agreement_prepare(op, use);
        } else if (0 == module->params.value[GR_PARAM_HOST]) {
            op->fallback = GR_FALLBACK_SHORT;
            return OMPI_ERR_NOT_AVAILABLE;
        }
    }
    if (OMPI_SUCCESS == rc) {
        mca_coll_gpuring_op_choose(module, op);
    }
    return rc;
}

/* The set-up that the op needs first: for its agreement, or its executor. NULL: no memory. */
static struct gr_setup *first_setup(struct gr_op_queue *queue, struct gr_op *op, uint32_t number)
{
    return gr_op_agrees(op)
               ? mca_coll_gpuring_setup_new(queue, mca_coll_gpuring_agreement_way(queue), 0, number)
               : op->exec->connect(op, number);
}

/*
 * The first call that needs links sets them up. from: the queue that the set-ups are numbered in.
 * OMPI error code.
 */
static int ask(struct gr_op_queue *from, struct gr_op_queue *queue, struct gr_op *op)
{
    struct gr_setup **next = &op->setup;
    enum gr_links links;

    op->queue = queue;
    links = gr_op_agrees(op) ? gr_team_links(queue->team, mca_coll_gpuring_agreement_way(queue), 0)
                             : op->exec->links(op);
    if (GR_LINKS_NONE == links) {
        op->setup = first_setup(queue, op, gr_setup_number(from));
        if (NULL == op->setup) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        next = &op->next_setup;
    }
    if ((gr_op_agrees(op) || op->exec->runs_steps) && mca_coll_gpuring_timing_asks(queue)) {
        *next = mca_coll_gpuring_setup_new(queue, GR_WAY_NOTES, 0, gr_setup_number(from));
        return NULL == *next ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
    }
    return OMPI_SUCCESS;
}

/*
 * All that comes before the queue: set-ups, and buffers where the executor is known. OMPI error
 * code.
 */
static int prepare(struct gr_op_queue *queue, struct gr_op *op)
{
    int rc = ask(queue, queue, op);

    return OMPI_SUCCESS == rc && !gr_op_agrees(op) ? mca_coll_gpuring_op_begin(op) : rc;
}

/*
 * The call did not get as far as its queue on this rank, but others may have: they are told.
 * Returns rc.
 */
static int failed(mca_coll_gpuring_module_t *module, const struct gr_call *call, int rc)
{
    char why[sizeof(module->why)];

    if (OMPI_SUCCESS == rc) {
        return rc;
    }
    snprintf(why, sizeof(why), "%s: %.100s", gr_calls[call->id].name,
             /* MPI's codes are positive */
             rc > 0 ? ompi_mpi_errnum_get_string(rc) : opal_strerror(rc));
    return mca_coll_gpuring_fail_here(module, rc, why);
}

static int do_blocking(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                       const struct gr_form *form)
{
    struct gr_op_queue *queue = module->queues[GR_ORDER_BLOCKING];
    struct gr_op *op = &queue->own;
    int rc = describe(queue, op, call, form->kind, GR_AGREEMENT_FIRST);

    if (OMPI_SUCCESS == rc && op->data.bytes > 0) {
        rc = prepare(queue, op);
        rc = OMPI_SUCCESS == rc ? mca_coll_gpuring_queue_do(queue, op) : rc;
    }
    return OMPI_ERR_NOT_AVAILABLE == rc ? fall_back(module, call, form, (int) op->fallback)
                                        : failed(module, call, rc);
}

static int do_nonblocking(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                          const struct gr_form *form)
{
    struct gr_op_queue *queue = mca_coll_gpuring_queue_of(module, call->comm, GR_ORDER_NONBLOCKING);
    mca_coll_gpuring_request_t *request =
        NULL == queue ? NULL : mca_coll_gpuring_request_get(call->comm, false);
    struct gr_op *op;
    int rc;

    if (NULL == request) {
        return failed(module, call, OMPI_ERR_OUT_OF_RESOURCE);
    }
    op = &request->op;
    rc = describe(queue, op, call, form->kind, GR_AGREEMENT_FIRST);
    if (OMPI_ERR_NOT_AVAILABLE == rc) {
        mca_coll_gpuring_request_put(request);
        return fall_back(module, call, form, (int) op->fallback);
    }
    if (OMPI_SUCCESS == rc && op->data.bytes > 0) {
        rc = prepare(queue, op);
        if (OMPI_SUCCESS == rc) {
            mca_coll_gpuring_thread_need(module->gpu);
            mca_coll_gpuring_queue_start(&op, 1);
            *form->request = &request->super.super;
            return OMPI_SUCCESS;
        }
    }
    mca_coll_gpuring_request_put(request);
    *form->request = &ompi_request_empty;
    return failed(module, call, rc);
}

/* Requests of all sizes share slabs of few sizes: a set with its head is a power of two. */
static size_t persistent_box_bytes(size_t post_bytes)
{
    size_t set = GR_CACHE_LINE;

    while (set - GR_SET_HEAD < post_bytes) {
        set *= 2;
    }
    return set - GR_SET_HEAD;
}

/*
 * In the init of a persistent request: set up the links of the op in its own queue, and wait for
 * them. All ranks do so together. OMPI error code; OMPI_ERR_NOT_AVAILABLE: refused.
 */
static int set_up(mca_coll_gpuring_module_t *module, struct gr_op_queue *queue, struct gr_op *op)
{
    struct gr_waiting waiting = {module, gr_calls[op->call.id].name, op->seq,
                                 mca_coll_gpuring_setup_explain, NULL};
    int rc = ask(module->queues[GR_ORDER_BLOCKING], queue, op);

    while (OMPI_SUCCESS == rc && NULL != op->setup) {
        waiting.ctx = op->setup;
        rc = mca_coll_gpuring_wait(mca_coll_gpuring_setup_poll, &waiting);
        if (OMPI_SUCCESS == rc) {
            mca_coll_gpuring_setup_end(op->setup);
            op->setup = op->next_setup;
            op->next_setup = NULL;
        }
        /* messages may be under way into the set-up: what it has stays with it */
        queue->lost = OMPI_SUCCESS != rc;
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return GR_LINKS_THERE == op->exec->links(op) ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
}

/* Make the queue of a persistent request, with the links that the op needs. OMPI error code. */
static int make_queue(mca_coll_gpuring_module_t *module, struct gr_op *op,
                      struct gr_op_queue **queue)
{
    int rc;

    rc = mca_coll_gpuring_queues_open();
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    *queue = mca_coll_gpuring_queue_new(module, op->call.comm, GR_SETS_PERSISTENT,
                                        persistent_box_bytes(op->data.post_bytes));
    if (NULL == *queue) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    (*queue)->persistent = true;
    rc = set_up(module, *queue, op);
    if (OMPI_ERR_NOT_AVAILABLE == rc && mca_coll_gpuring_op_choose_host(module, op)) {
        rc = set_up(module, *queue, op);
    }
    if (OMPI_SUCCESS != rc && !(*queue)->lost) {
        mca_coll_gpuring_queue_free(*queue);
    }
    return rc;
}

static int do_persistent(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                         const struct gr_form *form)
{
    mca_coll_gpuring_request_t *request = mca_coll_gpuring_request_get(call->comm, true);
    struct gr_op_queue *queue = NULL;
    int reason = GR_FALLBACK_SETUP, unwanted, rc;

    if (NULL == request) {
        return failed(module, call, OMPI_ERR_OUT_OF_RESOURCE);
    }
    rc = describe(module->queues[GR_ORDER_BLOCKING], &request->op, call, form->kind,
                  GR_AGREEMENT_FIRST);
    if (OMPI_SUCCESS == rc) {
        request->kept = mca_coll_gpuring_args_copy(&request->op.call);
        rc = NULL == request->kept ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
    }
    unwanted = OMPI_SUCCESS == rc && request->op.data.bytes > 0
                   ? mca_coll_gpuring_op_unwanted(module, &request->op)
                   : -1;
    if (unwanted >= 0) {
        rc = OMPI_ERR_NOT_AVAILABLE;
        reason = unwanted;
    }
    if (OMPI_SUCCESS == rc && request->op.data.bytes > 0) {
        rc = make_queue(module, &request->op, &queue);
    }
    if (OMPI_SUCCESS == rc) {
        mca_coll_gpuring_request_persist(request, queue);
        *form->request = &request->super.super;
        return OMPI_SUCCESS;
    }
    mca_coll_gpuring_request_put(request);
    return OMPI_ERR_NOT_AVAILABLE == rc ? fall_back(module, call, form, reason)
                                        : failed(module, call, rc);
}

/*
 * Whether a large call is cut into segments: where some buffer is on a device, which call records
 * say. Before, whether it is one of those is known to all alike. OMPI error code.
 */
static int ask_devices(mca_coll_gpuring_module_t *module, const struct gr_call *call, bool *devices)
{
    struct gr_op_queue *queue;
    struct gr_op *op;
    int rc = mca_coll_gpuring_decide(module, call->comm);

    *devices = false;
    if (OMPI_SUCCESS != rc || 0 <= module->refused || !module->gpu) {
        return rc;
    }
    rc = mca_coll_gpuring_failure_known(module);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    queue = module->queues[GR_ORDER_BLOCKING];
    op = &queue->own;
    rc = describe(queue, op, call, GR_BLOCKING, GR_AGREEMENT_ONLY);
    rc = OMPI_SUCCESS == rc ? prepare(queue, op) : rc;
    rc = OMPI_SUCCESS == rc ? mca_coll_gpuring_queue_do(queue, op) : rc;
    *devices = op->agreed.devices;
    return OMPI_ERR_NOT_AVAILABLE == rc ? OMPI_SUCCESS : failed(module, call, rc);
}

/*
 * The large messages of the call, where all ranks know that they are to look for some. OMPI error
 * code.
 */
static int find_pairs(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                      const struct gr_form *form, struct gr_p2p_split **pairs)
{
    struct gr_op_queue *queue;
    int rc =
        gr_calls[call->id].reduces ? OMPI_SUCCESS : mca_coll_gpuring_decide(module, call->comm);

    if (OMPI_SUCCESS != rc || !mca_coll_gpuring_p2p_split_fits(module, call)) {
        return rc;
    }
    queue = mca_coll_gpuring_queue_of(module, call->comm,
                                      GR_NONBLOCKING == form->kind ? GR_ORDER_NONBLOCKING
                                                                   : GR_ORDER_BLOCKING);
    return NULL == queue ? OMPI_ERR_OUT_OF_RESOURCE
                         : mca_coll_gpuring_p2p_split_new(queue, call, pairs);
}

/*
 * Hand on what gpuring does not take, in segments or with its large messages in pieces where that
 * pays.
 */
static int hand_on(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                   const struct gr_form *form, int reason)
{
    struct gr_form handed = *form;
    bool device = true;
    int rc = OMPI_SUCCESS;

    if (GR_FALLBACK_STAGED == reason) {
        rc = mca_coll_gpuring_classify_buffers(call, &device);
        rc = OMPI_SUCCESS == rc ? find_pairs(module, call, form, &handed.pairs) : rc;
    }
    if (OMPI_SUCCESS == rc && mca_coll_gpuring_segments_fit(call, form)) {
        handed.cut = device;
        rc = GR_CALL_REDUCE_LOCAL == call->id ? OMPI_SUCCESS
                                              : ask_devices(module, call, &handed.cut);
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    /* a collective without kernels and devices: nothing of ours */
    if (!device && !handed.cut && NULL == handed.pairs) {
        return mca_coll_gpuring_saved_call(module, call, form);
    }
    return fall_back(module, call, &handed, reason);
}

int mca_coll_gpuring_dispatch(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                              const struct gr_form *form)
{
    int reason, rc;

    if (call->id >= GR_NSUPPORTED) {
        return hand_on(module, call, form, GR_FALLBACK_STAGED);
    }
    rc = 0 != module->failed ? module->failed : mca_coll_gpuring_decide(module, call->comm);
    if (OMPI_SUCCESS != rc) {
        return failed(module, call, rc);
    }
    reason = mca_coll_gpuring_refusal(module, call);
    if (reason >= 0) {
        return hand_on(module, call, form, reason);
    }
    rc = mca_coll_gpuring_failure_known(module);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    switch (form->kind) {
    case GR_BLOCKING:
        return do_blocking(module, call, form);
    case GR_NONBLOCKING:
        return do_nonblocking(module, call, form);
    default:
        return do_persistent(module, call, form);
    }
}
