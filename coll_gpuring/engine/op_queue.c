/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues: which ops of a communicator or persistent request can go on, and when.
 *
 * Queues with ops that nobody waits for in a blocking call are in a list, which
 * gr_runtime_progress() drives. Its lock is held only to step through it, never while a queue is
 * driven. A queue is taken out of the list, and freed, only by who has it (busy), so the one that
 * is being driven stays where it is. Locks are taken in the order busy, list, order_lock.
 */
#include "engine/op_queue.h"

#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/failure.h"
#include "comm/net_links.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "comm/watchdog.h"
#include "engine/phases.h"
#include "exec/grouped.h"
#include "exec/mailbox.h"
#include "exec/op.h"
#include "exec/step_timing.h"

#include "exec/gpu/team.h"
#include "link/team.h"

#include <stdatomic.h>
#include <stdlib.h>

/*
 * Polls without progress between two checks (gr_watch_vain()), of a queue that
 * gr_runtime_progress() drives.
 */
#define POLLS_PER_CHECK 64

/* ---- the queue ---- */

/* The board that the op posts to early. */
static struct gr_mailbox *early_box(struct gr_op_queue *queue, const struct gr_op *op)
{
    return &gr_team_boards(queue->team, op->early.use)->box;
}

/*
 * Try to post an early message. False: it has to be tried again. Nothing is posted on a
 * communicator that has failed: an earlier op may have ended without its post.
 */
static bool try_post(struct gr_op_queue *queue, const struct gr_op *op)
{
    return 0 == queue->comm->failed &&
           GR_LINKS_THERE == gr_team_links(queue->team, op->early.use, 0, 1) &&
           gr_mailbox_post(early_box(queue, op), op->early.call);
}

/* With order_lock. */
static void append_locked(struct gr_op_queue *queue, struct gr_op *op)
{
    op->next = NULL;
    op->queue = queue;
    op->awaited.word = NULL;
    op->rc = 0;
    *queue->tail = op;
    queue->tail = &op->next;
    if (NULL != op->early.call && NULL == queue->unposted) {
        queue->unposted = op;
    }
}

static void append(struct gr_op_queue *queue, struct gr_op *op)
{
    op->phase = GR_OP_QUEUED;
    gr_lock(&queue->order_lock);
    if (NULL != op->early.call) {
        gr_mailbox_begin(early_box(queue, op), op->early.call);
    }
    append_locked(queue, op);
    gr_unlock(&queue->order_lock);
}

static struct gr_op *first_of(struct gr_op_queue *queue)
{
    struct gr_op *op;

    gr_lock(&queue->order_lock);
    op = queue->head;
    gr_unlock(&queue->order_lock);
    return op;
}

static void remove_first(struct gr_op_queue *queue)
{
    struct gr_op *op = queue->head;

    gr_lock(&queue->order_lock);
    queue->head = op->next;
    if (NULL == queue->head) {
        queue->tail = &queue->head;
    }
    if (queue->unposted == op) {
        queue->unposted = op->next;
    }
    gr_unlock(&queue->order_lock);
}

/* ---- one queue; the caller has it ---- */

/*
 * Post early messages in call order, as far as there is room on the boards, also those of ops that
 * are not the first: many small calls share one exchange.
 */
static void post_early(struct gr_op_queue *queue)
{
    struct gr_op *op;

    gr_lock(&queue->order_lock);
    for (op = queue->unposted; NULL != op; op = op->next) {
        if (NULL != op->early.call && !try_post(queue, op)) {
            break;
        }
    }
    queue->unposted = op;
    gr_unlock(&queue->order_lock);
}

struct gr_op *gr_queue_drive(struct gr_op_queue *queue, bool here)
{
    struct gr_op *op = queue->finished;

    if (here && NULL != op) {
        queue->finished = op->next;
        return op;
    }
    gr_net_check(queue);
    post_early(queue);
    op = first_of(queue);
    if (NULL != op && gr_op_advance(op, here, &queue->watch.moved)) {
        queue->watch.moved++;
        if (GR_OP_OVER == op->phase) {
            remove_first(queue);
        }
        return op;
    }
    if (here) {
        gr_failure_tell(queue->comm);
    }
    return NULL;
}

void gr_queue_keep(struct gr_op *op)
{
    op->next = op->queue->finished;
    op->queue->finished = op;
}

/*
 * Whether driving the queue would change nothing, and no check is due: then a look at it is all that
 * progress has to do. Where an application calls MPI_Test or MPI_Iprobe in a loop, that is so nearly
 * always. The caller has the queue and order_lock, or the process has one thread.
 */
static inline bool is_quiet(const struct gr_op_queue *queue)
{
    const struct gr_op *op = queue->head;
    bool is_due = queue->watch.idle + 1 - queue->watch.checked >=
                  gr_watch_polls(&queue->watch, POLLS_PER_CHECK);

    return !is_due && NULL != op && NULL == queue->unposted && GR_OP_RUNNING == op->phase &&
           NULL == queue->finished && 0 == queue->comm->failed && NULL != op->awaited.word &&
           op->awaited.value != atomic_load_explicit(op->awaited.word, memory_order_relaxed);
}

/* Look at a queue that the caller has, and count the look as a poll if the queue is quiet. */
static bool look(struct gr_op_queue *queue, bool here)
{
    bool quiet;

    gr_lock(&queue->order_lock);
    quiet = is_quiet(queue);
    gr_unlock(&queue->order_lock);
    queue->watch.idle += quiet && here;
    return quiet;
}

/* Nothing moved: is it time to say so? */
static void check(struct gr_op_queue *queue, unsigned each)
{
    struct gr_op *op = first_of(queue);
    struct gr_waiting waiting = {queue->comm, NULL, 0, gr_op_explain, op, queue->shown};

    if (NULL != op) {
        waiting.what = gr_calls[op->id].name;
        waiting.seq = op->seq;
        /* the op's next advance sees it */
        (void) gr_watch_vain(&queue->watch, each, &waiting);
    }
}

/* ---- the list ---- */

/* After append(): a queue with ops leaves the list only when they are done. */
static void enlist(struct gr_op_queue *queue)
{
    struct gr_queue_list *list = &queue->comm->process->queues;

    gr_lock(&list->lock);
    if (NULL == queue->link) {
        queue->next = list->first;
        queue->link = &list->first;
        if (NULL != queue->next) {
            queue->next->link = &queue->next;
        }
        list->first = queue;
        atomic_fetch_add_explicit(&list->queues, 1, memory_order_relaxed);
    }
    gr_unlock(&list->lock);
}

/* Caller has the queue and the list. */
static void delist(struct gr_op_queue *queue)
{
    if (NULL != queue->link) {
        *queue->link = queue->next;
        if (NULL != queue->next) {
            queue->next->link = queue->link;
        }
        queue->link = NULL;
        atomic_fetch_sub_explicit(&queue->comm->process->queues.queues, 1, memory_order_relaxed);
    }
}

void gr_queues_begin(struct gr_queue_walk *walk, struct gr_process *process, bool here)
{
    *walk = (struct gr_queue_walk) {.list = &process->queues, .here = here};
    gr_process_net_progress(here);
}

/* From `queue` on, the first of the list that somebody has to drive: the caller has it then. */
static struct gr_op_queue *first_to_drive(const struct gr_queue_walk *walk,
                                          struct gr_op_queue *queue)
{
    for (; NULL != queue; queue = queue->next) {
        if (gr_try(&queue->busy)) {
            if (queue == walk->awake || !look(queue, walk->here)) {
                break;
            }
            gr_unlock(&queue->busy);
        }
    }
    return queue;
}

struct gr_op_queue *gr_queues_next(struct gr_queue_walk *walk)
{
    struct gr_op_queue *last = walk->queue, *next;

    if (NULL != last) {
        walk->moved += last->watch.moved - walk->before;
        if (walk->here && gr_watch_idle(&last->watch)) {
            check(last, POLLS_PER_CHECK);
        }
    }
    gr_lock(&walk->list->lock);
    next = walk->list->first;
    if (NULL != last) {
        next = last->next;
        if (NULL == first_of(last) && NULL == last->finished) {
            delist(last);
        }
        gr_unlock(&last->busy);
    }
    next = first_to_drive(walk, next);
    gr_unlock(&walk->list->lock);
    walk->before = NULL != next ? next->watch.moved : 0;
    walk->queue = next;
    return next;
}

/*
 * In a process of one thread: the first queue of the list that is neither quiet nor busy; a function
 * below on the stack drives those that are busy. It takes no locks, which are half of the time of a
 * look. Before a queue that is awake, first_to_drive() counts the look once more: a check comes
 * early.
 */
static const struct gr_op_queue *first_awake(struct gr_queue_list *list)
{
    struct gr_op_queue *queue;

    for (queue = list->first; NULL != queue; queue = queue->next) {
        if (0 == atomic_load_explicit(&queue->busy, memory_order_relaxed)) {
            if (!is_quiet(queue)) {
                break;
            }
            queue->watch.idle++;
        }
    }
    return queue;
}

bool gr_queues_begin_progress(struct gr_queue_walk *walk, struct gr_process *process)
{
    const struct gr_op_queue *awake = NULL;
    bool pending = gr_process_has_queues(process);

    if (pending && !gr_threaded()) {
        awake = first_awake(&process->queues);
        pending = NULL != awake;
    }
    /* mostly there is nothing to do: that comes first */
    if ((!pending && !atomic_load_explicit(&process->failures.listens, memory_order_relaxed)) ||
        gr_runtime_in_transport()) {
        return false;
    }
    gr_failure_listen(process);
    if (pending) {
        gr_queues_begin(walk, process, true);
        walk->awake = awake;
    }
    return pending;
}

void gr_queue_free(struct gr_op_queue *queue)
{
    struct gr_process *process;
    int k;

    if (NULL == queue) {
        return;
    }
    process = queue->comm->process;
    gr_lock(&queue->busy); /* who completed the last request may not have left yet */
    gr_lock(&process->queues.lock);
    delist(queue);
    gr_unlock(&process->queues.lock);
    gr_timing_free(queue);
    gr_net_leave(queue);
    gr_gpu_team_destroy(queue->gpu, NULL != process->pool);
    gr_team_destroy(queue->team, process->pool);
    gr_public_give(process->page, queue->shown);
    for (k = 0; k < GR_NCHOSEN; k++) {
        free(queue->last[k]);
    }
    free(queue);
}

/* ---- calls ---- */

void gr_queue_append(struct gr_op *op)
{
    struct gr_op_queue *queue = op->queue;

    append(queue, op);
    enlist(queue);
    if (gr_try(&queue->busy)) {
        post_early(queue);
        gr_unlock(&queue->busy);
    }
}

int gr_queue_try_mail(struct gr_op_queue *queue, struct gr_grouped_call *run)
{
    int rc = GR_NO_MAIL;

    if (0 == queue->comm->failed && gr_try(&queue->busy)) {
        if (NULL == queue->head) {
            rc = gr_grouped_run(run);
        }
        gr_unlock(&queue->busy);
    }
    return rc;
}

void gr_queue_go_on(struct gr_op *op)
{
    struct gr_op_queue *queue = op->queue;

    op->phase = GR_OP_RUNNING;
    gr_lock(&queue->order_lock);
    append_locked(queue, op);
    if (NULL != op->early.call && gr_mailbox_is_posted(early_box(queue, op), op->early.call)) {
        queue->unposted = NULL;
    }
    gr_unlock(&queue->order_lock);
    enlist(queue);
}

/* Whether a small call waits for ranks of this node only. */
static bool waits_near(struct gr_op *op)
{
    return GR_OP_RUNNING == op->phase && op->choice.small && NULL != op->exec->waits_near &&
           op->exec->waits_near(op);
}

/* After a poll of the op: send, then receive, unless the op is done. */
static void poll_network(const struct gr_op_queue *queue, struct gr_op *op)
{
    /*
     * Also after the op's last step, since it sends credits for what was read. Sending may have
     * completed the op.
     */
    if (!gr_process_net_send() && NULL != queue->held && GR_OP_DONE != op->phase) {
        gr_queue_net_receive(queue, waits_near(op));
    }
}

void gr_queue_enter(struct gr_op *op)
{
    gr_lock(&op->queue->busy);
    append(op->queue, op);
}

struct gr_op *gr_queue_wait(struct gr_op *op)
{
    struct gr_op_queue *queue = op->queue;
    struct gr_op *served;
    unsigned polls, k;
    bool done = false;

    for (;;) {
        /* a probe's times are those of messages, which only progress sees */
        polls = NULL != op->probe ? 1 : gr_net_polls_per_progress(queue, gr_polls_per_progress());
        for (k = 0; k < polls && !done; k++) {
            served = gr_queue_drive(queue, true);
            if (NULL != served) {
                return served;
            }
            done = GR_OP_DONE == op->phase;
            poll_network(queue, op);
            k = gr_watch_idle(&queue->watch) ? k : 0;
        }
        if (!done) {
            check(queue, GR_POLLS_PER_CHECK_BLOCKING);
        }
        gr_unlock(&queue->busy);
        if (done) {
            return NULL;
        }
        gr_net_run_progress(queue);
        gr_lock(&queue->busy);
        done = GR_OP_DONE == op->phase;
    }
}
