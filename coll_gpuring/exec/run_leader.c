/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: one kernel for all ranks that share a device (exec/gpu/leader.h). */
#include "exec/default_streams.h"
#include "exec/op.h"
#include "exec/run_host.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* ---- start, progress, and the end ---- */

void gr_leader_mark(const struct gr_op_queue *queue)
{
    if (NULL != queue->gpu && NULL != queue->gpu->leader &&
        !gr_process_has_queues(queue->comm->process)) {
        gr_leader_map_wanted(queue->gpu->leader);
    }
}

/* In a bracket. */
static int start_call(struct gr_op *op)
{
    struct gr_gpu_team *gpu = op->queue->gpu;
    struct gr_leader_op *run = &op->run.leader;
    int rc = gr_op_reached(op, gpu, true);

    if (rc < 0) {
        return rc;
    }
    run->ready = 1 == rc;
    gr_leader_begin(&run->run, gpu->leader, gr_team_boards(op->queue->team, GR_ALGO_LEADER),
                    &op->data.spec, (enum gr_kernel) op->kernel,
                    (gr_gpu_ptr) (uintptr_t) op->data.in, (gr_gpu_ptr) (uintptr_t) op->data.out,
                    !run->ready, !op->nonblocking && !gr_process_has_queues(op->comm->process));
    if (run->ready) { /* the last to arrive launches the kernel now */
        run->first = gr_leader_poll(&run->run, &run->moved);
        run->polled = true;
    }
    return 0;
}

static int leader_start(struct gr_op *op)
{
    struct gr_leader_op *run = &op->run.leader;

    memset(run, 0, sizeof(*run));
    op->leave_by = 0;
    return gr_op_begin_writing(op) ? gr_op_start_in_bracket(op, start_call) : GR_ERR_FAILED;
}

static int leader_poll(struct gr_op *op, uint64_t *moved)
{
    struct gr_leader_op *run = &op->run.leader;
    int rc = run->ready ? 1 : gr_op_reached(op, op->queue->gpu, false);

    if (1 != rc) {
        return 0 == rc ? GR_AGAIN : rc;
    }
    run->ready = true;
    if (run->polled) {
        rc = run->first;
        *moved += run->moved;
        run->polled = false;
    } else {
        rc = gr_leader_poll(&run->run, moved);
    }
    /* a persistent request has no other links */
    if (rc < 0 && (GR_ERR_FALLBACK != rc || op->persistent)) {
        gr_op_report_failure(op, "the kernel of one device: ", gr_gpu_error());
        return GR_ERR_FAILED;
    }
    return rc;
}

static bool leader_abort(struct gr_op *op, bool here)
{
    struct gr_leader_run *run = &op->run.leader.run;
    bool over = NULL == run->leader || gr_leader_abort(run);

    gr_op_end_writing(op); /* where the kernel still runs, this rank does not lead */
    return over || gr_op_is_left(op, here);
}

/* Warn once in a job that data go through pinned host memory. */
static void warn_refused(const struct gr_op *op)
{
    static atomic_bool said;
    const struct gr_comm *comm = op->queue->comm;

    if (0 == comm->rank && op->queue->gpu->leader->refused && !atomic_exchange(&said, true)) {
        gr_warn("gpu-no-ipc", comm->rank, gr_comm_name(comm));
    }
}

static int leader_finish(struct gr_op *op, int rc)
{
    const struct gr_leader_run *run = &op->run.leader.run;

    op->count = run->copied[0] || run->copied[1] ? GR_COUNT_COPIED : GR_COUNT_ZERO_COPY;
    if (0 == rc) {
        warn_refused(op);
    }
    gr_op_end_writing(op);
    return rc;
}

static void leader_explain(struct gr_op *op, char *text, size_t size)
{
    const struct gr_leader_run *run = &op->run.leader.run;
    int ranks[GR_LEADER_RANKS], leads, n = gr_leader_waits(run, ranks, &leads);

    if (0 != op->leave_by) {
        snprintf(text, size, "failed, the leader's kernel may still use its buffers");
    } else if (0 == n) {
        snprintf(text, size, "waits for work on this rank's default stream, or for its copies");
    } else {
        snprintf(text, size, "one kernel for all ranks, %s rank",
                 leads ? "waits for that of" : "waits for");
        gr_text_ranks(text, size, ranks, n);
    }
}

const struct gr_executor gr_run_leader = {
    .on_device = true,
    .setup = GR_SETUP_LEADER,
    .links = gr_op_host_links,
    .connect = gr_host_connect,
    .start = leader_start,
    .poll = leader_poll,
    .abort = leader_abort,
    .finish = leader_finish,
    .explain = leader_explain,
};
