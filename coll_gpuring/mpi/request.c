/* SPDX-License-Identifier: BSD-3-Clause */
/* The ops of MPI calls, and requests (request.h). */
#include "mpi/request.h"

#include "comm/failure.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "engine/op_queue.h"
#include "engine/phases.h"
#include "exec/op.h"
#include "mpi/call.h"
#include "mpi/call_cache.h"
#include "mpi/runtime.h"
#include "mpi/staging/stage.h"

#include "base/memory.h"
#include "exec/gpu/team.h"

#include <pthread.h>
#include <stdlib.h>

static void op_init(struct gr_mpi_op *op)
{
    memset(op, 0, sizeof(*op));
    op->base.after = &op->stage.after;
}

/* What the op owns; it must be done. */
static void op_free(struct gr_mpi_op *op)
{
    gr_op_free(&op->base);
    free(op->kept.counts);
    mca_coll_gpuring_scratch_free(&op->kept.packed);
    mca_coll_gpuring_scratch_free(&op->kept.tmp);
    mca_coll_gpuring_stage_free(&op->stage);
}

void mca_coll_gpuring_op_mark(struct gr_mpi_op *op, const struct gr_op_queue *queue)
{
    mca_coll_gpuring_points_set(&op->stage.after, &op->call,
                                NULL == queue->gpu ? NULL : queue->gpu->gpu);
    gr_leader_mark(queue);
}

/* ---- the ops of blocking calls ---- */

/* With the component's lock. */
static mca_coll_gpuring_module_t *last; /* the last that took an op, and has it; NULL: none */
static struct gr_mpi_op *spare;         /* of a communicator that has ended; NULL: none. Owned */

/*
 * Whether the communicator's op may go to another one. During a blocking call Open MPI may begin a
 * call on another communicator, out of opal_progress. What failed stays: other ranks may still use
 * its memory.
 */
static bool is_idle(const mca_coll_gpuring_module_t *module)
{
    const struct gr_op *op = &module->op->base;

    return !gr_threaded() && GR_OP_DONE == op->phase && 0 == op->rc && 0 == module->comm.failed &&
           0 == atomic_load_explicit(&op->queue->busy, memory_order_relaxed);
}

static void op_delete(struct gr_mpi_op *op)
{
    if (NULL != op) {
        op_free(op);
        free(op);
    }
}

struct gr_mpi_op *mca_coll_gpuring_blocking_op_take(mca_coll_gpuring_module_t *module)
{
    pthread_mutex_lock(&gr_process.lock);
    if (NULL != spare) {
        module->op = spare;
        spare = NULL;
    } else if (NULL != last && is_idle(last)) {
        module->op = last->op;
        last->op = NULL;
    } else {
        module->op = gr_malloc(sizeof(*module->op));
        if (NULL != module->op) {
            op_init(module->op);
        }
    }
    last = NULL == module->op ? last : module;
    pthread_mutex_unlock(&gr_process.lock);
    return module->op;
}

void mca_coll_gpuring_blocking_op_end(mca_coll_gpuring_module_t *module)
{
    if (NULL == module->op) {
        return;
    }
    pthread_mutex_lock(&gr_process.lock);
    last = module == last ? NULL : last;
    if (NULL == spare && is_idle(module)) {
        spare = module->op;
        module->op = NULL;
    }
    pthread_mutex_unlock(&gr_process.lock);
    op_delete(module->op);
    module->op = NULL;
}

void mca_coll_gpuring_blocking_ops_close(void)
{
    op_delete(spare);
    spare = NULL;
}

/*
 * ---- requests ----
 *
 * They come from a list of used ones, with all that their ops have ever needed, so that a warm call
 * allocates nothing. A request keeps its communicator alive: MPI_Comm_free may come first.
 */

/*
 * Not opal_free_list_t: with threads it takes instructions that not every compiler makes unasked
 * (cmpxchg16b).
 */
static struct {
    gr_lock_t lock;
    mca_coll_gpuring_request_t *first;
} unused;

static int request_free(ompi_request_t **handle)
{
    mca_coll_gpuring_request_t *request = (mca_coll_gpuring_request_t *) *handle;

    if (!REQUEST_COMPLETE(&request->super.super)) {
        return MPI_ERR_REQUEST;
    }
    mca_coll_gpuring_request_put(request);
    *handle = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

/*
 * A start that fails on this rank, with an OMPI error code: others may have started, and wait for
 * this rank, so the communicator fails, and they are told. Returns MPI's error code.
 */
static int fail_start(mca_coll_gpuring_request_t *request, int rc)
{
    request->super.super.req_state = OMPI_REQUEST_INACTIVE;
    gr_op_report_error(&request->op.base, mca_coll_gpuring_from_ompi(rc));
    gr_failure_tell(request->queue->comm);
    return mca_coll_gpuring_mpi_code(rc);
}

/*
 * Start a request that keeps its op ready. False: it is to be started as all others. Where the other
 * ranks have posted, it is done, and stays complete; persistent requests have no callbacks.
 */
static inline bool start_cached(mca_coll_gpuring_request_t *request)
{
    struct gr_op *op = &request->op.base;
    double start;
    int rc;

    if (!request->cached) {
        return false;
    }
    start = gr_call_start(&request->counter);
    rc = gr_queue_try_mail(request->queue, &op->run.mailbox);
    if (GR_NO_MAIL == rc) {
        return false;
    }
    request->super.super.req_state = OMPI_REQUEST_ACTIVE;
    request->super.super.req_status.MPI_ERROR = MPI_SUCCESS;
    if (1 != rc) {
        request->super.super.req_complete = REQUEST_PENDING;
        op->start = 0 == start ? gr_stats_now() : start;
        gr_queue_go_on(op);
    } else {
        gr_count_started(&request->counter, start);
    }
    return true;
}

/* Whether the request, which has been prepared, keeps its op ready from its next start on. */
static void find_cached(mca_coll_gpuring_request_t *request)
{
    if (!request->cached && mca_coll_gpuring_may_cache(&request->op)) {
        request->cached = true;
        mca_coll_gpuring_cached_count(&request->counter, &request->op);
    }
}

/* Not inline: what it saves of registers, cached requests need not save. */
__attribute__((noinline)) static int start_by_queue(size_t count, ompi_request_t **handles)
{
    struct gr_mpi_op *ops[64];
    size_t k, n = 0;
    int rc = OMPI_SUCCESS, one;
    bool device; /* known since init */

    for (k = 0; k < count; k++) {
        mca_coll_gpuring_request_t *request = (mca_coll_gpuring_request_t *) handles[k];

        if (start_cached(request)) {
            continue;
        }
        request->super.super.req_state = OMPI_REQUEST_ACTIVE;
        request->super.super.req_status.MPI_ERROR = MPI_SUCCESS;
        if (0 == request->op.base.data.bytes) {
            continue; /* nothing to do: it stays complete */
        }
        one = OMPI_SUCCESS;
        if (request->op.stages) {
            one = mca_coll_gpuring_classify_buffers(&request->op.call, &request->op.stage, &device);
            mca_coll_gpuring_op_mark(&request->op, request->queue);
        }
        if (OMPI_SUCCESS == one) {
            one = mca_coll_gpuring_op_begin(&request->op);
        }
        if (OMPI_SUCCESS != one) {
            rc = fail_start(request, one);
            continue;
        }
        find_cached(request);
        request->super.super.req_complete = REQUEST_PENDING;
        mca_coll_gpuring_thread_need(request->op.base.exec->on_device);
        ops[n++] = &request->op;
        if (sizeof(ops) / sizeof(ops[0]) == n) {
            mca_coll_gpuring_ops_start(ops, n);
            n = 0;
        }
    }
    if (n > 0) {
        mca_coll_gpuring_ops_start(ops, n);
    }
    return rc;
}

/* MPI_Start and MPI_Startall: all at once. */
static int request_start(size_t count, ompi_request_t **handles)
{
    size_t k = 0;

    while (k < count && start_cached((mca_coll_gpuring_request_t *) handles[k])) {
        k++;
    }
    return k == count ? OMPI_SUCCESS : start_by_queue(count - k, handles + k);
}

static void request_construct(mca_coll_gpuring_request_t *request)
{
    ompi_request_t *r = &request->super.super;

    r->req_type = OMPI_REQUEST_COLL;
    r->req_status = ompi_status_empty;
    r->req_free = request_free;
    r->req_cancel = NULL;
    op_init(&request->op);
    request->queue = NULL;
    request->cached = false;
    request->kept = (struct gr_kept_args) {.n = 0};
}

static void request_destruct(mca_coll_gpuring_request_t *request)
{
    op_free(&request->op);
}

OBJ_CLASS_INSTANCE(mca_coll_gpuring_request_t, ompi_coll_base_nbc_request_t, request_construct,
                   request_destruct);

static mca_coll_gpuring_request_t *take_unused(void)
{
    mca_coll_gpuring_request_t *request;

    gr_lock(&unused.lock);
    (void) GR_POP(request, unused.first);
    gr_unlock(&unused.lock);
    return request;
}

mca_coll_gpuring_request_t *mca_coll_gpuring_request_get(struct ompi_communicator_t *comm,
                                                         bool persistent)
{
    mca_coll_gpuring_request_t *request = take_unused();
    ompi_request_t *r;

    if (NULL == request) {
        request = OBJ_NEW(mca_coll_gpuring_request_t);
    }
    if (NULL == request && gr_reserve_release()) {
        request = OBJ_NEW(mca_coll_gpuring_request_t);
    }
    if (NULL == request) {
        return NULL;
    }
    r = &request->super.super;
    OMPI_REQUEST_INIT(r, persistent);
    r->req_mpi_object.comm = comm;
    r->req_start = persistent ? request_start : NULL;
    r->req_free = request_free; /* what MPI's functions retained may have put theirs before it */
    r->req_status = ompi_status_empty;
    r->req_state = persistent ? OMPI_REQUEST_INACTIVE : OMPI_REQUEST_ACTIVE;
    request->op.base.nonblocking = true;
    request->op.base.persistent = persistent;
    request->op.base.queue = NULL;
    request->op.base.setup = NULL;
    request->op.base.probe = NULL;
    request->op.mpi_request = r;
    OBJ_RETAIN(comm);
    return request;
}

void mca_coll_gpuring_request_put(mca_coll_gpuring_request_t *request)
{
    struct ompi_communicator_t *comm = request->super.super.req_mpi_object.comm;

    if (NULL != request->queue) {
        gr_queue_free(request->queue);
        request->queue = NULL;
    }
    if (request->cached) {
        request->cached = false;
        mca_coll_gpuring_counter_leave(&request->counter);
    }
    if (NULL != request->kept.arrays) {
        mca_coll_gpuring_args_release(&request->kept);
    }
    OMPI_REQUEST_FINI(&request->super.super);
    gr_lock(&unused.lock);
    GR_PUSH(request, unused.first);
    gr_unlock(&unused.lock);
    OBJ_RELEASE(comm); /* may be the last that keeps it, and with it the queue */
}

void mca_coll_gpuring_requests_close(void)
{
    mca_coll_gpuring_request_t *request;

    while (NULL != (request = take_unused())) {
        OBJ_RELEASE(request);
    }
}
