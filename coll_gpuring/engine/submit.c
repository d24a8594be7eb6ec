/* SPDX-License-Identifier: BSD-3-Clause */
/* Submitting a call to its queue (phases.h). */
#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/params.h"
#include "comm/runtime.h"
#include "comm/watchdog.h"
#include "engine/call_agreement.h"
#include "engine/choose.h"
#include "engine/network_probe.h"
#include "engine/op_queue.h"
#include "engine/phases.h"
#include "exec/executor.h"
#include "exec/op.h"
#include "exec/setup.h"
#include "exec/step_timing.h"

#include "base/errors.h"
#include "link/fifo.h"
#include "link/public.h"
#include "link/team.h"
#include "sched/sched.h"

void gr_op_reset(struct gr_op *op, struct gr_comm *comm, struct gr_op_queue *queue)
{
    op->comm = comm;
    op->queue = queue;
    op->phase = GR_OP_QUEUED;
    op->exec = NULL;
    op->chosen_in_turn = false;
    op->has_buffers = false;
    op->fallback = GR_FALLBACK_SETUP;
    op->without_links = false;
    op->wait_us = 0;
    op->early.call = NULL;
    op->kept.planned = false;
    op->agreement.use = GR_AGREEMENT_NONE;
    op->agreed = (struct gr_op_agreed) {.fetches = !comm->gpu};
}

/* ---- choice ---- */

/* The init of a persistent request, which all ranks do together, measures at once. */
static int measure_now(struct gr_op_queue *queue, struct gr_op *op)
{
    struct gr_waiting waiting = {op->comm, gr_calls[op->id].name, op->seq, gr_network_explain,
                                 NULL,     queue->shown};
    struct gr_network_probe *probe = gr_network_new(queue, gr_setup_number(queue));
    int rc;

    if (NULL == probe) {
        return GR_ERR_NOMEM;
    }
    waiting.ctx = probe;
    rc = gr_poll_to_end(gr_network_poll, &waiting);
    if (0 == rc) { /* else messages may be in flight into the probe */
        gr_network_end(probe);
    }
    return rc;
}

/* Choose, or leave that to the op's turn. 0, or GR_ERR_... */
static int decide_now(struct gr_op_queue *queue, struct gr_op *op)
{
    if (!gr_network_is_open(&op->comm->network[queue->order])) {
        return gr_op_choose(op->comm, op);
    }
    if (gr_op_left(op->comm, op)) {
        return GR_ERR_FALLBACK;
    }
    op->chosen_in_turn = true;
    op->start = gr_stats_now();
    return 0;
}

int gr_op_decide(struct gr_op_queue *queue, struct gr_op *op, enum gr_agreement_use use,
                 bool device)
{
    struct gr_comm *comm = op->comm;
    int rc = 0;

    op->data.spec.torus = comm->torus;
    op->seq = gr_public_begin_call(queue->shown, op->id);
    if (op->persistent && gr_network_wanted(queue)) {
        rc = measure_now(queue, op);
        if (0 != rc) {
            return rc;
        }
    }
    if (comm->gpu && gr_call_has_buffers(op->id)) {
        gr_agreement_record(op, &comm->params, device);
        if (op->persistent) {
            rc = gr_agreement_exchange(op, queue);
        } else if (GR_AGREEMENT_ONLY == use || gr_needs_agreement(comm, op)) {
            return gr_agreement_prepare(op, use);
        } else if (0 == comm->params.value[GR_PARAM_HOST]) {
            op->fallback = GR_FALLBACK_SHORT;
            return GR_ERR_FALLBACK;
        }
    }
    return 0 == rc ? decide_now(queue, op) : rc;
}

/* ---- links ---- */

/*
 * State of the links that the op needs first. Links that it sets up in its turn count as there:
 * none are made at the call.
 */
static enum gr_links first_links(const struct gr_op_queue *queue, const struct gr_op *op)
{
    if (gr_op_has_agreement(op)) {
        return NULL != op->comm->remote ? GR_LINKS_THERE : gr_agreement_links(queue);
    }
    return gr_op_asks_in_turn(op) ? GR_LINKS_THERE : op->exec->links(op);
}

/*
 * Create the set-ups of those links that the op is the first to need. from: the queue whose calls
 * number them. queue: whose links they are. 0, or GR_ERR_...
 */
static int create_setups(struct gr_op_queue *from, struct gr_op_queue *queue, struct gr_op *op)
{
    struct gr_setup **next = &op->setup;
    enum gr_links links;
    uint32_t number;

    op->queue = queue;
    if (gr_network_wanted(from)) {
        op->probe = gr_network_new(from, gr_setup_number(from));
        if (NULL == op->probe) {
            return GR_ERR_NOMEM;
        }
    }
    links = first_links(queue, op);
    if (gr_op_asks_in_turn(op)) {
        op->setup_number[GR_SETUP_HOST] = gr_setup_number(from);
    }
    if (GR_LINKS_NONE == links) {
        number = gr_setup_number(from);
        op->setup = gr_op_has_agreement(op) ? gr_agreement_connect(queue, number)
                                            : op->exec->connect(op, number);
        if (NULL == op->setup) {
            return GR_ERR_NOMEM;
        }
        next = &op->next_setup;
    }
    /* on all ranks alike, also where some of them do not know the executor yet */
    if ((gr_op_has_agreement(op) || op->comm->measures_network || op->exec->runs_steps) &&
        gr_timing_asks(queue)) {
        *next = gr_setup_new(queue, GR_USE_NOTES, 0, 1, gr_setup_number(from));
        return NULL == *next ? GR_ERR_NOMEM : 0;
    }
    return 0;
}

int gr_op_set_up(struct gr_op_queue *queue, struct gr_op *op)
{
    return create_setups(queue, queue, op);
}

/* ---- persistent requests ---- */

/* Requests of all sizes share slabs of few sizes: a set with its head is a power of two. */
static size_t persistent_mailbox_bytes(size_t post_bytes)
{
    size_t set = GR_CACHE_LINE;

    while (set - GR_SET_HEAD < post_bytes) {
        set *= 2;
    }
    return set - GR_SET_HEAD;
}

/*
 * Make the links that the op's algorithm needs in its own queue; all ranks come here together. 0, or
 * GR_ERR_...
 */
static int set_up(struct gr_op_queue *queue, struct gr_op *op)
{
    struct gr_waiting waiting = {op->comm, gr_calls[op->id].name, op->seq, gr_setup_explain,
                                 NULL,     queue->shown};
    int rc = create_setups(op->comm->queues[GR_ORDER_BLOCKING], queue, op);

    while (0 == rc && NULL != op->setup) {
        waiting.ctx = op->setup;
        rc = gr_poll_to_end(gr_setup_poll, &waiting);
        if (0 == rc) {
            gr_setup_end(op->setup);
            op->setup = op->next_setup;
            op->next_setup = NULL;
        }
        /* messages may be in flight into the set-up: what it has stays with it */
        queue->lost = 0 != rc;
    }
    if (0 != rc) {
        return rc;
    }
    if (GR_LINKS_NONE == op->exec->links(op)) { /* now that the devices are known */
        rc = gr_op_choose(op->comm, op);
        return 0 == rc ? set_up(queue, op) : rc; /* NOLINT(misc-no-recursion): once */
    }
    return GR_LINKS_THERE == op->exec->links(op) ? 0 : GR_ERR_FALLBACK;
}

/*
 * With two sets a rank looks at each start whether the others have taken the last but one post, and
 * tells them so of theirs; with four at each second one, which small sets can afford.
 */
static uint32_t persistent_sets(size_t mailbox_bytes)
{
    return mailbox_bytes <= GR_LONG_POST ? 2 * GR_SETS_PERSISTENT : GR_SETS_PERSISTENT;
}

int gr_persistent_queue(struct gr_op *op, struct gr_op_queue **queue)
{
    struct gr_comm *comm = op->comm;
    size_t bytes = persistent_mailbox_bytes(op->data.post_bytes);
    int rc;

    *queue = gr_queue_new(comm, GR_PUBLIC_PERSISTENT, persistent_sets(bytes), bytes);
    if (NULL == *queue) {
        return GR_ERR_NOMEM;
    }
    (*queue)->persistent = true;
    rc = set_up(*queue, op);
    if (GR_ERR_FALLBACK == rc && op->agreed.kernels) {
        rc = gr_op_choose_host(comm, op);
        rc = 0 == rc ? set_up(*queue, op) : rc;
    }
    if (0 != rc && !(*queue)->lost) {
        gr_queue_free(*queue);
    }
    return rc;
}
