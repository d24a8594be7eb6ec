/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: who drives the ops of a communicator or persistent request, and when.
 *
 * Lanes with ops that nobody waits for in a blocking call are in a list, which opal_progress drives. Its lock
 * is held only to step through it, never while a lane is driven. A lane is taken out of the list, and freed,
 * only by who has it (busy), so the one that is being driven stays where it is. Locks are taken in the order
 * busy, list, gate.
 */
#include "engine/op_queue.h"

#include "engine/collectives.h"
#include "engine/diagnose.h"
#include "engine/failure_messages.h"
#include "engine/net_links.h"
#include "engine/op.h"
#include "engine/op_end.h"
#include "engine/process.h"
#include "engine/runtime.h"
#include "engine/step_timing.h"
#include "engine/watchdog.h"
#include "mpi/net_pml.h"

#include "exec/gpu/team.h"
#include "exec/mail.h"
#include "link/team.h"
#include "sched/sched.h"

#include <stdlib.h>

/* Looks without progress between two looks at the clock, of calls that opal_progress drives. */
#define LOOKS_CLOCK 64

static struct {
    gr_lock_t lock;
    struct gr_lane *first;
    atomic_int lanes;
    gr_lock_t opening;
    atomic_bool registered; /* with opal_progress */
} list;

/* ---- the queue ---- */

/* What an op posts as soon as there is room, whatever is before it: its line, or all that it has to say. */
static bool posts_ahead(const struct gr_op *op)
{
    return op->arrives ? NULL == op->lane->team->remote : !op->device && GR_WAY_MAILBOX == op->choice.way;
}

static struct gr_mail *first_mail(struct gr_op *op)
{
    return op->arrives ? &op->arrival : &op->mail;
}

static int first_way(const struct gr_op *op)
{
    return op->arrives ? GR_WAY_ARRIVALS : GR_WAY_MAILBOX;
}

static struct gr_mailbox *first_box(struct gr_lane *lane, const struct gr_op *op)
{
    return &gr_team_boards(lane->team, first_way(op))->box;
}

static void append(struct gr_lane *lane, struct gr_op *op)
{
    op->next = NULL;
    op->state = GR_OP_QUEUED;
    op->lane = lane;
    op->rc = OMPI_SUCCESS;
    gr_lock(&lane->gate);
    *lane->tail = op;
    lane->tail = &op->next;
    if (posts_ahead(op)) {
        gr_mail_begin(first_box(lane, op), first_mail(op));
        if (NULL == lane->unposted) {
            lane->unposted = op;
        }
    }
    gr_unlock(&lane->gate);
}

static struct gr_op *first_of(struct gr_lane *lane)
{
    struct gr_op *op;

    gr_lock(&lane->gate);
    op = lane->head;
    gr_unlock(&lane->gate);
    return op;
}

static void remove_first(struct gr_lane *lane)
{
    struct gr_op *op = lane->head;

    gr_lock(&lane->gate);
    lane->head = op->next;
    if (NULL == lane->head) {
        lane->tail = &lane->head;
    }
    if (lane->unposted == op) {
        lane->unposted = op->next;
    }
    gr_unlock(&lane->gate);
}

/* ---- one lane; the caller has it ---- */

/* Mailbox calls post as early as there is room, whatever is before them: many small ones share one exchange. */
static void post_ahead(struct gr_lane *lane)
{
    struct gr_op *op;

    gr_lock(&lane->gate);
    for (op = lane->unposted; NULL != op; op = op->next) {
        if (posts_ahead(op) &&
            (GR_LINKS_THERE != gr_team_links(lane->team, first_way(op), 0) ||
             !gr_mail_post(first_box(lane, op), first_mail(op)))) {
            break;
        }
    }
    lane->unposted = op;
    gr_unlock(&lane->gate);
}

/* The op is over and out of the queue. What it belongs to may be gone when this returns. */
static void finish(struct gr_lane *lane, struct gr_op *op, bool here)
{
    ompi_request_t *request = op->request;

    if (NULL == request) {
        return;
    }
    if (!here) {
        op->next = lane->finished;
        lane->finished = op;
        return;
    }
    /* a code of Open MPI's own is negative */
    request->req_status.MPI_ERROR = 0 > op->rc ? MPI_ERR_OTHER : op->rc;
    ompi_request_complete(request, true);
}

/* Go on with the lane's ops as far as possible. */
static void drive(struct gr_lane *lane, bool here)
{
    struct gr_op *op;

    while (here && NULL != lane->finished) {
        op = lane->finished;
        lane->finished = op->next;
        finish(lane, op, true);
    }
    for (;;) {
        mca_coll_gpuring_net_check(lane);
        post_ahead(lane);
        op = first_of(lane);
        if (NULL == op || !mca_coll_gpuring_op_advance(op, here, &lane->watch.moved)) {
            break;
        }
        lane->watch.moved++;
        remove_first(lane);
        finish(lane, op, here);
    }
    if (here) {
        mca_coll_gpuring_failure_tell(lane->module);
    }
}

static bool is_idle(struct gr_lane *lane)
{
    return NULL == first_of(lane) && NULL == lane->finished;
}

/* Nothing moved: is it time to say so? */
static void look(struct gr_lane *lane, unsigned each)
{
    struct gr_op *op = first_of(lane);
    struct gr_waiting waiting = {lane->module, NULL, 0, mca_coll_gpuring_op_explain, op};

    if (NULL != op) {
        waiting.what = gr_calls[op->call.id].name;
        waiting.seq = op->seq;
        (void) mca_coll_gpuring_watch_vain(&lane->watch, each, &waiting); /* the op's next advance sees it */
    }
}

/* ---- the list ---- */

/* After append(): a lane with ops leaves the list only when they are done. */
static void enlist(struct gr_lane *lane)
{
    gr_lock(&list.lock);
    if (NULL == lane->link) {
        lane->next = list.first;
        lane->link = &list.first;
        if (NULL != lane->next) {
            lane->next->link = &lane->next;
        }
        list.first = lane;
        atomic_fetch_add_explicit(&list.lanes, 1, memory_order_relaxed);
    }
    gr_unlock(&list.lock);
}

/* Caller has the lane and the list. */
static void delist(struct gr_lane *lane)
{
    if (NULL != lane->link) {
        *lane->link = lane->next;
        if (NULL != lane->next) {
            lane->next->link = lane->link;
        }
        lane->link = NULL;
        atomic_fetch_sub_explicit(&list.lanes, 1, memory_order_relaxed);
    }
}

uint64_t mca_coll_gpuring_lanes_drive(bool here)
{
    struct gr_lane *lane, *next;
    uint64_t moved = 0, before;

    mca_coll_gpuring_net_progress(here);
    gr_lock(&list.lock);
    for (lane = list.first; NULL != lane; lane = next) {
        if (!gr_try(&lane->busy)) {
            next = lane->next;
            continue;
        }
        gr_unlock(&list.lock);
        before = lane->watch.moved;
        drive(lane, here);
        moved += lane->watch.moved - before;
        if (here && mca_coll_gpuring_watch_idle(&lane->watch)) {
            look(lane, LOOKS_CLOCK);
        }
        gr_lock(&list.lock);
        next = lane->next;
        if (is_idle(lane)) {
            delist(lane);
        }
        gr_unlock(&lane->busy);
    }
    gr_unlock(&list.lock);
    return moved;
}

bool mca_coll_gpuring_lanes_any(void)
{
    return 0 != atomic_load_explicit(&list.lanes, memory_order_relaxed);
}

/* opal_progress calls it. */
static int progress(void)
{
    if (mca_coll_gpuring_pml_inside()) {
        return 0;
    }
    mca_coll_gpuring_failure_listen();
    return mca_coll_gpuring_lanes_any() ? (int) mca_coll_gpuring_lanes_drive(true) : 0;
}

int mca_coll_gpuring_lanes_open(void)
{
    int rc = OMPI_SUCCESS;

    if (!list.registered) {
        gr_lock(&list.opening);
        rc = list.registered ? OMPI_SUCCESS : opal_progress_register(progress);
        list.registered = OMPI_SUCCESS == rc;
        gr_unlock(&list.opening);
    }
    return rc;
}

void mca_coll_gpuring_lanes_close(void)
{
    if (list.registered) {
        (void) opal_progress_unregister(progress);
        list.registered = false;
    }
}

void mca_coll_gpuring_lane_free(struct gr_lane *lane)
{
    if (NULL == lane) {
        return;
    }
    gr_lock(&lane->busy); /* who completed the last request may not have left yet */
    gr_lock(&list.lock);
    delist(lane);
    gr_unlock(&list.lock);
    mca_coll_gpuring_timing_free(lane);
    mca_coll_gpuring_net_leave(lane);
    gr_gpu_team_destroy(lane->gpu, NULL != gr_process.pool);
    gr_team_destroy(lane->team, gr_process.pool);
    mca_coll_gpuring_op_free(&lane->own);
    free(lane);
}

/* ---- calls ---- */

void mca_coll_gpuring_lane_start(struct gr_op *const *ops, size_t n)
{
    struct gr_lane *lane;
    size_t k;

    /* first all posts: then each waits for answers that are on their way already */
    for (k = 0; k < n; k++) {
        lane = ops[k]->lane;
        append(lane, ops[k]);
        enlist(lane);
        if (gr_try(&lane->busy)) {
            post_ahead(lane);
            gr_unlock(&lane->busy);
        }
    }
    for (k = 0; k < n; k++) {
        /* it may be complete by now, but not freed: whoever started it has not got it back */
        lane = ops[k]->lane;
        if (!mca_coll_gpuring_pml_inside() && gr_try(&lane->busy)) {
            drive(lane, true);
            gr_unlock(&lane->busy);
        }
    }
    /* their first messages leave now, not when the caller waits for them */
    if (!mca_coll_gpuring_pml_inside()) {
        (void) mca_coll_gpuring_net_send();
    }
}

/*
 * The short way of a small blocking call when nothing is before it: post, and look for the others' posts for a
 * while. True when it is over; false when it is in the queue, for the long way. The caller has the lane, and nobody
 * else puts ops into it: blocking calls come one at a time, and all others have lanes of their own.
 */
static bool do_at_once(struct gr_lane *lane, struct gr_op *op)
{
    struct gr_mailbox *box = &lane->team->mail.box;
    unsigned k;

    append(lane, op);
    if (op->arrives || op->device || GR_WAY_MAILBOX != op->choice.way || lane->unposted != op || first_of(lane) != op ||
        GR_LINKS_THERE != gr_team_links(lane->team, GR_WAY_MAILBOX, 0) || !gr_mail_post(box, &op->mail)) {
        return false;
    }
    lane->unposted = NULL;
    op->state = GR_OP_RUNNING;
    for (k = mca_coll_gpuring_spins(); k > 0; k--) {
        if (gr_mail_take(box, &op->mail, &lane->watch.moved)) {
            remove_first(lane);
            mca_coll_gpuring_op_end(op);
            return true;
        }
    }
    return false;
}

int mca_coll_gpuring_lane_do(struct gr_lane *lane, struct gr_op *op)
{
    unsigned spins, k;
    bool over;

    gr_lock(&lane->busy);
    over = do_at_once(lane, op);
    for (;;) {
        spins = mca_coll_gpuring_net_looks(lane, mca_coll_gpuring_spins());
        for (k = 0; k < spins && !over; k++) {
            drive(lane, true);
            over = GR_OP_DONE == op->state;
            mca_coll_gpuring_net_look(lane, op, k);
            k = mca_coll_gpuring_watch_idle(&lane->watch) ? k : 0;
        }
        if (!over) {
            look(lane, GR_LOOKS_BLOCKING);
        }
        gr_unlock(&lane->busy);
        if (over) {
            return op->rc;
        }
        opal_progress();
        gr_lock(&lane->busy);
        over = GR_OP_DONE == op->state;
    }
}
