/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executor: small messages through boards. Where no rank has a GPU and all share one mailbox, an op
 * posts as soon as it is queued (op_queue.c), and poll only takes what the other ranks have posted.
 * Else an op posts when its turn has come: in groups, what a rank posts is mostly what it has taken
 * before; with GPUs, the executors of the ops before it are not known until then, and so not
 * whether they post. A persistent request has boards of its own.
 */
#include "exec/op.h"
#include "exec/run_host.h"

static void mailbox_prepare(struct gr_op *op)
{
    const struct gr_data *data = &op->data;
    const struct gr_plan_spec *r = &data->spec;
    struct gr_mailbox_call *call = &op->run.mailbox.whole;

    call->coll = r->coll;
    call->root = r->root;
    call->kind = gr_label_kind(r->coll, r->root);
    call->in = data->in;
    call->out = data->out;
    call->count = GR_COLL_ALLGATHER == r->coll || GR_COLL_REDUCE_SCATTER == r->coll ||
                          GR_COLL_ALLTOALL == r->coll
                      ? r->block
                      : r->total;
    call->counts = r->counts;
    call->displs = r->displs;
    call->reducer = data->reducer;
    gr_grouped_prepare(&op->run.mailbox, op->queue->team);
    if (!gr_op_has_agreement(op) && !gr_op_asks_in_turn(op) && !gr_is_grouped(op->comm->size)) {
        op->early = (struct gr_early_post) {.call = call, .use = GR_ALGO_MAILBOX};
    }
}

/* Whether the queue posts for the op. */
static bool posts_early(const struct gr_op *op)
{
    return &op->run.mailbox.whole == op->early.call;
}

static int mailbox_start(struct gr_op *op)
{
    if (!posts_early(op)) {
        gr_grouped_begin(&op->run.mailbox);
    }
    return 0;
}

static int mailbox_poll(struct gr_op *op, uint64_t *moved)
{
    struct gr_grouped_call *c = &op->run.mailbox;
    const struct gr_mailbox *box = &gr_grouped_at(c)->box;
    struct gr_label_pair pair;
    int rc = 0;

    if (!posts_early(op) || gr_mailbox_is_posted(box, &c->whole)) {
        rc = gr_grouped_poll(c, moved);
    }
    if (rc < 0) {
        pair = gr_grouped_difference(c);
        gr_report_difference(op->queue->comm, op->id, op->seq, rc, &pair);
    }
    if (0 != rc) {
        return rc < 0 ? rc : GR_DONE;
    }
    op->wait_us = 0 == op->wait_us ? GR_WAIT_UNKNOWN : op->wait_us;
    box = &gr_grouped_at(c)->box;
    op->awaited = gr_mailbox_is_posted(box, gr_grouped_now(c))
                      ? gr_mailbox_awaits(box, gr_grouped_now(c))
                      : (struct gr_awaited) {.word = NULL};
    return GR_AGAIN;
}

static int mailbox_finish(struct gr_op *op, int rc)
{
    op->count = GR_COUNT_COPIED;
    return rc;
}

static void mailbox_explain(struct gr_op *op, char *text, size_t size)
{
    gr_grouped_explain(&op->run.mailbox, text, size);
}

const struct gr_executor gr_run_mailbox = {
    .links = gr_op_host_links,
    .connect = gr_host_connect,
    .prepare = mailbox_prepare,
    .start = mailbox_start,
    .poll = mailbox_poll,
    .finish = mailbox_finish,
    .explain = mailbox_explain,
};
