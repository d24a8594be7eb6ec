/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of an op. Each function below is one phase, in the order in which a call goes through
 * them.
 *
 *   QUEUED --> [RECORD_LINKS --> AGREEMENT --> CHOICE -->] [SETUP -->] START --> RUNNING --> OVER
 *     |   ^                                                  ^         |   ^       |         ^
 *     '---'  [NETWORK]                        links refused: '---------'   |       '-> LEAVING
 *                                                               [BUFFERS] -'
 *
 * In BUFFERS, after a choice in turn, and in OVER it is mpi/ that has to do something for the op:
 * gr_op_advance() returns, and mpi/ calls it again afterwards (mpi/drive.c).
 *
 * The first op of a communicator of several nodes measures the network between them, before it goes
 * on. It and the ops that were submitted before it was done make their CHOICE in their turn.
 *
 * Where some rank may have buffers on a device, the agreement decides whether kernels or the host
 * run the op. Otherwise the choice was made at the call. If the links for kernels are refused, the
 * host runs the op; if the links for the host are, Open MPI's messages do.
 *
 * Inside a node the path between devices is a guess until their links are made. So START chooses
 * protocol, channels and chunks once more (gr_op_reselect()).
 *
 * Until START, a blocking op may be left to the saved collective instead. After that it completes
 * or fails. A nonblocking op is always completed here: each rank would leave it to the saved
 * collective at a different point of its sequence of calls. An error leads to OVER, by way of
 * LEAVING while other ranks still use the op's buffers.
 */
#include "engine/phases.h"

#include "comm/collectives.h"
#include "comm/failure.h"
#include "comm/runtime.h"
#include "engine/call_agreement.h"
#include "engine/choose.h"
#include "engine/network_probe.h"
#include "exec/executor.h"
#include "exec/op.h"
#include "exec/setup.h"

#include "base/errors.h"
#include "base/text.h"
#include "link/team.h"

#include <stdio.h>
#include <stdlib.h>

void gr_op_free(struct gr_op *op)
{
    free(op->kept.bounce);
    gr_staged_free(&op->kept.bands);
    gr_agreement_free(&op->agreement);
}

/* ---- its buffers: before the queue, or after a choice in turn ---- */

/* Only now that the links are there may steps overlap with copies. */
static void pick_executor(struct gr_op *op)
{
    if (op->comm->gpu) {
        op->exec = gr_pick(op);
    }
}

void gr_op_begin(struct gr_op *op)
{
    op->start = gr_stats_now();
    pick_executor(op);
}

void gr_op_prepared(struct gr_op *op, int rc)
{
    op->has_buffers = 0 == rc;
    if (op->has_buffers && NULL != op->exec->prepare) {
        op->exec->prepare(op);
    }
    if (GR_OP_BUFFERS == op->phase && 0 == rc) {
        op->phase = GR_OP_START;
    } else if (GR_OP_BUFFERS == op->phase) {
        gr_op_over(op, rc);
    }
}

/* ---- the phases: each function returns whether the op has reached another one ---- */

/*
 * Without links for call records there is no agreement: the host runs the op, and each rank stages
 * the buffers that it has on a device. Between nodes they are links as others, so an op asks for
 * them in its turn, when no op before it can need them any more; boards it has asked for at the
 * call.
 */
static void begin_agreement(struct gr_op *op)
{
    enum gr_links links = gr_agreement_links(op->queue);

    if (GR_LINKS_NONE == links) {
        op->phase = GR_OP_RECORD_LINKS;
        op->setup = gr_agreement_connect(op->queue, op->setup_number[GR_SETUP_RECORDS]);
        if (NULL == op->setup) {
            gr_op_over(op, GR_ERR_NOMEM);
        }
        return;
    }
    if (GR_LINKS_THERE != links) {
        op->phase = GR_OP_CHOICE;
        return;
    }
    op->phase = GR_OP_AGREEMENT;
    gr_agreement_begin(op);
}

/*
 * GR_OP_QUEUED, and the op is the first of its queue. If it has no set-up of its own, its links are
 * there, or were refused, or are not known yet, since the choice is still to be made. After a
 * refusal it goes on in MPI calls only: other links, and Open MPI's messages, need messages.
 */
static bool take_turn(struct gr_op *op, bool here)
{
    if (NULL != op->probe) {
        op->phase = GR_OP_NETWORK;
    } else if (NULL != op->setup) {
        op->phase = gr_op_has_agreement(op) ? GR_OP_RECORD_LINKS : GR_OP_SETUP;
    } else if (gr_op_has_agreement(op)) {
        if (here || GR_LINKS_THERE == gr_agreement_links(op->queue)) {
            begin_agreement(op);
        }
    } else if (NULL == op->exec) {
        op->phase = here ? GR_OP_CHOICE : GR_OP_QUEUED;
    } else if (here || GR_LINKS_THERE == op->exec->links(op)) {
        op->phase = GR_OP_START;
    }
    return GR_OP_QUEUED != op->phase;
}

/* A set-up, or the probe, failed: messages may be in flight into it, so it is never freed. */
static void fail_messages(struct gr_op *op, const char *what)
{
    int rc = gr_failure_of_message(op->comm);

    gr_op_report_failure(op, what, "no memory, or Open MPI could not send a message");
    gr_op_over(op, rc);
}

/* GR_OP_NETWORK: then the op takes its turn once more. */
static bool await_network(struct gr_op *op, bool here, uint64_t *moved)
{
    int rc = here ? gr_network_poll(op->probe, moved) : GR_AGAIN;

    if (GR_AGAIN == rc) {
        return false;
    }
    if (GR_DONE != rc) {
        fail_messages(op, "measuring the network: ");
        return true;
    }
    gr_network_end(op->probe);
    op->probe = NULL;
    op->phase = GR_OP_QUEUED;
    return true;
}

/* GR_OP_RECORD_LINKS and GR_OP_SETUP: progress the op's set-ups. Returns whether all are over. */
static bool poll_setup(struct gr_op *op, bool here, uint64_t *moved)
{
    int rc = here ? gr_setup_poll(op->setup, moved) : GR_AGAIN;

    if (GR_AGAIN == rc) {
        return false;
    }
    if (GR_DONE != rc) {
        /* other ranks may already write to its slabs; the communicator cannot be used any more */
        fail_messages(op, "set-up: ");
        return false;
    }
    gr_setup_end(op->setup);
    op->setup = op->next_setup;
    op->next_setup = NULL;
    return NULL == op->setup;
}

static bool await_record_links(struct gr_op *op, bool here, uint64_t *moved)
{
    if (poll_setup(op, here, moved)) {
        begin_agreement(op);
    }
    return GR_OP_RECORD_LINKS != op->phase;
}

/* GR_OP_AGREEMENT */
static bool await_records(struct gr_op *op, uint64_t *moved)
{
    int rc = gr_agreement_poll(op, moved);

    if (GR_AGAIN == rc) {
        return false;
    }
    if (GR_DONE != rc) {
        int error = gr_failure_of_message(op->comm);

        gr_op_report_error(op, rc);
        gr_op_over(op, error);
    } else if (gr_agreement_end(op) < 0) { /* on all ranks */
        gr_fail(op->queue->comm, GR_ERR_FAILED, NULL);
        gr_op_over(op, GR_ERR_DIFFER);
    } else {
        op->wait_us = 0 != op->start ? 1e6 * (gr_runtime_now() - op->start) : 0;
        op->phase = GR_OP_CHOICE;
    }
    return true;
}

/* The executor is known: set up its links, if no op has asked for them yet. */
static void connect_executor(struct gr_op *op)
{
    op->phase = GR_OP_START;
    if (GR_LINKS_NONE != op->exec->links(op)) {
        return;
    }
    op->phase = GR_OP_SETUP;
    op->setup = op->exec->connect(op, op->setup_number[op->exec->setup]);
    if (NULL == op->setup) {
        gr_op_over(op, GR_ERR_NOMEM);
    }
}

/* GR_OP_CHOICE */
static bool choose(struct gr_op *op)
{
    int rc = GR_AGREEMENT_ONLY == op->agreement.use ? GR_ERR_FALLBACK
                                                    : gr_op_choose(op->queue->comm, op);

    if (0 == rc) {
        connect_executor(op);
    } else {
        gr_op_over(op, rc);
    }
    return true;
}

/*
 * GR_OP_SETUP. A set-up on devices makes no links where it has found that kernels are not to wait
 * for each other there: then the op chooses anew.
 */
static bool await_links(struct gr_op *op, bool here, uint64_t *moved)
{
    if (poll_setup(op, here, moved)) {
        bool none = op->agreed.kernels && GR_LINKS_NONE == op->exec->links(op);

        op->phase = NULL == op->exec || none ? GR_OP_CHOICE : GR_OP_START;
    }
    return GR_OP_SETUP != op->phase;
}

/* The executor's links were refused, on all ranks alike: another executor, or the fallback. */
static void replace_executor(struct gr_op *op)
{
    int rc;

    if (op->agreed.kernels) {
        rc = gr_op_choose_host(op->queue->comm, op);
        if (0 == rc) {
            connect_executor(op);
        } else {
            gr_op_over(op, rc);
        }
    } else if (op->nonblocking) {
        op->exec = gr_pick(op);
    } else {
        op->fallback = GR_FALLBACK_SETUP;
        gr_op_over(op, GR_ERR_FALLBACK);
    }
}

/* GR_OP_START */
static bool start(struct gr_op *op, bool here)
{
    enum gr_links links = op->exec->links(op);
    int rc;

    if (GR_LINKS_THERE != links) {
        if (GR_LINKS_NONE == links) { /* to be asked for in its turn (submit.c) */
            connect_executor(op);
        } else {
            replace_executor(op);
        }
        return true;
    }
    if (op->exec->sends_messages && !here) {
        return false;
    }
    gr_op_reselect(op->queue->comm, op);
    if (!op->has_buffers) {
        pick_executor(op);
        op->phase = GR_OP_BUFFERS;
        return true;
    }
    op->phase = GR_OP_RUNNING;
    rc = op->exec->start(op);
    if (0 != rc) {
        gr_op_over(op, rc);
    }
    return true;
}

/* GR_OP_RUNNING */
static bool run(struct gr_op *op, bool here, uint64_t *moved)
{
    int rc = op->exec->sends_messages && !here ? GR_AGAIN : op->exec->poll(op, moved);

    if (GR_DONE == rc) {
        gr_op_over(op, 0);
    } else if (GR_ERR_FALLBACK == rc) { /* on all ranks, and nothing has moved */
        (void) op->exec->finish(op, rc);
        op->has_buffers = false; /* for the executor that replaces this one */
        replace_executor(op);
    } else if (GR_AGAIN != rc) { /* poll has failed the communicator */
        gr_op_abort(op, here, op->comm->failed);
    }
    return GR_OP_RUNNING != op->phase;
}

/* ---- all of them ---- */

static bool advance_phase(struct gr_op *op, bool here, uint64_t *moved)
{
    switch (op->phase) {
    case GR_OP_QUEUED:
        return take_turn(op, here);
    case GR_OP_NETWORK:
        return await_network(op, here, moved);
    case GR_OP_RECORD_LINKS:
        return await_record_links(op, here, moved);
    case GR_OP_AGREEMENT:
        return await_records(op, moved);
    case GR_OP_CHOICE:
        return choose(op);
    case GR_OP_SETUP:
        return await_links(op, here, moved);
    case GR_OP_START:
        return start(op, here);
    case GR_OP_RUNNING:
        return run(op, here, moved);
    default:
        return false;
    }
}

bool gr_op_advance(struct gr_op *op, bool here, uint64_t *moved)
{
    int rc = op->queue->comm->failed;

    if (0 != rc && GR_OP_OVER != op->phase) {
        gr_op_abort(op, here, rc);
        return GR_OP_OVER == op->phase;
    }
    while (advance_phase(op, here, moved)) {
    }
    return GR_OP_OVER == op->phase || GR_OP_BUFFERS == op->phase;
}

/* ---- reports ---- */

/* What all ranks must have equal in the call: where calls do not match, ranks wait for each other. */
static void describe_call(const struct gr_op *op, char *text, size_t size)
{
    text[0] = '\0';
    if (gr_call_has_buffers(op->id)) {
        gr_text_add(text, size, "%zu bytes, ", op->data.bytes);
    }
    if (gr_calls[op->id].has_root) {
        gr_text_add(text, size, "root %d, ", op->root);
    }
}

void gr_op_explain(void *ctx, char *text, size_t size)
{
    struct gr_op *op = ctx;
    size_t used;

    describe_call(op, text, size);
    used = strlen(text);
    text += used;
    size -= used;
    switch (op->phase) {
    case GR_OP_NETWORK:
        gr_network_explain(op->probe, text, size);
        break;
    case GR_OP_RECORD_LINKS:
    case GR_OP_SETUP:
        gr_setup_explain(op->setup, text, size);
        break;
    case GR_OP_AGREEMENT:
        gr_agreement_explain(op, text, size);
        break;
    case GR_OP_RUNNING:
    case GR_OP_LEAVING:
        op->exec->explain(op, text, size);
        break;
    default:
        snprintf(text, size, "not begun");
    }
}
