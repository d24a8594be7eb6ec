/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: steps over links in host memory, a plan and the stepper on it. */
#include "exec/run_host.h"

#include "exec/op.h"
#include "exec/setup.h"
#include "exec/step_timing.h"

#include "base/memory.h"
#include "base/text.h"
#include "timing/timer.h"
#include "tune/terms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slots that each poll of a nonblocking call moves per channel: its caller wants to go on. */
#define BURST 8

/* ---- links ---- */

/* What the op's choice needs links for. */
static int use_of(const struct gr_op *op)
{
    int use = gr_choice_use(&op->choice);

    return GR_ALGO_MAILBOX == use ? gr_mailbox_use(op->data.spec.coll, op->comm->size) : use;
}

enum gr_links gr_op_host_links(const struct gr_op *op)
{
    /* A persistent request has no queue while its init chooses the algorithm. */
    return NULL == op->queue
               ? GR_LINKS_NONE
               : gr_team_links(op->queue->team, use_of(op), op->root, op->choice.nchannels);
}

struct gr_setup *gr_host_connect(struct gr_op *op, uint32_t number)
{
    return gr_setup_new(op->queue, use_of(op), op->root, op->choice.nchannels, number);
}

/* ---- start ---- */

static void make_plan(struct gr_op *op)
{
    const struct gr_team *team = op->queue->team;
    struct gr_plan_spec *r = &op->data.spec;

    r->algo = (enum gr_algo) op->choice.algo;
    r->nchannels = op->choice.nchannels;
    r->small = op->choice.small;
    r->direct = op->choice.direct && team->direct && op->agreed.fetches;
    r->chunk_bytes = r->direct ? op->choice.direct_chunk_bytes : op->choice.chunk_bytes;
    r->direct_bytes = op->choice.direct_bytes;
    gr_plan_build(&op->kept.plan, team, r);
    op->kept.planned = true;
}

static void set_host_op(struct gr_op *op, const struct gr_plan_spec *r,
                        unsigned char *const space[3], struct gr_reducer reducer)
{
    const struct gr_team *team = op->queue->team;
    const struct gr_channel_set *links = gr_team_links_of(team, r->small);
    bool offers = r->direct && gr_copy_is_offered(r->coll) && !op->comm->oversubscribed;

    op->run.host.op = (struct gr_host_op) {
        .in = links->in,
        .out = links->out,
        .p = team->p,
        .space = {[GR_IN] = space[GR_IN], [GR_OUT] = space[GR_OUT], [GR_TMP] = space[GR_TMP]},
        .reducer = reducer,
        .label = gr_label_kind(r->coll, r->root) | (uint32_t) op->data.bytes,
        .direct = r->direct,
        .offered = offers ? GR_OFFERED_BYTES : 0,
        .zero_copy = gr_algo_overwrites_sent(r->algo) ? 0 : gr_net_zero_copy(op->queue),
        .pids = team->pids};
}

static void start_stepper(struct gr_op *op, const struct gr_backend *backend, void *ctx)
{
    struct gr_stepper *stepper = &op->run.host.stepper;

    gr_stepper_start(stepper, &op->kept.plan, backend, ctx);
    stepper->burst = op->nonblocking ? BURST : 0;
    op->run.host.arrival.late = 0;
    op->leave_by = 0;
}

/*
 * Give the op its bounce buffer: where memory is short, a smaller one, since the other ranks have
 * begun the call. 0 or GR_ERR_NOMEM.
 */
static int find_bounce(struct gr_op *op)
{
    size_t bytes;

    for (bytes = GR_BOUNCE_BYTES; NULL == op->kept.bounce && bytes >= GR_BOUNCE_LEAST; bytes /= 4) {
        op->kept.bounce = gr_malloc(bytes);
        op->kept.bounce_bytes = bytes;
    }
    op->run.host.op.bounce = op->kept.bounce;
    op->run.host.op.bounce_bytes = op->kept.bounce_bytes;
    return NULL == op->kept.bounce ? GR_ERR_NOMEM : 0;
}

int gr_host_start(struct gr_op *op, const struct gr_backend *backend, void *ctx)
{
    const struct gr_data *data = &op->data;
    unsigned char *const space[3] = {
        [GR_IN] = data->in, [GR_OUT] = data->out, [GR_TMP] = data->tmp};

    if (!op->kept.planned) {
        make_plan(op);
    }
    set_host_op(op, &data->spec, space, data->reducer);
    start_stepper(op, backend, ctx);
    return data->spec.direct && gr_calls[op->id].reduces ? find_bounce(op) : 0;
}

void gr_host_start_plan(struct gr_op *op, const struct gr_plan_spec *r,
                        unsigned char *const space[3], struct gr_reducer reducer)
{
    gr_plan_build(&op->kept.plan, op->queue->team, r);
    set_host_op(op, r, space, reducer);
    op->run.host.op.zero_copy = 0;
    op->run.host.op.label = GR_LABEL_NOT_COMPARED; /* it compares what it exchanges */
    start_stepper(op, &gr_host_backend, &op->run.host.op);
}

/* ---- how late the last rank came: struct gr_arrival ---- */

/*
 * A word: the time in its upper bits, the call's number in the lower ones. A writer may be in its
 * next call already, whose word says nothing of this call. Times wrap, so only differences count.
 */
#define CALL_BITS 16

static uint64_t word_of(const struct gr_arrival *a)
{
    return (a->begun + (uint64_t) a->late) << CALL_BITS | a->call;
}

/* What the writer of a link knows. */
static void adopt(struct gr_arrival *a, const struct gr_link *l)
{
    uint64_t word =
        atomic_load_explicit(&l->shared->sideband[GR_SIDEBAND_LAG], memory_order_relaxed);
    int64_t late;

    if (NULL == l->bell && a->call == (uint16_t) word) {
        late = (int64_t) ((word >> CALL_BITS << CALL_BITS) - (a->begun << CALL_BITS)) /
               (1 << CALL_BITS);
        a->late = late > a->late ? late : a->late;
    }
}

/* The step's data have arrived, and its messages have not been sent yet. */
static void begins(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step)
{
    struct gr_host_run *run = ctx;
    struct gr_arrival *a = &run->arrival;
    size_t first = (size_t) channel * (size_t) run->op.p;
    int k;

    (void) slice;
    for (k = 0; k < step->nfrom; k++) {
        adopt(a, &run->op.in[first + (size_t) step->from[k]]);
    }
    for (k = 0; k < step->nto; k++) {
        struct gr_link *l = &run->op.out[first + (size_t) step->to[k]];

        if (NULL == l->bell) {
            atomic_store_explicit(&l->shared->sideband[GR_SIDEBAND_LAG], word_of(a),
                                  memory_order_relaxed);
        }
    }
}

static const struct gr_gate arrival_gate = {.begins = begins};

/* ---- timed steps ---- */

int gr_host_time(struct gr_op *op)
{
    const struct gr_team *team = op->queue->team;
    const struct gr_plan *plan = &op->kept.plan;
    struct gr_host_run *run = &op->run.host;
    struct gr_timer_links links = {run->op.in, run->op.out, team->p};
    struct gr_timing_job job = {.split = &plan->split,
                                .elem_bytes = op->data.spec.elem_bytes,
                                .slot_elems = plan->slot_elems,
                                .nslots = gr_team_links_of(team, op->data.spec.small)->nslots};
    struct gr_timer *timer;
    int rc = gr_timing_begin(op, &team->rings, job, &links, &timer);

    if (1 == rc) {
        gr_stepper_gate(&run->stepper, &gr_timing_gate, timer);
    } else if (0 == rc && 0 != op->start && !op->nonblocking) {
        run->arrival.call = (uint16_t) op->seq;
        run->arrival.begun = (uint64_t) (1e9 * op->start);
        gr_stepper_gate(&run->stepper, &arrival_gate, run);
    }
    return rc < 0 ? rc : 0;
}

/* ---- progress, and the end ---- */

/* What the errno of process_vm_readv says beyond its own text; "": nothing. */
static const char *why_refused(int error)
{
    switch (error) {
    case EPERM:
        return " The kernel forbids it (seccomp, kernel.yama.ptrace_scope, PR_SET_DUMPABLE, or "
               "processes of different users).";
    case EFAULT:
        return " Other processes cannot read this memory.";
    default:
        return "";
    }
}

/* Once in a process: the call goes on, slower. */
static void report_refusal(const struct gr_op *op)
{
    const struct gr_comm *comm = op->queue->comm;
    int error = op->run.host.op.refused.error, rank = op->run.host.op.refused.rank;

    if (!atomic_exchange(&comm->process->copy_refused, true)) {
        gr_warn("copy-refused", comm->rank, gr_comm_name(comm), rank,
                (int) op->queue->team->pids[rank], gr_calls[op->id].name, strerror(error),
                why_refused(error));
    }
}

int gr_host_poll(struct gr_op *op, uint64_t *moved)
{
    int rc = gr_stepper_run(&op->run.host.stepper, moved);

    if (0 != op->run.host.op.refused.error) {
        report_refusal(op);
        op->run.host.op.refused.error = 0;
    }
    if (GR_ERR_DIFFER == rc || GR_ERR_TRUNCATE == rc) {
        gr_report_difference(op->queue->comm, op->id, op->seq, rc, &op->run.host.op.differs);
    } else if (rc < 0) {
        gr_op_report_error(op, rc);
    }
    return rc;
}

bool gr_host_waits_near(struct gr_op *op)
{
    struct gr_host_run *run = &op->run.host;
    int ranks[2 * GR_FAN], n;
    bool near = false;
    uint32_t c;

    for (c = 0; c < run->stepper.nchannels; c++) {
        for (n = gr_host_waits_for(&run->op, c, gr_stepper_waits(&run->stepper, c), ranks); n > 0;
             n--) {
            if (op->queue->team->remote[ranks[n - 1]]) {
                return false;
            }
            near = true;
        }
    }
    return near;
}

/*
 * The network may still send from this rank's buffers. UCX completes each message in the end. Open
 * MPI may never complete one to a peer that is gone, so that wait ends after GR_LEAVE_SECONDS.
 */
bool gr_host_abort(struct gr_op *op, bool here)
{
    struct gr_host_run *run = &op->run.host;

    (void) here;
    if (0 == run->op.zero_copy || gr_net_reclaim(op->queue)) {
        return true;
    }
    return gr_op_waited_long(op) && gr_net_by_messages();
}

int gr_host_finish(struct gr_op *op, int rc)
{
    double late = 1e-3 * (double) op->run.host.arrival.late;

    op->count = op->run.host.op.zero_copies > 0 ? GR_COUNT_ZERO_COPY : GR_COUNT_COPIED;
    if (0 == rc) {
        op->wait_us = late > op->wait_us ? late : op->wait_us;
    } else {
        gr_host_withdraw(&op->run.host.op);
    }
    return rc;
}

/* ---- reports ---- */

/* Append what a channel waits for to text. */
static void explain_channel(struct gr_op *op, const char *what, uint32_t c, char *text, size_t size)
{
    const struct gr_stepper *m = &op->run.host.stepper;
    const struct gr_step *step = gr_stepper_waits(m, c);
    int ranks[2 * GR_FAN], n = gr_host_waits_for(&op->run.host.op, c, step, ranks);

    if (NULL == step && 0 == n) {
        return;
    }
    gr_text_add(text, size, "%s%s, channel %u, ", '\0' != text[0] ? "; " : "", what, c);
    if (NULL != step) {
        gr_text_add(text, size, "slice %u, step %u (%s), waits for rank", m->at[c].walk.slice,
                    m->at[c].walk.index, gr_step_name(step));
    } else {
        gr_text_add(text, size, "all steps done, %s rank",
                    op->run.host.op.direct ? "to be fetched by" : "to be sent to");
    }
    gr_text_ranks(text, size, ranks, n);
}

void gr_host_explain(struct gr_op *op, const char *what,
                     const char *(*other)(const struct gr_op *op, uint32_t channel), char *text,
                     size_t size)
{
    const char *reason;
    uint32_t c;

    gr_timing_explain(op->queue, text, size);
    for (c = 0; c < op->run.host.stepper.nchannels; c++) {
        reason = NULL == other ? NULL : other(op, c);
        if (NULL != reason) {
            gr_text_add(text, size, "%s%s, channel %u, waits for %s", '\0' != text[0] ? "; " : "",
                        what, c, reason);
        } else {
            explain_channel(op, what, c, text, size);
        }
    }
}

/* ---- the executor ---- */

static int host_start(struct gr_op *op)
{
    int rc = gr_host_start(op, &gr_host_backend, &op->run.host.op);

    return 0 == rc ? gr_host_time(op) : rc;
}

static void host_explain(struct gr_op *op, char *text, size_t size)
{
    gr_host_explain(op, gr_use_name(op->choice.algo), NULL, text, size);
}

const struct gr_executor gr_run_host = {
    .runs_steps = true,
    .links = gr_op_host_links,
    .connect = gr_host_connect,
    .start = host_start,
    .poll = gr_host_poll,
    .waits_near = gr_host_waits_near,
    .abort = gr_host_abort,
    .finish = gr_host_finish,
    .explain = host_explain,
};
