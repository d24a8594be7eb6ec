/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Driving ops (op.h): queues (engine/op_queue.h) go on as far as they can, and return an op whose
 * buffers are to be prepared or unpacked, or whose request is to be completed. Here that is done,
 * for an MPI call that waits, for opal_progress and for the optional progress thread.
 */
#include "mpi/op.h"

#include "comm/comm.h"
#include "comm/net_links.h"
#include "comm/params.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "engine/op_queue.h"
#include "engine/phases.h"
#include "exec/executor.h"
#include "exec/op.h"
#include "mpi/call.h"
#include "mpi/runtime.h"
#include "mpi/staging/stage.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

/* ---- what the engine leaves to MPI's side ---- */

/* Release what prepare() took, without results. */
static void release(struct gr_mpi_op *op)
{
    if (op->stages) {
        (void) mca_coll_gpuring_stage_out(&op->stage, &op->call, false);
    }
}

/*
 * Put the op's buffers where its executor can use them. Those of an executor that this one replaces
 * are released first. OMPI error code.
 */
static int prepare(struct gr_mpi_op *op)
{
    int rc;

    release(op);
    rc = mca_coll_gpuring_buffers_prepare(op);
    if (OMPI_SUCCESS != rc) {
        release(op);
    }
    op->base.elsewhere = op->stage.elsewhere;
    gr_op_prepared(&op->base, mca_coll_gpuring_from_ompi(rc));
    return rc;
}

/* The op is over: unpack its output, copy staged results back, and release what prepare() took. */
static void end(struct gr_mpi_op *op)
{
    struct gr_op *base = &op->base;
    int rc = base->rc, out;

    if (0 == rc) {
        rc = mca_coll_gpuring_from_ompi(mca_coll_gpuring_buffers_end(op));
    }
    if (op->stages) {
        out = mca_coll_gpuring_stage_out(&op->stage, &op->call,
                                         0 == rc && !base->data.staged.brought);
        rc = 0 == rc ? mca_coll_gpuring_from_ompi(out) : rc;
    }
    gr_op_end(base, rc);
}

/*
 * Complete the request of a nonblocking op that is done. Whoever waits for the request may free it,
 * and the op with it, before this returns.
 */
static void complete(struct gr_mpi_op *op)
{
    ompi_request_t *mpi_request = op->mpi_request;

    mpi_request->req_status.MPI_ERROR =
        mca_coll_gpuring_mpi_code(mca_coll_gpuring_to_ompi(op->base.rc));
    ompi_request_complete(mpi_request, true);
}

/* gr_queue_drive() has returned the op. */
static void serve(struct gr_op *op, bool here)
{
    struct gr_mpi_op *mpi_op = (struct gr_mpi_op *) op;

    if (GR_OP_BUFFERS == op->phase) {
        (void) prepare(mpi_op);
        return;
    }
    if (GR_OP_OVER == op->phase) {
        end(mpi_op);
    }
    if (op->nonblocking && here) {
        complete(mpi_op);
    } else if (op->nonblocking) {
        gr_queue_keep(op);
    }
}

/* ---- queues ---- */

/* The caller has the queue. */
static void drive(struct gr_op_queue *queue, bool here)
{
    struct gr_op *op;

    while (NULL != (op = gr_queue_drive(queue, here))) {
        serve(op, here);
    }
}

/* Returns how much was moved. */
static uint64_t drive_all(struct gr_queue_walk *walk)
{
    struct gr_op_queue *queue;

    while (NULL != (queue = gr_queues_next(walk))) {
        drive(queue, walk->here);
    }
    return walk->moved;
}

/* ---- MPI calls ---- */

int mca_coll_gpuring_op_begin(struct gr_mpi_op *op)
{
    gr_op_begin(&op->base);
    return prepare(op);
}

int mca_coll_gpuring_op_prepare(struct gr_op_queue *queue, struct gr_mpi_op *op)
{
    int rc = gr_op_set_up(queue, &op->base);

    if (0 != rc) {
        return mca_coll_gpuring_to_ompi(rc);
    }
    return op->base.chosen_in_turn ? OMPI_SUCCESS : mca_coll_gpuring_op_begin(op);
}

int mca_coll_gpuring_op_do(struct gr_op_queue *queue, struct gr_mpi_op *op)
{
    struct gr_op *served;
    int rc = mca_coll_gpuring_op_prepare(queue, op);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    gr_queue_enter(&op->base);
    while (NULL != (served = gr_queue_wait(&op->base))) {
        serve(served, true);
    }
    return mca_coll_gpuring_to_ompi(op->base.rc);
}

void mca_coll_gpuring_ops_start(struct gr_mpi_op *const *ops, size_t n)
{
    struct gr_op_queue *queue;
    size_t k;

    /* first all posts: then each waits for answers that are on their way already */
    for (k = 0; k < n; k++) {
        gr_queue_append(&ops[k]->base);
    }
    for (k = 0; k < n; k++) {
        /* it may be complete by now, but not freed: whoever started it has not got it back */
        queue = ops[k]->base.queue;
        if (!gr_runtime_in_transport() && gr_try(&queue->busy)) {
            drive(queue, true);
            gr_unlock(&queue->busy);
        }
    }
    /* their first messages leave now, not when the caller waits for them */
    if (!gr_runtime_in_transport()) {
        (void) gr_process_net_send();
    }
}

/* ---- opal_progress ---- */

static int progress(void *ctx)
{
    struct gr_queue_walk walk;

    return gr_queues_begin_progress(&walk, ctx) ? (int) drive_all(&walk) : 0;
}

int mca_coll_gpuring_progress_open(void)
{
    struct gr_queue_list *list = &gr_process.queues;
    int rc = 0;

    if (!list->registered) {
        gr_lock(&list->opening);
        rc = list->registered
                 ? 0
                 : gr_runtime_register(GR_PROGRESS_QUEUES, progress, &gr_process, true);
        list->registered = 0 == rc;
        gr_unlock(&list->opening);
    }
    return mca_coll_gpuring_to_ompi(rc);
}

/* ---- the progress thread ---- */

/*
 * It moves what nonblocking and persistent calls have in flight while the application computes. It
 * neither sends messages nor completes requests, which are Open MPI's and may not be thread-safe:
 * the next MPI call of the application does that.
 */

/*
 * Rounds without progress before it naps, and for how long: a core that the application does not
 * need.
 */
#define ROUNDS_BUSY 200
#define NAP_NS 20000
/* The same when nothing is in flight. */
#define NAP_IDLE_NS 200000

static void nap(long ns)
{
    struct timespec t = {0, ns};

    (void) nanosleep(&t, NULL);
}

static void *thread_main(void *arg)
{
    struct gr_queue_walk walk;
    unsigned idle = 0;

    (void) arg;
    while (!atomic_load_explicit(&gr_process.progress.stop, memory_order_acquire)) {
        if (!gr_process_has_queues(&gr_process)) {
            nap(NAP_IDLE_NS);
            continue;
        }
        gr_queues_begin(&walk, &gr_process, false);
        if (0 < drive_all(&walk)) {
            idle = 0;
        } else if (++idle < ROUNDS_BUSY) {
            sched_yield();
        } else {
            nap(NAP_NS);
        }
    }
    return NULL;
}

/* Signals are the application's threads' business. */
static int start_thread(void)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&gr_process.progress.thread, NULL, thread_main, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

void mca_coll_gpuring_thread_need(bool device)
{
    struct gr_progress_thread *progress = &gr_process.progress;
    int wanted = gr_settings.progress_thread, rc = 0;

    if (progress->there || 0 == wanted || (0 > wanted && !device)) {
        return;
    }
    gr_progress_threads = true; /* locks are real ones from here on */
    gr_lock(&progress->lock);
    if (!progress->there) {
        atomic_store(&progress->stop, false);
        rc = start_thread();
        progress->runs = 0 == rc;
        progress->there = true; /* tried, at least */
    }
    gr_unlock(&progress->lock);
    if (0 != rc) {
        gr_print("gpuring: no progress thread (coll_gpuring_progress_thread): pthread_create: "
                 "error %d; only MPI calls progress nonblocking calls",
                 rc);
    }
}

void mca_coll_gpuring_progress_close(void)
{
    struct gr_progress_thread *progress = &gr_process.progress;
    struct gr_queue_list *list = &gr_process.queues;

    if (progress->runs) {
        atomic_store_explicit(&progress->stop, true, memory_order_release);
        pthread_join(progress->thread, NULL);
    }
    progress->there = progress->runs = false;
    if (list->registered) {
        gr_runtime_unregister(GR_PROGRESS_QUEUES);
        list->registered = false;
    }
}
