/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of an op.
 *
 *   QUEUED --> [AGREEMENT -->] [SETUP -->] RUNNING --> DONE
 *                                    '---> MESSAGES --^   nonblocking, and no links could be made
 *                                    '---> fallback       blocking, and no links could be made
 *              RUNNING, error --> LEAVING --> DONE        devices, with zero copy
 *
 * Where some rank may have buffers on a device, the agreement decides whether kernels or the host
 * run the op. If the links for kernels are refused, the host runs it: nothing has moved yet.
 *
 * Until the first slot moves, a blocking op may be left to the saved collective. After that it
 * completes or fails. A nonblocking op is always completed here: each rank would leave it to the
 * saved collective at a different point of its sequence of calls.
 */
#include "engine/op.h"

#include "engine/call_agreement.h"
#include "engine/choose.h"
#include "engine/collectives.h"
#include "engine/devices.h"
#include "engine/failure.h"
#include "engine/failure_messages.h"
#include "engine/host_run.h"
#include "engine/op_end.h"
#include "engine/op_queue.h"
#include "engine/p2p_fallback.h"
#include "engine/runtime.h"
#include "engine/setup.h"
#include "engine/step_timing.h"
#include "mpi/buffers.h"
#include "mpi/module.h"
#include "mpi/report.h"
#include "mpi/staging/copy_stream.h"
#include "mpi/staging/overlap.h"
#include "mpi/staging/scratch.h"
#include "mpi/staging/stage.h"

#include "base/errors.h"
#include "cuda/error.h"
#include "exec/gpu/args.h"
#include "exec/gpu/kernels.h"
#include "exec/gpu/op.h"
#include "exec/gpu/team.h"
#include "exec/mail.h"
#include "exec/plan.h"
#include "exec/staged.h"
#include "exec/stepper.h"
#include "link/team.h"
#include "sched/protocol.h"
#include "sched/sched.h"
#include "tune/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mca_coll_gpuring_op_free(struct gr_op *op)
{
    free(op->counts);
    mca_coll_gpuring_scratch_free(&op->packed);
    mca_coll_gpuring_scratch_free(&op->kept);
    free(op->bounce);
    free(op->records);
    mca_coll_gpuring_stage_free(&op->stage);
    gr_staged_free(&op->staging);
}

int mca_coll_gpuring_op_begin(struct gr_op *op)
{
    const struct gr_data *data = &op->data;
    const struct gr_request *r = &data->request;
    int rc = OMPI_SUCCESS;

    if (!op->agrees) {
        op->start = mca_coll_gpuring_stats_timed() ? mca_coll_gpuring_now() : 0;
    }
    if (op->staged) {
        rc = mca_coll_gpuring_overlap_stage(op);
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_buffers_begin(op);
    }
    if (OMPI_SUCCESS == rc && GR_WAY_MAILBOX == op->choice.way) {
        op->mail.coll = r->coll;
        op->mail.root = r->root;
        op->mail.in = data->in;
        op->mail.out = data->out;
        op->mail.count =
            GR_COLL_ALLGATHER == r->coll || GR_COLL_REDUCE_SCATTER == r->coll ? r->block : r->total;
        op->mail.counts = r->counts;
        op->mail.displs = r->displs;
        op->mail.reducer = data->reducer;
    }
    return rc;
}

/* What an error of the core is in words, where an op gets one that runs. */
static const char *core_error(int rc)
{
    switch (rc) {
    case GR_ERR_NOMEM:
        return "out of memory";
    case GR_ERR_CUDA:
        return gr_gpu_error();
    case GR_ERR_FOREIGN:
    case GR_ERR_SYS:
        return "the memory of another rank could not be read";
    default:
        return "a connection to another node broke";
    }
}

/* The team's stream comes after what the application has put on default streams: at the call, or
 * now. OMPI error code. */
static int follow(const struct gr_op *op)
{
    struct gr_gpu_team *gpu = op->queue->gpu;

    if (0 == op->stage.after.n &&
        (OMPI_SUCCESS != mca_coll_gpuring_follow(gpu->gpu, op->data.in) ||
         OMPI_SUCCESS != mca_coll_gpuring_follow(gpu->gpu, op->data.out))) {
        return OMPI_ERROR;
    }
    if (0 != mca_coll_gpuring_points_follow(&op->stage.after, gpu->stream)) {
        opal_output(0, "gpuring: waiting for the default stream failed: %s", gr_gpu_error());
        return OMPI_ERROR;
    }
    return OMPI_SUCCESS;
}

/* Its kernels may write to the others' buffers from here on. Whether it is too late for that. */
static bool begin_writing(struct gr_op *op)
{
    op->writing = true;
    atomic_fetch_add(&op->queue->module->writing, 1);
    return 0 != op->queue->module->failed;
}

/* Put it on the device's stream. OMPI error code. */
static int start_gpu(struct gr_op *op)
{
    struct gr_request *r = &op->data.request;
    struct gr_gpu_team *gpu = op->queue->gpu;
    /* what devices know by another address was staged */
    gr_gpu_ptr space[3] = {(gr_gpu_ptr) (uintptr_t) op->data.in,
                           (gr_gpu_ptr) (uintptr_t) op->data.out,
                           (gr_gpu_ptr) (uintptr_t) op->data.tmp};

    r->algo = (enum gr_algo) op->choice.way;
    r->nchannels = op->choice.nchannels < gpu->usable ? op->choice.nchannels : gpu->usable;
    r->chunk_bytes = op->choice.chunk_bytes;
    r->protocol = (enum gr_protocol) op->choice.protocol;
    r->threads = op->choice.threads;
    gr_gpu_op_init(&op->gpu, gpu);
    if (OMPI_SUCCESS != follow(op) || (op->zero && begin_writing(op))) {
        return OMPI_ERROR;
    }
    if (0 > gr_gpu_op_begin(&op->gpu, gpu, r, (enum gr_kernel) op->record.kernel, space,
                            op->zero ? op->outputs : NULL)) {
        mca_coll_gpuring_op_fails(op, "", gr_gpu_error());
        return OMPI_ERROR;
    }
    return mca_coll_gpuring_timing_begin(op);
}

/* What it needs is there: begin. OMPI error code. */
static int start(struct gr_op *op)
{
    if (op->device) {
        return start_gpu(op);
    }
    return GR_WAY_MAILBOX == op->choice.way ? OMPI_SUCCESS : mca_coll_gpuring_host_run_start(op);
}

/*
 * It is known who does it: choose the way, and ask for what that needs if nobody has yet. Without
 * agreements all this was done at the time of the call. OMPI error code.
 */
static int decide(struct gr_op *op)
{
    struct gr_op_queue *queue = op->queue;
    mca_coll_gpuring_module_t *module = queue->module;
    int unwanted;

    unwanted = op->nonblocking ? -1 : mca_coll_gpuring_op_unwanted(module, op);
    if (unwanted >= 0) {
        op->fallback = (enum gr_fallback_reason) unwanted;
        return OMPI_ERR_NOT_AVAILABLE;
    }
    mca_coll_gpuring_op_choose(module, op);
    if (!op->device && GR_WAY_MAILBOX == op->choice.way) {
        gr_mail_begin(&queue->team->mail.box, &op->mail);
    }
    if (GR_LINKS_NONE != mca_coll_gpuring_op_links(op)) {
        return OMPI_SUCCESS;
    }
    op->setup = op->device ? mca_coll_gpuring_setup_new_gpu(queue, op, op->number_gpu)
                           : mca_coll_gpuring_setup_new(queue, gr_choice_way(&op->choice),
                                                        op->call.root, op->number_host);
    return NULL == op->setup ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}

/* The host does it after all. */
static int leave_to_host(struct gr_op *op)
{
    op->device = false;
    return decide(op);
}

/* The set-ups before it are over: its links are there, or will never be. */
static void after_setup(struct gr_op *op)
{
    bool there;
    int rc = OMPI_SUCCESS;

    if (op->device && GR_LINKS_REFUSED == mca_coll_gpuring_op_links(op)) {
        rc = leave_to_host(op);
        if (OMPI_SUCCESS == rc && NULL != op->setup) {
            op->state = GR_OP_SETUP;
            return;
        }
    }
    there = GR_LINKS_THERE == mca_coll_gpuring_op_links(op);
    if (there) {
        mca_coll_gpuring_op_reselect(op->queue->module, op);
    }
    if (OMPI_SUCCESS == rc && !there && !op->nonblocking) {
        op->fallback = GR_FALLBACK_SETUP;
        rc = OMPI_ERR_NOT_AVAILABLE;
    }
    if (OMPI_SUCCESS == rc && op->agrees) {
        rc = mca_coll_gpuring_op_begin(op);
    }
    if (OMPI_SUCCESS == rc) {
        op->state = there ? GR_OP_RUNNING : GR_OP_MESSAGES;
        rc = there ? start(op) : mca_coll_gpuring_p2p_fallback_begin(op);
    }
    if (OMPI_SUCCESS != rc) {
        mca_coll_gpuring_op_over(op, rc);
    }
}

/*
 * All lines are there, or there is nothing for them to go through: then each rank stages for itself
 * what is on its device.
 */
static void after_agreement(struct gr_op *op, bool records)
{
    int agreed = records ? mca_coll_gpuring_agreement_end(op) : 0, rc;

    if (agreed < 0) { /* all ranks see it */
        mca_coll_gpuring_fail(op->queue->module, OMPI_ERROR, NULL);
        mca_coll_gpuring_op_over(op, OMPI_ERR_BAD_PARAM);
        return;
    }
    op->decided = true;
    rc = op->asks ? OMPI_ERR_NOT_AVAILABLE : decide(op);
    if (OMPI_SUCCESS != rc) {
        mca_coll_gpuring_op_over(op, rc);
    } else if (NULL != op->setup) {
        op->state = GR_OP_SETUP;
    } else {
        after_setup(op);
    }
}

/* It is its turn, and nobody need be asked for anything. */
static void begin_turn(struct gr_op *op)
{
    if (!op->agrees) {
        after_setup(op);
    } else if (GR_LINKS_THERE ==
               gr_team_links(op->queue->team, mca_coll_gpuring_agreement_way(op->queue), 0)) {
        int rc = mca_coll_gpuring_agreement_begin(op);

        op->state = GR_OP_AGREEMENT;
        if (OMPI_SUCCESS != rc) {
            mca_coll_gpuring_op_over(op, rc);
        }
    } else {
        after_agreement(op, false);
    }
}

static void advance_agreement(struct gr_op *op, uint64_t *moved)
{
    int rc = mca_coll_gpuring_agreement_poll(op, moved);

    if (GR_DONE == rc) {
        after_agreement(op, true);
    } else if (GR_AGAIN != rc) {
        mca_coll_gpuring_op_fails(op, "", core_error(rc));
        mca_coll_gpuring_op_over(op, OMPI_ERROR);
    }
}

/* Poll what runs: enum gr_status, or negative. */
static int run(struct gr_op *op, uint64_t *moved)
{
    struct gr_mailbox *box = &op->queue->team->mail.box;
    int rc;

    if (op->device) {
        rc = gr_gpu_op_poll(&op->gpu, moved);
        if (GR_ERR_CUDA == rc) {
            mca_coll_gpuring_op_fails(op, "a kernel failed: ", gr_gpu_error());
        }
        return rc;
    }
    if (GR_WAY_MAILBOX != op->choice.way) {
        rc = gr_stepper_run(&op->stepper, moved);
        return op->overlaps && op->staging.error < 0 ? op->staging.error : rc;
    }
    if (op->agrees && box->posted == op->mail.epoch - 1 && !gr_mail_post(box, &op->mail)) {
        return GR_AGAIN;
    }
    return box->posted - op->mail.epoch < box->nsets && gr_mail_take(box, &op->mail, moved)
               ? GR_DONE
               : GR_AGAIN;
}

static void advance_setup(struct gr_op *op, uint64_t *moved)
{
    int rc = mca_coll_gpuring_setup_poll(op->setup, moved);

    if (GR_AGAIN == rc) {
        return;
    }
    if (GR_DONE != rc) {
        /*
         * Messages may still be under way into the set-up, and peers may already write to the
         * slabs: both are left to them, for good. Such a communicator is broken.
         */
        mca_coll_gpuring_op_fails(op,
                                  "set-up: ", "no memory, or Open MPI could not send a message");
        mca_coll_gpuring_op_over(op, OMPI_ERROR);
        return;
    }
    mca_coll_gpuring_setup_end(op->setup);
    op->setup = op->next_setup;
    op->next_setup = NULL;
    if (NULL != op->setup) {
        return; /* the next poll begins it */
    }
    if (op->agrees && !op->decided) {
        begin_turn(op); /* it was that of what lines go through */
    } else {
        after_setup(op);
    }
}

/* Whether it can go on without messages of ours. */
static bool is_ready(const struct gr_op *op)
{
    enum gr_links links =
        op->agrees ? gr_team_links(op->queue->team, mca_coll_gpuring_agreement_way(op->queue), 0)
                   : mca_coll_gpuring_op_links(op);

    return GR_LINKS_THERE == links;
}

bool mca_coll_gpuring_op_advance(struct gr_op *op, bool here, uint64_t *moved)
{
    int rc;

    rc = op->queue->module->failed;
    if (OMPI_SUCCESS != rc && GR_OP_DONE != op->state) {
        mca_coll_gpuring_op_fail(op, here, rc);
        return GR_OP_DONE == op->state;
    }
    if (GR_OP_QUEUED == op->state && NULL != op->setup) {
        op->state = GR_OP_SETUP;
    } else if (GR_OP_QUEUED == op->state && (here || is_ready(op))) {
        begin_turn(op);
    }
    if (GR_OP_AGREEMENT == op->state) {
        advance_agreement(op, moved);
    }
    if (GR_OP_SETUP == op->state && here) {
        advance_setup(op, moved);
    }
    if (GR_OP_RUNNING == op->state || (GR_OP_MESSAGES == op->state && here)) {
        rc = GR_OP_RUNNING == op->state ? run(op, moved)
                                        : mca_coll_gpuring_p2p_fallback_poll(op, moved);
        if (GR_DONE == rc) {
            mca_coll_gpuring_op_end(op);
        } else if (GR_AGAIN != rc) {
            mca_coll_gpuring_op_fails(op, "", core_error(rc));
            mca_coll_gpuring_op_fail(op, here, OMPI_ERROR);
        }
    }
    return GR_OP_DONE == op->state;
}
