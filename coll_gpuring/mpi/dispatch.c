/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of a call. It depends only on what is equal on all ranks: the collective,
 * its form, the signature's bytes and type, the operation, the root, the team's agreements and
 * parameters.
 *
 *      taken? --> op --> algorithm, set-up if new --> buffers --> queue
 *         |        |                                     blocking:    wait for its end
 *         '--------'---> saved collective                nonblocking: return a request
 *                                                        init:        own queue and set-up, request
 */

#include "comm/devices.h"
#include "comm/failure.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "engine/op_queue.h"
#include "engine/phases.h"
#include "exec/op.h"
#include "mpi/buffer_desc.h"
#include "mpi/call.h"
#include "mpi/comm.h"
#include "mpi/datatype.h"
#include "mpi/fallback.h"
#include "mpi/module.h"
#include "mpi/op.h"
#include "mpi/call_cache.h"
#include "mpi/request.h"
#include "mpi/runtime.h"
#include "mpi/staging/stage.h"

#include "base/errors.h"
#include "exec/gpu/op.h"

#include "ompi/errhandler/errcode.h"
#include "opal/util/error.h"

#include <stdio.h>

static int fall_back(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                     const struct gr_form *form, int reason)
{
    gr_stats_fallback(call->id, (enum gr_fallback_reason) reason);
    if (NULL != call->comm && gr_should_log(ompi_comm_rank(call->comm), 2)) {
        gr_print("gpuring: %s on %s falls back: %s", gr_calls[call->id].name,
                 gr_ompi_name(call->comm), mca_coll_gpuring_fallbacks[reason].help);
    }
    return mca_coll_gpuring_fall_back(module, call, form);
}

/* ---- a driver that was loaded after MPI_Init ---- */

/*
 * For calls that gpuring takes on a communicator whose ranks expected no device buffers. Sets
 * *device if this call has some all the same, waits for their default streams as
 * mca_coll_gpuring_classify_buffers() does, and reports it once. OMPI error code.
 */
static int find_late_buffers(const struct gr_call *call, struct gr_stage *stage, bool *device)
{
    static atomic_bool said;
    int rc =
        gr_gpu_loaded() ? mca_coll_gpuring_classify_buffers(call, stage, device) : OMPI_SUCCESS;

    if (OMPI_SUCCESS == rc && *device && !atomic_exchange(&said, true)) {
        gr_warn("gpu-late", gr_calls[call->id].name, ompi_comm_rank(call->comm),
                gr_ompi_name(call->comm));
    }
    return rc;
}

/* ---- calls ---- */

/* The kernel for the call's type and operation, an enum gr_kernel; -1: there is none. */
static int kernel_of(const struct gr_call *call)
{
    return gr_calls[call->id].reduces ? (int) gr_gpu_kernel(mca_coll_gpuring_type(call->rtype),
                                                            mca_coll_gpuring_redop(call->reduction))
                                      : GR_KERNEL_copy;
}

/*
 * Whether nothing is packed or unpacked on the way: elements lie in the buffers as steps move them.
 */
static bool is_plain(const struct gr_call *call)
{
    return mca_coll_gpuring_is_gapless(call->rtype) &&
           (gr_calls[call->id].reduces || GR_CALL_BCAST == call->id || MPI_IN_PLACE == call->sbuf ||
            mca_coll_gpuring_is_gapless(call->stype));
}

/* Tell the engine what is called, and with what. */
static void set_call(struct gr_mpi_op *op, const struct gr_call *call)
{
    struct gr_op *base = &op->base;

    op->call = *call;
    base->id = call->id;
    base->root = call->root;
    base->buffers[0] = MPI_IN_PLACE == call->sbuf ? NULL : call->sbuf;
    base->buffers[1] = call->rbuf;
    if (base->comm->gpu && gr_call_has_buffers(call->id)) {
        base->kernel = kernel_of(call);
        base->plain = is_plain(call);
        base->output = base->comm->params.value[GR_PARAM_ZERO_COPY] >= 0 &&
                               mca_coll_gpuring_is_gapless(call->rtype)
                           ? mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype)
                           : NULL;
    }
}

/*
 * Begin a call: set the op's call and sizes, look where its buffers are, order them after default
 * streams, and let the engine number the call and choose its algorithm and executor, or prepare the
 * agreement that these depend on. use: GR_AGREEMENT_ONLY, or GR_AGREEMENT_FIRST for an agreement
 * where one is needed. OMPI error code, or OMPI_ERR_NOT_AVAILABLE: it falls back, on all ranks.
 * Afterwards op->base.data.bytes 0: there is nothing to do, and the call has no number.
 */
static int begin_call(mca_coll_gpuring_module_t *module, struct gr_op_queue *queue,
                      struct gr_mpi_op *op, const struct gr_call *call, enum gr_agreement_use use)
{
    bool device = false;
    int rc;

    gr_op_reset(&op->base, &module->comm, op->base.persistent ? NULL : queue);
    set_call(op, call);
    op->stages = false;
    rc = mca_coll_gpuring_buffers_size(op);
    if (OMPI_SUCCESS != rc || 0 == op->base.data.bytes) {
        return rc;
    }
    if (gr_call_has_buffers(call->id)) {
        rc = module->comm.gpu ? mca_coll_gpuring_classify_buffers(call, &op->stage, &device)
                              : find_late_buffers(call, &op->stage, &device);
        op->stages = module->comm.gpu || device;
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (op->stages && op->base.nonblocking) {
        mca_coll_gpuring_op_mark(op, queue);
    }
    return mca_coll_gpuring_to_ompi(gr_op_decide(queue, &op->base, use, device));
}

/* The communicator's queue for nonblocking calls. NULL: no memory. */
static struct gr_op_queue *nonblocking_queue(mca_coll_gpuring_module_t *module)
{
    return OMPI_SUCCESS == mca_coll_gpuring_progress_open()
               ? gr_queue_of(&module->comm, GR_ORDER_NONBLOCKING)
               : NULL;
}

/*
 * End a call with rc that did not get as far as its queue on this rank. On others it may have: with
 * an error the communicator fails, and they are told. Returns rc.
 */
static int fail_call(mca_coll_gpuring_module_t *module, const struct gr_call *call, int rc)
{
    char why[sizeof(module->comm.why)];

    if (OMPI_SUCCESS == rc) {
        return rc;
    }
    snprintf(why, sizeof(why), "%s: %.100s", gr_calls[call->id].name,
             /* MPI's codes are positive */
             rc > 0 ? ompi_mpi_errnum_get_string(rc) : opal_strerror(rc));
    (void) gr_fail_here(&module->comm, GR_ERR_FAILED, why);
    return rc;
}

static int do_blocking(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                       const struct gr_form *form)
{
    struct gr_op_queue *queue = module->comm.queues[GR_ORDER_BLOCKING];
    struct gr_mpi_op *op;
    int rc;

    op = mca_coll_gpuring_blocking_op(module);
    if (NULL == op) {
        return fail_call(module, call, OMPI_ERR_OUT_OF_RESOURCE);
    }
    rc = begin_call(module, queue, op, call, GR_AGREEMENT_FIRST);
    if (OMPI_SUCCESS == rc && op->base.data.bytes > 0) {
        rc = mca_coll_gpuring_op_do(queue, op);
        if (OMPI_SUCCESS == rc) {
            mca_coll_gpuring_cache_call(module, op);
        }
    }
    return OMPI_ERR_NOT_AVAILABLE == rc ? fall_back(module, call, form, (int) op->base.fallback)
                                        : fail_call(module, call, rc);
}

static int do_nonblocking(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                          const struct gr_form *form)
{
    struct gr_op_queue *queue = nonblocking_queue(module);
    mca_coll_gpuring_request_t *request =
        NULL == queue ? NULL : mca_coll_gpuring_request_get(call->comm, false);
    struct gr_mpi_op *op;
    int rc;

    if (NULL == request) {
        return fail_call(module, call, OMPI_ERR_OUT_OF_RESOURCE);
    }
    op = &request->op;
    rc = begin_call(module, queue, op, call, GR_AGREEMENT_FIRST);
    if (OMPI_ERR_NOT_AVAILABLE == rc) {
        mca_coll_gpuring_request_put(request);
        return fall_back(module, call, form, (int) op->base.fallback);
    }
    if (OMPI_SUCCESS == rc && op->base.data.bytes > 0) {
        rc = mca_coll_gpuring_op_prepare(queue, op);
        if (OMPI_SUCCESS == rc) {
            if (!gr_threaded()) {
                mca_coll_gpuring_cache_call(module, op);
            }
            mca_coll_gpuring_thread_need(module->comm.gpu);
            mca_coll_gpuring_ops_start(&op, 1);
            *form->request = &request->super.super;
            return OMPI_SUCCESS;
        }
    }
    mca_coll_gpuring_request_put(request);
    *form->request = &ompi_request_empty;
    return fail_call(module, call, rc);
}

static int do_persistent(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                         const struct gr_form *form)
{
    mca_coll_gpuring_request_t *request = mca_coll_gpuring_request_get(call->comm, true);
    struct gr_op_queue *queue = NULL;
    enum gr_fallback_reason reason;
    int rc;

    if (NULL == request) {
        return fail_call(module, call, OMPI_ERR_OUT_OF_RESOURCE);
    }
    rc = begin_call(module, module->comm.queues[GR_ORDER_BLOCKING], &request->op, call,
                    GR_AGREEMENT_FIRST);
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_args_keep(&request->kept, &request->op.call, true);
    }
    if (OMPI_SUCCESS == rc && request->op.base.data.bytes > 0) {
        rc = mca_coll_gpuring_progress_open();
        rc = OMPI_SUCCESS == rc
                 ? mca_coll_gpuring_to_ompi(gr_persistent_queue(&request->op.base, &queue))
                 : rc;
    }
    if (OMPI_SUCCESS == rc) {
        request->queue = queue;
        *form->request = &request->super.super;
        return OMPI_SUCCESS;
    }
    reason = request->op.base.fallback;
    mca_coll_gpuring_request_put(request);
    return OMPI_ERR_NOT_AVAILABLE == rc ? fall_back(module, call, form, (int) reason)
                                        : fail_call(module, call, rc);
}

/*
 * *devices: whether some rank's buffer is on a device; then the call is cut into segments. Where
 * ranks have to ask each other, they exchange call records for it; whether they do is known to all
 * alike. Collectives that gpuring only stages come here only on ranks that may have device buffers.
 * OMPI error code.
 */
static int ask_devices(mca_coll_gpuring_module_t *module, const struct gr_call *call, bool *devices)
{
    struct gr_op_queue *queue;
    struct gr_mpi_op *op;
    int rc = mca_coll_gpuring_decide(module, call->comm);

    *devices = false;
    if (OMPI_SUCCESS != rc || 0 <= module->refused ||
        !(call->id >= GR_NSUPPORTED ? module->all_gpu : module->comm.gpu)) {
        return rc;
    }
    rc = gr_ompi_failure(&module->comm);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    queue = module->comm.queues[GR_ORDER_BLOCKING];
    op = mca_coll_gpuring_blocking_op(module);
    if (NULL == op) {
        return fail_call(module, call, OMPI_ERR_OUT_OF_RESOURCE);
    }
    rc = begin_call(module, queue, op, call, GR_AGREEMENT_ONLY);
    rc = OMPI_SUCCESS == rc ? mca_coll_gpuring_op_do(queue, op) : rc;
    *devices = op->base.agreed.devices;
    return OMPI_ERR_NOT_AVAILABLE == rc ? OMPI_SUCCESS : fail_call(module, call, rc);
}

/*
 * The large messages of the call, where all ranks know that they are to look for some. OMPI error
 * code.
 */
static int find_split(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                      const struct gr_form *form, struct gr_p2p_split **split)
{
    struct gr_op_queue *queue;
    int rc =
        gr_calls[call->id].reduces ? OMPI_SUCCESS : mca_coll_gpuring_decide(module, call->comm);

    if (OMPI_SUCCESS != rc || !mca_coll_gpuring_p2p_split_fits(module, call)) {
        return rc;
    }
    queue = GR_NONBLOCKING == form->kind ? nonblocking_queue(module)
                                         : gr_queue_of(&module->comm, GR_ORDER_BLOCKING);
    return NULL == queue ? OMPI_ERR_OUT_OF_RESOURCE
                         : mca_coll_gpuring_p2p_split_new(queue, call, split);
}

/* The fallback, in segments or with its large messages in fragments where that pays. */
static int fall_back_in_parts(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                              const struct gr_form *form, int reason)
{
    struct gr_form parts = *form;
    bool device = true;
    int rc = OMPI_SUCCESS;

    if (GR_FALLBACK_STAGED == reason) {
        rc = mca_coll_gpuring_classify_buffers(call, NULL, &device);
        rc = OMPI_SUCCESS == rc ? find_split(module, call, form, &parts.split) : rc;
    }
    if (OMPI_SUCCESS == rc && mca_coll_gpuring_segments_fit(call, form)) {
        parts.cut = device;
        rc =
            GR_CALL_REDUCE_LOCAL == call->id ? OMPI_SUCCESS : ask_devices(module, call, &parts.cut);
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    /* a collective without kernels and devices: nothing of ours */
    if (!device && !parts.cut && NULL == parts.split) {
        return mca_coll_gpuring_saved_call(module, call, form);
    }
    return fall_back(module, call, &parts, reason);
}

/* A call that is not cached. */
static int dispatch(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                    const struct gr_form *form)
{
    int reason, rc;

    if (call->id >= GR_NSUPPORTED && gr_stats_timed()) {
        mca_coll_gpuring_stats_other(call->id);
    }
    if (call->id >= GR_NSUPPORTED || !module->takes) {
        return gr_gpu_possible() ? fall_back_in_parts(module, call, form, GR_FALLBACK_STAGED)
               : gr_gpu_loaded() ? mca_coll_gpuring_fall_back(module, call, form) /* staged */
                                 : mca_coll_gpuring_saved_call(module, call, form);
    }
    rc = 0 != module->comm.failed ? mca_coll_gpuring_to_ompi(module->comm.failed)
                                  : mca_coll_gpuring_decide(module, call->comm);
    if (OMPI_SUCCESS != rc) { /* all ranks are told: they may have decided, and wait for this one */
        return fail_call(module, call, rc);
    }
    reason = mca_coll_gpuring_refusal(module, call);
    if (reason >= 0) {
        return fall_back_in_parts(module, call, form, reason);
    }
    /* Only now does the engine know the communicator, which may also be revoked or lack a rank. */
    rc = gr_ompi_failure(&module->comm);
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

/* Go on with a nonblocking call that has begun as a cached one. OMPI error code. */
static int go_on(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                 const struct gr_cached_begun *begun, ompi_request_t **started)
{
    mca_coll_gpuring_request_t *request;

    *started = &ompi_request_empty;
    if (NULL == begun->cached) {
        return OMPI_SUCCESS;
    }
    request = mca_coll_gpuring_request_get(call->comm, false);
    if (NULL == request) {
        return fail_call(module, call, OMPI_ERR_OUT_OF_RESOURCE);
    }
    mca_coll_gpuring_cached_go_on(begun, call, &request->op);
    *started = &request->super.super;
    return OMPI_SUCCESS;
}

int mca_coll_gpuring_dispatch(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                              const struct gr_form *form)
{
    struct gr_cached_begun begun;

    /* not with threads: another one may let Open MPI start a call of its own, which is cached */
    if (GR_NONBLOCKING == form->kind && NULL != module->cache[GR_ORDER_NONBLOCKING] &&
        !gr_threaded() && OMPI_SUCCESS == gr_ompi_failure(&module->comm) &&
        mca_coll_gpuring_cached_begin(module, call, &begun)) {
        return go_on(module, call, &begun, form->request);
    }
    return dispatch(module, call, form);
}
