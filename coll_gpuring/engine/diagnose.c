/* SPDX-License-Identifier: BSD-3-Clause */
/* What an op that waits says of itself: where it stands, and which ranks it waits for. */
#include "engine/diagnose.h"

#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/p2p_fallback.h"
#include "engine/setup_diagnose.h"
#include "engine/step_timing.h"

#include "exec/gpu/args.h"
#include "exec/gpu/op.h"
#include "exec/host.h"
#include "exec/mail.h"
#include "exec/staged.h"
#include "exec/stepper.h"
#include "sched/sched.h"
#include "sched/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t add_ranks(char *text, size_t size, size_t used, const int *ranks, int n)
{
    int k;

    for (k = 0; k < n && used < size; k++) {
        used += (size_t) snprintf(text + used, size - used, " %d", ranks[k]);
    }
    return used;
}

static void explain_mail(const struct gr_mailbox *box, const struct gr_mail *mail, const char *what,
                         char *text, size_t size)
{
    int *ranks = calloc((size_t) box->p, sizeof(int));
    size_t used = (size_t) snprintf(text, size, "%s, step %d (%s), waits for rank", what,
                                    mail->next, box->posted == mail->epoch - 1 ? "post" : "take");

    if (NULL != ranks) {
        add_ranks(text, size, used, ranks, gr_mail_waits_for(box, mail, ranks));
    }
    free(ranks);
}

static void explain_gpu(const struct gr_op *op, char *text, size_t size)
{
    const char *way = gr_way_name(op->choice.way);
    struct gr_gpu_report report;
    struct gr_step step;
    int ranks[2 * GR_FAN], n;
    size_t used;
    uint32_t c;

    mca_coll_gpuring_timing_explain(op->queue, text, size);
    used = strlen(text);
    for (c = 0; c < op->gpu.nchannels && used < size; c++) {
        if (gr_gpu_op_waits(&op->gpu, c, &step, &report, ranks, &n)) {
            used += (size_t) snprintf(
                text + used, size - used,
                "%s%s on devices, channel %u, slice %u, step %u (%s), waits for rank",
                used > 0 ? "; " : "", way, c, report.slice, report.index, gr_step_name(&step));
            used = used < size ? add_ranks(text, size, used, ranks, n) : used;
        }
    }
    n = gr_gpu_op_unsent(&op->gpu, ranks, 2 * GR_FAN);
    if (n > 0) {
        used =
            (size_t) snprintf(text, size, "%s on devices, all steps done, to be sent to rank", way);
        add_ranks(text, size, used, ranks, n);
    } else if (0 == used) {
        snprintf(text, size,
                 "%s on devices, the kernel is at work, or has no place on the device yet", way);
    }
}

static void explain_steps(struct gr_op *op, const char *what, char *text, size_t size)
{
    const struct gr_stepper *m = &op->stepper;
    int ranks[2 * GR_FAN], n;
    size_t used;
    uint32_t c;

    mca_coll_gpuring_timing_explain(op->queue, text, size);
    used = strlen(text);
    for (c = 0; c < m->nchannels && used < size; c++) {
        const struct gr_step *step = gr_stepper_waits(m, c);

        if (op->overlaps && gr_staged_waits(&op->staging, c)) {
            used += (size_t) snprintf(text + used, size - used,
                                      "%s%s, channel %u, waits for a copy from or to the device",
                                      used > 0 ? "; " : "", what, c);
            continue;
        }
        n = gr_host_waits_for(&op->host, c, step, ranks);
        if (NULL == step && 0 == n) {
            continue;
        }
        used += (size_t) snprintf(text + used, size - used, "%s%s, channel %u, ",
                                  used > 0 ? "; " : "", what, c);
        if (NULL != step && used < size) {
            used += (size_t) snprintf(text + used, size - used,
                                      "slice %u, step %u (%s), waits for rank", m->at[c].slice,
                                      m->at[c].index, gr_step_name(step));
        } else if (used < size) {
            used += (size_t) snprintf(text + used, size - used, "all steps done, %s rank",
                                      op->host.direct ? "to be fetched by" : "to be sent to");
        }
        used = add_ranks(text, size, used, ranks, n);
    }
}

void mca_coll_gpuring_op_explain(void *ctx, char *text, size_t size)
{
    struct gr_op *op = ctx;

    text[0] = '\0';
    switch (op->state) {
    case GR_OP_SETUP:
        mca_coll_gpuring_setup_explain(op->setup, text, size);
        break;
    case GR_OP_MESSAGES:
        mca_coll_gpuring_p2p_fallback_explain(op, text, size);
        break;
    case GR_OP_AGREEMENT:
        if (NULL != op->queue->team->remote) {
            explain_steps(op, "arrival", text, size);
        } else {
            explain_mail(&op->queue->team->agreement.box, &op->agreement, "arrival", text, size);
        }
        break;
    case GR_OP_RUNNING:
        if (op->device) {
            explain_gpu(op, text, size);
        } else if (GR_WAY_MAILBOX == op->choice.way) {
            explain_mail(&op->queue->team->mail.box, &op->mail, "mailbox", text, size);
        } else {
            explain_steps(op, gr_way_name(op->choice.way), text, size);
        }
        break;
    case GR_OP_LEAVING:
        snprintf(text, size, "failed, other ranks may still write to its buffers");
        break;
    default:
        snprintf(text, size, "not begun");
    }
}
