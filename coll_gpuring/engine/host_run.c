/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What runs an op in host memory, or the lines that it begins with between nodes: a plan, and the
 * stepper on it.
 */
#include "engine/host_run.h"

#include "engine/collectives.h"
#include "engine/net_links.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/step_timing.h"
#include "mpi/buffers.h"
#include "mpi/staging/overlap.h"
#include "mpi/staging/scratch.h"

#include "exec/host.h"
#include "exec/plan.h"
#include "exec/reduce.h"
#include "exec/stepper.h"
#include "link/team.h"
#include "sched/sched.h"
#include "sched/step.h"
#include "tune/select.h"

#include <stdlib.h>
#include <string.h>

/* Slots that a nonblocking call moves at a time: its caller wants to go on. */
#define BURST 8

static unsigned char *find_bounce(struct gr_op *op)
{
    if (NULL == op->bounce) {
        op->bounce = malloc(GR_BOUNCE_BYTES);
    }
    return op->bounce;
}

void mca_coll_gpuring_op_plan(struct gr_op *op)
{
    const struct gr_team *team = op->queue->team;
    struct gr_request *r = &op->data.request;

    if (GR_WAY_MAILBOX == op->choice.way || op->device) {
        return;
    }
    r->algo = (enum gr_algo) op->choice.way;
    r->nchannels = op->choice.nchannels;
    r->small = op->choice.small;
    r->direct = op->choice.direct && team->direct && op->fetches;
    r->chunk_bytes = r->direct ? op->choice.direct_chunk_bytes : op->choice.chunk_bytes;
    r->direct_bytes = op->choice.direct_bytes;
    gr_plan_build(&op->plan, team, r);
    op->planned = true;
}

/* Start the machine on the request's plan. */
static void start(struct gr_op *op, const struct gr_request *r, unsigned char *in,
                  unsigned char *out, unsigned char *tmp, struct gr_reducer reducer)
{
    const struct gr_team *team = op->queue->team;
    const struct gr_channel_set *links = gr_team_links_of(team, r->small);
    struct gr_host_op *host = &op->host;

    host->in = links->in;
    host->out = links->out;
    host->p = team->p;
    host->nchannels = r->nchannels;
    host->space[GR_IN] = in;
    host->space[GR_OUT] = out;
    host->space[GR_TMP] = tmp;
    host->reducer = reducer;
    host->direct = r->direct;
    host->remote = NULL != team->remote;
    host->zero_copy =
        gr_algo_overwrites_sent(r->algo) ? 0 : mca_coll_gpuring_net_zero_copy(op->queue);
    host->pids = team->pids;
    host->later.bytes = 0;
    host->popped = 0;
    host->filled = 0;
    host->from = NULL;
    host->borrowed = 0;
    host->bounce = NULL;
    gr_stepper_start(&op->stepper, &op->plan, &gr_host_executor, host);
}

int mca_coll_gpuring_host_run_start(struct gr_op *op)
{
    const struct gr_data *data = &op->data;
    int rc;

    if (!op->planned) {
        mca_coll_gpuring_op_plan(op);
    }
    start(op, &data->request, data->in, data->out, data->tmp, data->reducer);
    if (data->request.direct && gr_calls[op->call.id].reduces) {
        op->host.bounce = find_bounce(op);
        if (NULL == op->host.bounce) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    rc = op->overlaps ? mca_coll_gpuring_overlap_begin(op) : OMPI_SUCCESS;
    op->stepper.burst = op->nonblocking ? BURST : 0;
    return OMPI_SUCCESS == rc ? mca_coll_gpuring_timing_begin(op) : rc;
}

/* What nobody else says is 0 in all lines but this rank's, so that or gathers them, too. */
static unsigned char *gathered(struct gr_op *op)
{
    int p = op->queue->team->p;

    memset(op->records, 0, (size_t) p * sizeof(op->records[0]));
    op->records[ompi_comm_rank(op->call.comm)] = op->record;
    return (unsigned char *) op->records;
}

int mca_coll_gpuring_host_run_records(struct gr_op *op)
{
    const struct gr_choice *how = &op->queue->module->agreement_choice;
    int p = op->queue->team->p;
    struct gr_request r = {
        .coll = GR_COLL_ALLREDUCE,
        .algo = (enum gr_algo) how->way,
        .nchannels = how->nchannels,
        .small = how->small,
        .elem_bytes = sizeof(uint64_t),
        .total = (op->gathers ? (size_t) p * sizeof(op->record) : sizeof(op->combined)) /
                 sizeof(uint64_t),
        .torus = op->queue->module->torus,
    };
    struct gr_reducer reducer = {.elem_bytes = r.elem_bytes,
                                 .fused = gr_reduce_find(GR_TYPE_U64, GR_OP_BOR)};
    unsigned char *words = op->gathers ? gathered(op) : (unsigned char *) &op->combined,
                  *tmp = NULL;
    size_t bytes = gr_plan_scratch(&r, p);

    _Static_assert(0 == sizeof(op->record) % sizeof(uint64_t), "lines are words");
    if (bytes > 0) {
        tmp = mca_coll_gpuring_scratch_get(&op->kept, bytes, false);
        if (NULL == tmp) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    op->overlaps = false;
    gr_plan_build(&op->plan, op->queue->team, &r);
    start(op, &r, words, words, tmp, reducer);
    /* a few bytes each, which may still be on their way when an error ends the call */
    op->host.zero_copy = 0;
    op->stepper.burst = op->nonblocking ? BURST : 0;
    return OMPI_SUCCESS;
}
