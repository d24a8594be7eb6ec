/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executor: small messages through boards. Where no rank has a GPU, an op posts as soon as it is
 * queued (op_queue.c), and poll only takes what the other ranks have posted. Else an op posts when
 * its turn has come: until then the executors of the ops before it are not known, and so not
 * whether they post. A persistent request has boards of its own.
 */
#include "engine/run_mailbox.h"

#include "base/status.h"
#include "engine/host_steps.h"
#include "engine/op.h"
#include "engine/op_end.h"
#include "engine/op_queue.h"

#include "base/text.h"
#include "exec/mailbox.h"
#include "link/team.h"
#include "sched/sched.h"

#include <stdio.h>
#include <stdlib.h>

/* Whether the op posts when its turn has come, instead of when it is queued. */
static bool posts_in_turn(const struct gr_op *op)
{
    return gr_op_has_agreement(op) || gr_op_asks_in_turn(op);
}

static int mailbox_prepare(struct gr_op *op)
{
    const struct gr_data *data = &op->data;
    const struct gr_plan_spec *r = &data->spec;
    struct gr_mailbox_call *call = &op->run.mailbox;
    int rc = op->hooks->prepare(op, NULL);

    if (0 != rc) {
        return rc;
    }
    call->coll = r->coll;
    call->root = r->root;
    call->in = data->in;
    call->out = data->out;
    call->count =
        GR_COLL_ALLGATHER == r->coll || GR_COLL_REDUCE_SCATTER == r->coll ? r->block : r->total;
    call->counts = r->counts;
    call->displs = r->displs;
    call->reducer = data->reducer;
    if (!posts_in_turn(op)) {
        op->early = (struct gr_early_post) {.call = call, .way = GR_WAY_MAILBOX};
    }
    return 0;
}

static int mailbox_start(struct gr_op *op)
{
    if (posts_in_turn(op)) {
        gr_mailbox_begin(&op->queue->team->mailbox.box, &op->run.mailbox);
    }
    return 0;
}

static int mailbox_poll(struct gr_op *op, uint64_t *moved)
{
    struct gr_mailbox *box = &op->queue->team->mailbox.box;
    struct gr_mailbox_call *call = &op->run.mailbox;

    if (posts_in_turn(op) && box->posted == call->epoch - 1 && !gr_mailbox_post(box, call)) {
        return GR_AGAIN;
    }
    return gr_mailbox_is_posted(box, call) && gr_mailbox_take(box, call, moved) ? GR_DONE
                                                                                : GR_AGAIN;
}

static bool mailbox_abort(struct gr_op *op, bool here)
{
    (void) op;
    (void) here;
    return true; /* only this rank uses its buffers */
}

static int mailbox_finish(struct gr_op *op, int rc)
{
    if (0 == rc) {
        mca_coll_gpuring_op_count(op, false);
    }
    return rc;
}

void mca_coll_gpuring_mailbox_explain(const struct gr_mailbox *box,
                                      const struct gr_mailbox_call *call, const char *what,
                                      char *text, size_t size)
{
    int *ranks = calloc((size_t) box->p, sizeof(int));
    size_t used = (size_t) snprintf(text, size, "%s, step %d (%s), waits for rank", what,
                                    call->next, box->posted == call->epoch - 1 ? "post" : "take");

    if (NULL != ranks) {
        gr_text_ranks(text, size, used, ranks, gr_mailbox_waits_for(box, call, ranks));
    }
    free(ranks);
}

static void mailbox_explain(struct gr_op *op, char *text, size_t size)
{
    mca_coll_gpuring_mailbox_explain(&op->queue->team->mailbox.box, &op->run.mailbox, "mailbox",
                                     text, size);
}

const struct gr_executor mca_coll_gpuring_run_mailbox = {
    .links = mca_coll_gpuring_host_links,
    .connect = mca_coll_gpuring_host_connect,
    .prepare = mailbox_prepare,
    .start = mailbox_start,
    .poll = mailbox_poll,
    .abort = mailbox_abort,
    .finish = mailbox_finish,
    .explain = mailbox_explain,
};
