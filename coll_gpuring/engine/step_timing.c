/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Step timing of a communicator (timing/timer.h): who has a timer, and what it is asked.
 *
 * The notes go through links of their own (gr_team.notes), which a set-up makes with the first call
 * whose steps are timed. Countdowns must come in one order on all ranks, as the ops of a queue do.
 * So each queue has a timer and notes of its own: persistent requests may be started in another
 * order on each rank, but the starts of one follow each other.
 */
#include "engine/step_timing.h"

#include "engine/log.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/params.h"
#include "mpi/report.h"

#include "exec/gpu/args.h"
#include "exec/gpu/op.h"
#include "exec/gpu/team.h"
#include "exec/plan.h"
#include "exec/stepper.h"
#include "link/team.h"
#include "sched/sched.h"
#include "timing/sync_port.h"
#include "timing/timeline.h"
#include "timing/timer.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(GR_TIMER_CHANNELS >= GR_GPU_CHANNELS && GR_TIMER_CHANNELS >= GR_MAX_CHANNELS,
               "a call may have more channels than its timer");

struct gr_timing {
    struct gr_sync_port port;
    struct gr_timer timer;
    struct gr_request last; /* what the time line was made for, */
    bool last_on_device;
    uint64_t told; /* pauses */
};

static const struct gr_gate gate = {gr_timer_may_begin, gr_timer_begins, gr_timer_ended,
                                    gr_timer_finished};

/* Whether this queue's calls by schedules are timed, if the links can be had. */
static bool is_timed(const struct gr_op_queue *queue)
{
    return queue->team->notes.nchannels > 0;
}

bool mca_coll_gpuring_timing_asks(const struct gr_op_queue *queue, const struct gr_op *op)
{
    return is_timed(queue) && (op->agrees || op->device || GR_WAY_MAILBOX != op->choice.way) &&
           GR_LINKS_NONE == gr_team_links(queue->team, GR_WAY_NOTES, 0);
}

static int make(struct gr_op_queue *queue)
{
    const struct gr_team *team = queue->team;
    const int64_t *value = queue->module->params.value;
    struct gr_timing *t = calloc(1, sizeof(*t));

    if (NULL == t ||
        0 != gr_sync_port_init(&t->port, team->notes.in, team->notes.out, team->p, team->rank,
                               NULL == team->remote) ||
        0 != gr_timer_init(&t->timer, (enum gr_step_sync) value[GR_PARAM_STEP_SYNC], &t->port.port,
                           &queue->module->torus, team->p, team->rank)) {
        free(t);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    queue->timing = t;
    return OMPI_SUCCESS;
}

/* Timing has switched itself off since it was last asked: rank 0 says so. */
static void tell(struct gr_op_queue *queue)
{
    struct gr_timing *t = queue->timing;
    const struct gr_timing_report *r = &t->timer.report;

    if (r->pauses != t->told && 0 == queue->team->rank) {
        mca_coll_gpuring_warn("timing-off", gr_comm_name(queue->comm), GR_LATE_CALLS,
                              r->pauses < GR_MAX_PAUSES
                                  ? "for some calls; then latencies are measured again"
                                  : "for good");
    }
    t->told = r->pauses;
}

static struct gr_sched sched_of(const void *ctx, int rank, uint32_t channel)
{
    const struct gr_op *op = ctx;
    const struct gr_team *team = op->queue->team;

    return gr_plan_sched(&op->data.request, team->p, rank, team->rings.order[channel % 2],
                         team->rings.where[channel % 2], channel, op->plan.split.nchunks);
}

/* The same, of kernels. */
static struct gr_sched gpu_sched_of(const void *ctx, int rank, uint32_t channel)
{
    const struct gr_op *op = ctx;
    const struct gr_gpu_team *team = op->queue->gpu;

    return gr_plan_sched(&op->data.request, team->p, rank, team->rings.order[channel % 2],
                         team->rings.where[channel % 2], channel, op->gpu.split.nchunks);
}

/*
 * What is timed of an op. Kernels inside a node exchange their messages without the host, so there
 * only their start can be.
 */
static struct gr_timing_job job_of(const struct gr_op *op)
{
    const struct gr_team *team = op->queue->team;
    const struct gr_gpu_team *gpu = op->queue->gpu;

    if (op->device) {
        return (struct gr_timing_job) {.p = team->p,
                                       .split = &op->gpu.split,
                                       .elem_bytes = op->gpu.elem_bytes,
                                       .slot_elems = op->gpu.args.slot_elems,
                                       .nslots = gpu->nslots,
                                       .sched = gpu_sched_of,
                                       .ctx = op,
                                       .whole = NULL == gpu->remote};
    }
    return (struct gr_timing_job) {.p = team->p,
                                   .split = &op->plan.split,
                                   .elem_bytes = op->data.request.elem_bytes,
                                   .slot_elems = op->plan.slot_elems,
                                   .nslots = gr_team_links_of(team, op->data.request.small)->nslots,
                                   .sched = sched_of,
                                   .ctx = op};
}

/* Whether both have steps at the same times. Counts are not compared. */
static bool is_same(const struct gr_request *a, const struct gr_request *b)
{
    return NULL == a->counts && NULL == b->counts && a->coll == b->coll && a->algo == b->algo &&
           a->root == b->root && a->nchannels == b->nchannels && a->elem_bytes == b->elem_bytes &&
           a->chunk_bytes == b->chunk_bytes && a->total == b->total && a->block == b->block &&
           a->direct == b->direct && a->direct_bytes == b->direct_bytes;
}

int mca_coll_gpuring_timing_begin(struct gr_op *op)
{
    struct gr_op_queue *queue = op->queue;
    const struct gr_team *team = queue->team;
    const struct gr_request *r = &op->data.request;
    const struct gr_channel_set *set = gr_team_links_of(team, r->small);
    struct gr_timer_links links = {op->device ? NULL : set->in, op->device ? NULL : set->out,
                                   team->p};
    struct gr_timing_job job = job_of(op);
    int rc = OMPI_SUCCESS;

    if (!is_timed(queue) || GR_LINKS_THERE != gr_team_links(team, GR_WAY_NOTES, 0)) {
        return OMPI_SUCCESS;
    }
    if (NULL == queue->timing) {
        rc = make(queue);
    }
    if (OMPI_SUCCESS == rc) {
        struct gr_timing *t = queue->timing;

        tell(queue);
        gr_timer_begin(&t->timer, &job, &links,
                       op->device == t->last_on_device && is_same(&t->last, r),
                       GR_COLL_ALLREDUCE == r->coll);
        t->last = *r;
        t->last_on_device = op->device;
        if (op->device) {
            gr_gpu_op_gate(&op->gpu, &gate, &t->timer);
        } else {
            gr_stepper_gate(&op->stepper, &gate, &t->timer);
        }
    }
    return rc;
}

void mca_coll_gpuring_timing_explain(const struct gr_op_queue *queue, char *text, size_t size)
{
    text[0] = '\0';
    if (NULL != queue->timing) {
        gr_timer_explain(&queue->timing->timer, text, size);
    }
}

void mca_coll_gpuring_timing_free(struct gr_op_queue *queue)
{
    if (NULL != queue->timing) {
        mca_coll_gpuring_stats_timing(&queue->timing->timer.report);
        gr_timer_free(&queue->timing->timer);
        free(queue->timing);
        queue->timing = NULL;
    }
}
