/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Step timing (timing/timer.h): each queue whose steps are timed has a timer.
 *
 * The timer sends notes over links of its own (gr_team.notes), which are set up with the first call
 * whose steps are timed. Countdowns must come in the same order on all ranks. The ops of a queue
 * do; persistent requests do not, but each of them has a queue of its own.
 */
#include "exec/step_timing.h"

#include "exec/op.h"

#include "base/memory.h"
#include "timing/timer.h"

#include <stdlib.h>

_Static_assert(GR_TIMER_CHANNELS >= GR_GPU_CHANNELS && GR_TIMER_CHANNELS >= GR_MAX_CHANNELS,
               "a call may have more channels than its timer");

struct gr_timing {
    struct gr_sync_port port;
    struct gr_timer timer;
    struct gr_plan_spec last; /* the spec that the time line was made for */
    /* the rings of that time line; they tell the executors apart. NULL: there is none yet */
    const struct gr_rings *rings;
    uint64_t reported; /* pauses that were reported */
};

const struct gr_gate gr_timing_gate = {gr_timer_may_begin, gr_timer_begins, gr_timer_ended,
                                       gr_timer_finished};

/* Whether the queue times steps, provided that the links of notes can be made. */
static bool is_timed(const struct gr_op_queue *queue)
{
    return queue->team->notes.nchannels > 0;
}

bool gr_timing_asks(const struct gr_op_queue *queue)
{
    return is_timed(queue) && GR_LINKS_NONE == gr_team_links(queue->team, GR_USE_NOTES, 0, 1);
}

static int make(struct gr_op_queue *queue)
{
    const struct gr_team *team = queue->team;
    const int64_t *value = queue->comm->params.value;
    struct gr_timing *t = gr_calloc(1, sizeof(*t));

    if (NULL == t ||
        0 != gr_sync_port_init(&t->port, team->notes.in, team->notes.out, team->p,
                               NULL == team->remote) ||
        0 != gr_timer_init(&t->timer, (enum gr_step_sync) value[GR_PARAM_STEP_SYNC], &t->port.port,
                           &queue->comm->torus, team->p, team->rank)) {
        free(t);
        return GR_ERR_NOMEM;
    }
    queue->timing = t;
    return 0;
}

/* Rank 0 reports that timing has switched itself off since the last call. */
static void warn(struct gr_op_queue *queue)
{
    struct gr_timing *t = queue->timing;
    const struct gr_timing_report *r = &t->timer.report;

    if (r->pauses != t->reported && 0 == queue->team->rank) {
        gr_warn("timing-off", gr_comm_name(queue->comm), GR_LATE_CALLS,
                r->pauses < GR_MAX_PAUSES ? "for some calls; then latencies are measured again"
                                          : "for good");
    }
    t->reported = r->pauses;
}

/* Whether both specs have steps at the same times; unknown (false) where blocks have counts. */
static bool is_same(const struct gr_plan_spec *a, const struct gr_plan_spec *b)
{
    return NULL == a->counts && NULL == b->counts && a->coll == b->coll && a->algo == b->algo &&
           a->root == b->root && a->nchannels == b->nchannels && a->elem_bytes == b->elem_bytes &&
           a->chunk_bytes == b->chunk_bytes && a->total == b->total && a->block == b->block &&
           a->direct == b->direct && a->direct_bytes == b->direct_bytes;
}

/* The schedule of a rank's channel; ctx is the timing of the op that it is made for. */
static struct gr_sched sched_of(const void *ctx, int rank, uint32_t channel)
{
    const struct gr_timing *t = ctx;
    const struct gr_timing_job *job = &t->timer.job;

    return gr_plan_sched(&t->last, job->p, rank, t->rings, channel, job->split->nchunks);
}

int gr_timing_begin(const struct gr_op *op, const struct gr_rings *rings, struct gr_timing_job job,
                    const struct gr_timer_links *links, struct gr_timer **timer)
{
    struct gr_op_queue *queue = op->queue;
    const struct gr_plan_spec *r = &op->data.spec;
    struct gr_timing *t;
    bool again;
    int rc;

    if (!is_timed(queue) || GR_LINKS_THERE != gr_team_links(queue->team, GR_USE_NOTES, 0, 1)) {
        return 0;
    }
    if (NULL == queue->timing) {
        rc = make(queue);
        if (0 != rc) {
            return rc;
        }
    }
    t = queue->timing;
    warn(queue);
    again = rings == t->rings && is_same(&t->last, r);
    t->last = *r;
    t->rings = rings;
    job.p = queue->team->p;
    job.sched = sched_of;
    job.ctx = t;
    gr_timer_begin(&t->timer, &job, links, again, GR_COLL_ALLREDUCE == r->coll);
    *timer = &t->timer;
    return 1;
}

void gr_timing_explain(const struct gr_op_queue *queue, char *text, size_t size)
{
    text[0] = '\0';
    if (NULL != queue->timing) {
        gr_timer_explain(&queue->timing->timer, text, size);
    }
}

void gr_timing_free(struct gr_op_queue *queue)
{
    if (NULL != queue->timing) {
        gr_stats_timing(&queue->timing->timer.report);
        gr_timer_free(&queue->timing->timer);
        free(queue->timing);
        queue->timing = NULL;
    }
}
