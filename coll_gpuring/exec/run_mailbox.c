/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executor: small messages through boards. Where no rank has a GPU and all share one mailbox, an op
 * posts as soon as it is queued (op_queue.c), and poll only takes what the other ranks have posted.
 * Else an op posts when its turn has come: in groups, what a rank posts is mostly what it has taken
 * before; with GPUs, the executors of the ops before it are not known until then, and so not
 * whether they post. A persistent request has boards of its own.
 */
#include "exec/executor.h"
#include "exec/grouped.h"
#include "exec/label.h"
#include "exec/mailbox.h"
#include "exec/op.h"
#include "exec/op_end.h"
#include "exec/plan.h"
#include "exec/run_host.h"

#include "base/memory.h"
#include "base/errors.h"

#include "base/text.h"
#include "link/team.h"
#include "sched/groups.h"
#include "sched/sched.h"

#include <stdio.h>
#include <stdlib.h>

/* Whether the op posts when its turn has come, instead of when it is queued. */
static bool posts_in_turn(const struct gr_op *op)
{
    return gr_op_has_agreement(op) || gr_op_asks_in_turn(op) || gr_is_grouped(op->comm->size);
}

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
    if (!posts_in_turn(op)) {
        op->early = (struct gr_early_post) {.call = call, .use = GR_ALGO_MAILBOX};
    }
}

static int mailbox_start(struct gr_op *op)
{
    if (posts_in_turn(op)) {
        gr_grouped_begin(&op->run.mailbox, op->queue->team);
    }
    return 0;
}

/* rc: of gr_mailbox_take(), which is returned. */
static int report_difference(const struct gr_op *op, int rc)
{
    const struct gr_grouped *c = &op->run.mailbox;
    const struct gr_boards *boards =
        posts_in_turn(op) ? gr_grouped_at(c) : gr_team_boards(op->queue->team, GR_ALGO_MAILBOX);
    struct gr_label_pair pair =
        gr_mailbox_difference(&boards->box, posts_in_turn(op) ? &c->now : &c->whole);

    pair.rank = boards->group.first + pair.rank * boards->group.step;
    gr_report_difference(op->queue->comm, op->id, op->seq, rc, &pair);
    return rc;
}

static int mailbox_poll(struct gr_op *op, uint64_t *moved)
{
    struct gr_grouped *c = &op->run.mailbox;
    bool in_turn = posts_in_turn(op);
    const struct gr_mailbox_call *call;
    struct gr_mailbox *box = &gr_team_boards(op->queue->team, GR_ALGO_MAILBOX)->box;
    int rc = 0;

    if (in_turn) {
        rc = gr_grouped_poll(c, moved);
        box = &c->boards[c->at].box;
    } else if (gr_mailbox_is_posted(box, &c->whole)) {
        rc = gr_mailbox_take(box, &c->whole, moved);
    }
    if (0 != rc) {
        return rc < 0 ? report_difference(op, rc) : GR_DONE;
    }
    call = in_turn ? &c->now : &c->whole;
    op->awaited = gr_mailbox_is_posted(box, call) ? gr_mailbox_awaits(box, call)
                                                  : (struct gr_awaited) {.word = NULL};
    return GR_AGAIN;
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
        gr_op_count(op, false);
    }
    return rc;
}

void gr_mailbox_explain(const struct gr_boards *boards, const struct gr_mailbox_call *call,
                        const char *what, char *text, size_t size)
{
    const struct gr_mailbox *box = &boards->box;
    const struct gr_group *g = &boards->group;
    int *ranks = gr_calloc((size_t) box->p, sizeof(int)), n, k;
    size_t used = (size_t) snprintf(text, size, "%s, step %d (%s), waits for rank", what,
                                    call->next, box->posted == call->epoch - 1 ? "post" : "take");

    if (NULL != ranks) {
        n = gr_mailbox_waits_for(box, call, ranks);
        for (k = 0; k < n; k++) {
            ranks[k] = g->first + ranks[k] * g->step;
        }
        gr_text_ranks(text, size, used, ranks, n);
    }
    free(ranks);
}

static void mailbox_explain(struct gr_op *op, char *text, size_t size)
{
    const struct gr_grouped *c = &op->run.mailbox;
    char what[32] = "mailbox";

    if (!posts_in_turn(op)) {
        gr_mailbox_explain(gr_team_boards(op->queue->team, GR_ALGO_MAILBOX), &c->whole, what, text,
                           size);
        return;
    }
    if (gr_is_grouped(op->comm->size)) {
        snprintf(what, sizeof(what),
                 GR_COLL_ALLTOALL == c->whole.coll ? "mailbox, dimension %d" : "mailbox, level %d",
                 c->at);
    }
    gr_mailbox_explain(gr_grouped_at(c), &c->now, what, text, size);
}

const struct gr_executor gr_run_mailbox = {
    .links = gr_op_host_links,
    .connect = gr_host_connect,
    .prepare = mailbox_prepare,
    .start = mailbox_start,
    .poll = mailbox_poll,
    .abort = mailbox_abort,
    .finish = mailbox_finish,
    .explain = mailbox_explain,
};
