/* SPDX-License-Identifier: BSD-3-Clause */
/* How an op ends (op.h): done, or failed; and what is said of its failure. */
#include "exec/op.h"

#include "comm/failure.h"

#include "base/text.h"

#include <stdio.h>

/* ---- failures ---- */

void gr_op_report_failure(const struct gr_op *op, const char *what, const char *reason)
{
    gr_report_failure(op->queue->comm, op->id, op->seq, GR_ERR_FAILED, what, reason);
}

void gr_op_report_error(const struct gr_op *op, int rc)
{
    gr_op_report_failure(op, "", gr_error_text(rc));
}

/* What a label says of a call: its root where it has one, and what a rank posts. */
static void describe_label(uint64_t label, char *text, size_t size)
{
    enum gr_coll coll = gr_label_coll(label);

    snprintf(text, size, "%zu bytes", gr_label_bytes(label));
    if (coll < GR_NCOLLS && gr_coll_is_rooted(coll)) {
        gr_text_add(text, size, ", root %d", gr_label_root(label));
    }
}

void gr_report_difference(struct gr_comm *comm, enum gr_call_id id, uint64_t seq, int code,
                          const struct gr_label_pair *pair)
{
    enum gr_coll theirs = gr_label_coll(pair->posted);
    char why[126], expected[32], posted[32];

    describe_label(pair->expected, expected, sizeof(expected));
    describe_label(pair->posted, posted, sizeof(posted));
    snprintf(why, sizeof(why), "expects %s of rank %d, which calls %s: %s", expected, pair->rank,
             theirs < GR_NCOLLS ? gr_coll_name(theirs) : "no collective", posted);
    gr_report_failure(comm, id, seq, code, why, "");
}

/* ---- writing to other ranks' buffers ---- */

bool gr_op_begin_writing(struct gr_op *op)
{
    op->writing = true;
    return gr_comm_begin_writing(op->queue->comm);
}

void gr_op_end_writing(struct gr_op *op)
{
    if (op->writing) {
        op->writing = false;
        gr_comm_end_writing(op->queue->comm);
    }
}

bool gr_op_waited_long(struct gr_op *op)
{
    if (0 == op->leave_by) {
        op->leave_by = gr_runtime_now() + GR_LEAVE_SECONDS;
    }
    return gr_runtime_now() > op->leave_by;
}

bool gr_op_is_left(struct gr_op *op, bool here)
{
    bool late = gr_op_waited_long(op);

    if (here) {
        gr_failure_tell(op->queue->comm);
    }
    return late || (here && gr_failure_out(op->queue->comm));
}

/* ---- the end ---- */

/* Whether the executor was started, and has not been told that the op is over. */
static bool is_started(const struct gr_op *op)
{
    return GR_OP_RUNNING == op->phase || GR_OP_LEAVING == op->phase;
}

static void set_result(struct gr_op *op, int rc)
{
    if (rc != op->rc) {
        op->rc = rc;
        gr_op_report_failure(op, "results could not be copied: ", gr_error_text(rc));
    }
}

void gr_op_over(struct gr_op *op, int rc)
{
    if (0 != rc && GR_ERR_FALLBACK != rc) {
        gr_op_report_error(op, rc);
    }
    op->rc = rc;
    op->count = GR_COUNT_NONE;
    if (is_started(op)) {
        set_result(op, op->exec->finish(op, rc));
    }
    op->phase = GR_OP_OVER;
}

static void count(const struct gr_op *op)
{
    bool timed = 0 != op->start;
    struct gr_call_time time = {.us = timed ? 1e6 * (gr_runtime_now() - op->start) : 0,
                                .wait_us = op->wait_us,
                                .nonblocking = op->nonblocking};

    gr_stats_call(op->id, op->choice.algo, op->exec->on_device, op->queue->team->p,
                  gr_call_has_buffers(op->id) ? op->data.bytes : 0, timed ? &time : NULL);
    if (GR_COUNT_ZERO_COPY == op->count) {
        gr_stats_zero_copy(op->id);
    }
}

void gr_op_end(struct gr_op *op, int rc)
{
    set_result(op, rc);
    if (0 == op->rc && GR_COUNT_NONE != op->count) {
        count(op);
    }
    op->phase = GR_OP_DONE;
}

void gr_op_abort(struct gr_op *op, bool here, int rc)
{
    if (is_started(op) && NULL != op->exec->abort && !op->exec->abort(op, here)) {
        op->phase = GR_OP_LEAVING;
    } else {
        gr_op_over(op, rc);
    }
}
