/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call that is taken, from its buffers to its end: a state machine that goes on whenever it is its turn.
 *
 *      QUEUED --> SETUP --> RUNNING --> DONE          links are made by the first call that needs them
 *                   '-----> MESSAGES -----^           nonblocking, and there were none
 *                   '------------------>  NOT_AVAILABLE: blocking; who waits hands it on
 *
 * Until the first slot moves a blocking call may be handed to the saved collective; after that it finishes or
 * fails. A nonblocking call is finished by what took it: to hand it on later would be to hand it on in another
 * order on each rank.
 */
#include "coll_gpuring_op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slots that a nonblocking call moves at a time: its caller wants to go on. */
#define BURST 8

void mca_coll_gpuring_op_init(struct gr_op *op)
{
    memset(op, 0, sizeof(*op));
}

void mca_coll_gpuring_op_free(struct gr_op *op)
{
    free(op->counts);
    free(op->scratch);
    free(op->bounce);
}

int mca_coll_gpuring_op_begin(struct gr_op *op)
{
    const struct gr_data *data = &op->data;
    const struct gr_request *r = &data->request;
    int rc = mca_coll_gpuring_data_begin(op);

    op->start = mca_coll_gpuring_stats_timed() ? mca_coll_gpuring_now() : 0;
    if (OMPI_SUCCESS == rc && GR_WAY_MAILBOX == op->choice.way) {
        op->mail.coll = r->coll;
        op->mail.root = r->root;
        op->mail.in = data->in;
        op->mail.out = data->out;
        op->mail.count = GR_COLL_ALLGATHER == r->coll || GR_COLL_REDUCE_SCATTER == r->coll ? r->block : r->total;
        op->mail.counts = r->counts;
        op->mail.displs = r->displs;
        op->mail.reducer = data->reducer;
    }
    return rc;
}

static unsigned char *find_bounce(struct gr_op *op)
{
    if (NULL == op->bounce) {
        op->bounce = malloc(GR_BOUNCE_BYTES);
    }
    return op->bounce;
}

void mca_coll_gpuring_op_plan(struct gr_op *op)
{
    const struct gr_team *team = op->lane->team;
    struct gr_request *r = &op->data.request;

    if (GR_WAY_MAILBOX == op->choice.way) {
        return;
    }
    r->algo = (enum gr_algo) op->choice.way;
    r->nchannels = op->choice.nchannels;
    r->direct = op->choice.direct && team->direct;
    r->chunk_bytes = r->direct ? op->choice.direct_chunk_bytes : op->choice.chunk_bytes;
    r->direct_bytes = op->choice.direct_bytes;
    gr_plan_build(&op->plan, team, r);
    op->planned = true;
}

/* Start the plan's machine. OMPI error code. */
static int start_machine(struct gr_op *op)
{
    const struct gr_team *team = op->lane->team;
    const struct gr_request *r = &op->data.request;
    struct gr_host_op *host = &op->host;

    if (!op->planned) {
        mca_coll_gpuring_op_plan(op);
    }
    host->in = team->in;
    host->out = team->out;
    host->p = team->p;
    host->nchannels = r->nchannels;
    host->space[GR_IN] = op->data.in;
    host->space[GR_OUT] = op->data.out;
    host->space[GR_TMP] = NULL; /* no schedule of host memory has scratch */
    host->reducer = op->data.reducer;
    host->direct = r->direct;
    host->pids = team->pids;
    host->later.bytes = 0;
    host->popped = 0;
    host->bounce = NULL;
    if (r->direct && gr_calls[op->call.id].reduces) {
        host->bounce = find_bounce(op);
        if (NULL == host->bounce) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    gr_machine_start(&op->machine, &op->plan, &gr_host_mover, host);
    op->machine.burst = op->nonblocking ? BURST : 0;
    return OMPI_SUCCESS;
}

void mca_coll_gpuring_op_over(struct gr_op *op, int rc)
{
    op->rc = rc;
    op->state = GR_OP_DONE;
}

static bool is_ready(const struct gr_op *op)
{
    return GR_LINKS_THERE == gr_team_links(op->lane->team, op->choice.way, op->call.root);
}

/* The set-ups before it are over: its links are there, or will never be. */
static void after_setup(struct gr_op *op)
{
    int rc = OMPI_SUCCESS;

    if (is_ready(op)) {
        op->state = GR_OP_RUNNING;
        if (GR_WAY_MAILBOX != op->choice.way) {
            rc = start_machine(op);
        }
    } else if (op->nonblocking) {
        op->state = GR_OP_MESSAGES;
        rc = mca_coll_gpuring_messages_begin(op);
    } else {
        rc = OMPI_ERR_NOT_AVAILABLE;
    }
    if (OMPI_SUCCESS != rc) {
        mca_coll_gpuring_op_over(op, rc);
    }
}

/* Poll what runs: enum gr_status, or negative. */
static int run(struct gr_op *op, uint64_t *moved)
{
    struct gr_mailbox *box = &op->lane->team->box;

    if (GR_WAY_MAILBOX != op->choice.way) {
        return gr_machine_run(&op->machine, moved);
    }
    return box->posted - op->mail.epoch < box->nsets && gr_mail_take(box, &op->mail, moved) ? GR_DONE : GR_AGAIN;
}

void mca_coll_gpuring_op_end(struct gr_op *op)
{
    int rc = mca_coll_gpuring_data_end(op);

    if (GR_OP_MESSAGES == op->state) {
        mca_coll_gpuring_stats_handover(GR_HANDOVER_SETUP); /* to Open MPI's messages */
    } else {
        mca_coll_gpuring_stats_call(op->call.id, op->choice.way, op->lane->team->p, op->data.bytes,
                                    0 != op->start ? 1e6 * (mca_coll_gpuring_now() - op->start) : 0);
    }
    mca_coll_gpuring_op_over(op, rc);
}

static void advance_setup(struct gr_op *op, uint64_t *moved)
{
    int rc = mca_coll_gpuring_setup_poll(op->setup, moved);

    if (GR_AGAIN == rc) {
        return;
    }
    if (GR_DONE != rc) {
        /* Messages may still be under way into the set-up, and peers may already write to the frames: both are
         * left to them, for good. Such a communicator is broken. */
        op->lane->team->poisoned = GR_ERR_POISONED;
        mca_coll_gpuring_op_over(op, OMPI_ERROR);
        return;
    }
    mca_coll_gpuring_setup_end(op->setup);
    op->setup = NULL;
    after_setup(op);
}

bool mca_coll_gpuring_op_advance(struct gr_op *op, bool here, uint64_t *moved)
{
    int rc;

    if (0 != op->lane->team->poisoned && GR_OP_DONE != op->state) {
        mca_coll_gpuring_op_over(op, mca_coll_gpuring_poison_code(op->lane->team));
    }
    if (GR_OP_QUEUED == op->state && NULL != op->setup) {
        op->state = GR_OP_SETUP;
    } else if (GR_OP_QUEUED == op->state && (here || is_ready(op))) {
        after_setup(op);
    }
    if (GR_OP_SETUP == op->state && here) {
        advance_setup(op, moved);
    }
    if (GR_OP_RUNNING == op->state || (GR_OP_MESSAGES == op->state && here)) {
        rc = GR_OP_RUNNING == op->state ? run(op, moved) : mca_coll_gpuring_messages_poll(op, moved);
        if (GR_DONE == rc) {
            mca_coll_gpuring_op_end(op);
        } else if (GR_AGAIN != rc) {
            op->lane->team->poisoned = rc;
            mca_coll_gpuring_op_over(op, OMPI_ERROR);
        }
    }
    return GR_OP_DONE == op->state;
}

/* ---- reports ---- */

static size_t add_ranks(char *text, size_t size, size_t used, const int *ranks, int n)
{
    int k;

    for (k = 0; k < n && used < size; k++) {
        used += (size_t) snprintf(text + used, size - used, " %d", ranks[k]);
    }
    return used;
}

static void explain_mailbox(struct gr_op *op, char *text, size_t size)
{
    struct gr_mailbox *box = &op->lane->team->box;
    int *ranks = calloc((size_t) box->p, sizeof(int));
    size_t used = (size_t) snprintf(text, size, "mailbox, step %d (%s), waits for rank", op->mail.next,
                                    box->posted == op->mail.epoch - 1 ? "post" : "take");

    if (NULL != ranks) {
        add_ranks(text, size, used, ranks, gr_mail_waits_for(box, &op->mail, ranks));
    }
    free(ranks);
}

static void explain_machine(struct gr_op *op, char *text, size_t size)
{
    const struct gr_machine *m = &op->machine;
    int ranks[2 * GR_FAN], n;
    size_t used = 0;
    uint32_t c;

    for (c = 0; c < m->nchannels && used < size; c++) {
        const struct gr_step *step = gr_machine_waits(m, c);

        n = gr_host_waits_for(&op->host, c, step, ranks);
        if (NULL == step && 0 == n) {
            continue;
        }
        used += (size_t) snprintf(text + used, size - used, "%s%s, channel %u, ", used > 0 ? "; " : "",
                                  gr_way_name(op->choice.way), c);
        if (NULL != step && used < size) {
            used += (size_t) snprintf(text + used, size - used, "slice %u, step %u (%s), waits for rank",
                                      m->at[c].slice, m->at[c].index, gr_step_name(step));
        } else if (used < size) {
            used += (size_t) snprintf(text + used, size - used, "all steps done, to be fetched by rank");
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
        mca_coll_gpuring_messages_explain(op, text, size);
        break;
    case GR_OP_RUNNING:
        if (GR_WAY_MAILBOX == op->choice.way) {
            explain_mailbox(op, text, size);
        } else {
            explain_machine(op, text, size);
        }
        break;
    default:
        snprintf(text, size, "not begun");
    }
}
