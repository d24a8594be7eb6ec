/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executor: small messages through boards. An op without agreement posts as soon as it is queued
 * (op_queue.c), and poll only takes what the other ranks have posted. An op with an agreement posts
 * when its turn has come: until then its executor is not known.
 */
#include "engine/run_board.h"

#include "base/status.h"
#include "engine/host_steps.h"
#include "engine/op.h"
#include "engine/op_end.h"
#include "engine/op_queue.h"

#include "base/text.h"
#include "exec/mail.h"
#include "link/team.h"
#include "sched/sched.h"

#include <stdio.h>
#include <stdlib.h>

static int board_prepare(struct gr_op *op)
{
    const struct gr_data *data = &op->data;
    const struct gr_plan_spec *r = &data->spec;
    struct gr_mail *mail = &op->run.mail;
    int rc = op->hooks->prepare(op, NULL);

    if (0 != rc) {
        return rc;
    }
    mail->coll = r->coll;
    mail->root = r->root;
    mail->in = data->in;
    mail->out = data->out;
    mail->count =
        GR_COLL_ALLGATHER == r->coll || GR_COLL_REDUCE_SCATTER == r->coll ? r->block : r->total;
    mail->counts = r->counts;
    mail->displs = r->displs;
    mail->reducer = data->reducer;
    if (!gr_op_has_agreement(op)) {
        op->early = (struct gr_early_post) {.mail = mail, .way = GR_WAY_MAILBOX};
    }
    return 0;
}

static int board_start(struct gr_op *op)
{
    if (gr_op_has_agreement(op)) {
        gr_mail_begin(&op->queue->team->mail.box, &op->run.mail);
    }
    return 0;
}

static int board_poll(struct gr_op *op, uint64_t *moved)
{
    struct gr_mailbox *box = &op->queue->team->mail.box;
    struct gr_mail *mail = &op->run.mail;

    if (gr_op_has_agreement(op) && box->posted == mail->epoch - 1 && !gr_mail_post(box, mail)) {
        return GR_AGAIN;
    }
    return gr_mail_is_posted(box, mail) && gr_mail_take(box, mail, moved) ? GR_DONE : GR_AGAIN;
}

static bool board_abort(struct gr_op *op, bool here)
{
    (void) op;
    (void) here;
    return true; /* only this rank uses its buffers */
}

static int board_finish(struct gr_op *op, int rc)
{
    if (0 == rc) {
        mca_coll_gpuring_op_count(op, false);
    }
    return rc;
}

void mca_coll_gpuring_mail_explain(const struct gr_mailbox *box, const struct gr_mail *mail,
                                   const char *what, char *text, size_t size)
{
    int *ranks = calloc((size_t) box->p, sizeof(int));
    size_t used = (size_t) snprintf(text, size, "%s, step %d (%s), waits for rank", what,
                                    mail->next, box->posted == mail->epoch - 1 ? "post" : "take");

    if (NULL != ranks) {
        gr_text_ranks(text, size, used, ranks, gr_mail_waits_for(box, mail, ranks));
    }
    free(ranks);
}

static void board_explain(struct gr_op *op, char *text, size_t size)
{
    mca_coll_gpuring_mail_explain(&op->queue->team->mail.box, &op->run.mail, "mailbox", text, size);
}

const struct gr_executor mca_coll_gpuring_run_board = {
    .links = mca_coll_gpuring_host_links,
    .connect = mca_coll_gpuring_host_connect,
    .prepare = board_prepare,
    .start = board_start,
    .poll = board_poll,
    .abort = board_abort,
    .finish = board_finish,
    .explain = board_explain,
};
