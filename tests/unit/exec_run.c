/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs cases on the ranks of exec_ranks.h. */
#include "exec_ranks.h"

#include "rng.h"
#include "timing/timer.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 600 };

/* ---- the gate ---- */

static int is_shut(struct ex_gate *g)
{
    return g->one_in > 0 && 0 == rng_below(g->random, g->one_in);
}

static int gate_ready(void *ctx, uint32_t channel, const struct gr_step *step)
{
    struct ex_gate *g = ctx;

    if (is_shut(g)) {
        return 0;
    }
    return gr_host_backend.ready(&g->op, channel, step);
}

static int gate_move(void *ctx, const struct gr_move *move)
{
    return gr_host_backend.move(&((struct ex_gate *) ctx)->op, move);
}

static void gate_commit(void *ctx, uint32_t channel, const struct gr_step *step)
{
    gr_host_backend.commit(&((struct ex_gate *) ctx)->op, channel, step);
}

static int gate_finished(void *ctx)
{
    return gr_host_backend.finished(&((struct ex_gate *) ctx)->op);
}

static void gate_answer(void *ctx)
{
    gr_host_backend.answer(&((struct ex_gate *) ctx)->op);
}

static const struct gr_backend gated_backend = {gate_ready, gate_move, gate_commit, gate_finished,
                                                gate_answer};

/* ---- the timer's gate ---- */

static const struct gr_gate timers_gate = {gr_timer_may_begin, gr_timer_begins, gr_timer_ended,
                                           gr_timer_finished};

static struct gr_sched sched_of(const void *ctx, int rank, uint32_t channel)
{
    const struct ex_rank *r = ctx;
    const struct gr_team *team = r->team;

    return gr_plan_sched(&r->spec, team->p, rank, &team->rings, channel, r->plan.split.nchunks);
}

static void timer_begin(struct ex_rank *r, const struct ex_case *c)
{
    struct gr_timing_job job = {.p = r->team->p,
                                .split = &r->plan.split,
                                .elem_bytes = r->spec.elem_bytes,
                                .slot_elems = r->plan.slot_elems,
                                .nslots = r->team->data.nslots,
                                .sched = sched_of,
                                .ctx = r};
    struct gr_timer_links links = {r->team->data.in, r->team->data.out, r->team->p};

    gr_timer_begin(&r->timer, &job, &links, 0, GR_COLL_ALLREDUCE == c->coll);
    gr_stepper_gate(&r->stepper, &timers_gate, &r->timer);
}

/* ---- one rank ---- */

/* What a case needs links for. */
static int use_of(const struct ex_world *w, const struct ex_case *c)
{
    return GR_ALGO_MAILBOX == c->algo ? gr_mailbox_use(c->coll, w->params.p) : c->algo;
}

static void stepper_begin(struct ex_rank *r, const struct ex_case *c)
{
    struct gr_host_op *op = &r->gate.op;

    r->spec = ex_spec(c);
    memset(op, 0, sizeof(*op));
    op->in = r->team->data.in;
    op->out = r->team->data.out;
    op->p = r->team->p;
    op->space[GR_IN] = r->buffers.in;
    op->space[GR_OUT] = r->buffers.out;
    op->space[GR_TMP] = r->buffers.tmp;
    op->reducer = ex_reducer(c);
    op->direct = c->direct;
    op->pids = c->direct ? r->team->pids : NULL;
    op->bounce = c->direct ? r->bounce : NULL;
    op->bounce_bytes = rng_below(&r->random, 4) > 0 ? GR_BOUNCE_BYTES : GR_BOUNCE_LEAST;
    op->offered = c->offered;
    gr_plan_build(&r->plan, r->team, &r->spec);
    r->plan.slot_elems = c->halved ? (r->plan.slot_elems + 1) / 2 : r->plan.slot_elems;
    gr_stepper_start(&r->stepper, &r->plan, &gated_backend, &r->gate);
    r->stepper.burst = (uint32_t) (rng_below(&r->random, 2) * rng_below(&r->random, 4));
    if (GR_SYNC_NONE != r->world->sync) {
        timer_begin(r, c);
    }
}

/* Whether calls through mailboxes take several. */
static int is_grouped(const struct ex_rank *r)
{
    return gr_is_grouped(r->team->p);
}

static void rank_begin(struct ex_rank *r)
{
    struct ex_world *w = r->world;
    const struct ex_case *c = &w->cases[r->at];

    ex_buffers_make(&r->buffers, c, w->params.p, r->rank);
    r->gate.random = &r->random;
    r->gate.one_in = w->one_in;
    r->running = 1;
    if (GR_ALGO_MAILBOX != c->algo) {
        stepper_begin(r, c);
        return;
    }
    r->mail.whole = ex_mail(c, &r->buffers);
    r->posted = 0;
    if (is_grouped(r)) {
        gr_grouped_prepare(&r->mail, r->team);
        gr_grouped_begin(&r->mail);
    } else {
        gr_mailbox_begin(&r->team->boards[GR_BOARDS_MAILBOX].box, &r->mail.whole);
    }
}

/* A poll of a call through mailboxes, with the results of gr_stepper_run(). */
static int mail_run(struct ex_rank *r)
{
    struct gr_mailbox *box = &r->team->boards[GR_BOARDS_MAILBOX].box;

    if (is_grouped(r)) {
        return !is_shut(&r->gate) && gr_grouped_poll(&r->mail, &r->slots) ? GR_DONE : GR_AGAIN;
    }
    if (!r->posted && !is_shut(&r->gate) && gr_mailbox_post(box, &r->mail.whole)) {
        r->posted = 1;
        r->slots++;
    }
    if (!r->posted || is_shut(&r->gate)) {
        return GR_AGAIN;
    }
    return gr_mailbox_take(box, &r->mail.whole, &r->slots) ? GR_DONE : GR_AGAIN;
}

static int rank_through(const struct ex_rank *r)
{
    return r->at == r->world->ncases;
}

/* Whether the stepper has moved more than it was allowed to. */
static int too_much(const struct ex_rank *r, uint64_t before)
{
    return GR_ALGO_MAILBOX != r->world->cases[r->at].algo && r->stepper.burst > 0 &&
           r->slots - before > (uint64_t) r->stepper.burst * r->stepper.nchannels;
}

/* Run the rank's stepper until it leaves. 1: something moved, 0: nothing did, -1: r->why. */
static int rank_poll(struct ex_rank *r)
{
    struct ex_world *w = r->world;
    uint64_t before = r->slots;
    int rc;

    if (!r->running) {
        rank_begin(r);
    }
    rc = GR_ALGO_MAILBOX == w->cases[r->at].algo ? mail_run(r)
                                                 : gr_stepper_run(&r->stepper, &r->slots);
    if (too_much(r, before)) {
        rc = -1;
    }
    if (GR_AGAIN == rc) {
        r->idle = before == r->slots ? r->idle + 1 : 0;
        return before != r->slots;
    }
    r->idle = 0;
    r->running = 0;
    if (GR_DONE != rc) {
        snprintf(r->why, sizeof(r->why), "the stepper returned %d", rc);
    } else {
        r->hash = ex_buffers_hash(&r->buffers, r->hash);
        (void) ex_buffers_check(&r->buffers, &w->cases[r->at], w->params.p, r->rank, w->want[r->at],
                                r->why, sizeof(r->why));
    }
    ex_buffers_free(&r->buffers);
    if ('\0' != r->why[0]) {
        return -1;
    }
    r->at++;
    return 1;
}

/* Append the ranks that are waited for to the reason, of which `at` characters are there. */
static int explain_ranks(struct ex_rank *r, int at, const int *ranks, int n)
{
    int k;

    for (k = 0; k < n && at < (int) sizeof(r->why) - 20; k++) {
        at += snprintf(r->why + at, sizeof(r->why) - (size_t) at, " %d", ranks[k]);
    }
    return at;
}

static void explain_wait(struct ex_rank *r)
{
    int ranks[EX_MAX_RANKS], n, at = 0;
    uint32_t c;

    if (GR_SYNC_NONE != r->world->sync) {
        gr_timer_explain(&r->timer, r->why, sizeof(r->why));
        at = (int) strlen(r->why);
    }
    if (GR_ALGO_MAILBOX == r->world->cases[r->at].algo) {
        const struct gr_boards *boards = &r->team->boards[GR_BOARDS_MAILBOX];

        at = snprintf(r->why, sizeof(r->why), r->posted ? "waits for posts:" : "waits to post:");
        if (is_grouped(r)) {
            boards = gr_grouped_at(&r->mail);
            at = snprintf(r->why, sizeof(r->why),
                          "waits in step %d, mailbox %d, for members:", r->mail.step, r->mail.at);
        }
        n = gr_mailbox_waits_for(&boards->box, is_grouped(r) ? &r->mail.now : &r->mail.whole,
                                 ranks);
        explain_ranks(r, at, ranks, n);
        return;
    }
    for (c = 0; c < r->stepper.nchannels && at < (int) sizeof(r->why) - 80; c++) {
        const struct gr_step *step = gr_stepper_waits(&r->stepper, c);

        n = gr_host_waits_for(&r->gate.op, c, step, ranks);
        if (NULL != step || n > 0) {
            at += snprintf(r->why + at, sizeof(r->why) - (size_t) at,
                           "waits, channel %u tick %d %s:", (unsigned) c,
                           NULL == step ? -1 : (int) step->tick,
                           NULL == step ? "end" : gr_step_name(step));
            at = explain_ranks(r, at, ranks, n);
        }
    }
}

/* ---- all ranks ---- */

static void run_stepped(struct ex_world *w)
{
    uint64_t random = w->seed, idle = 0;
    size_t polls = 0;
    int left = 0 == w->ncases ? 0 : w->params.p, r;

    while (left > 0 && (0 == w->polls || polls < w->polls)) {
        struct ex_rank *rank = &w->ranks[rng_below(&random, w->params.p)];

        if (rank_through(rank)) {
            continue;
        }
        polls++;
        r = rank_poll(rank);
        left -= rank_through(rank);
        idle = 0 == r ? idle + 1 : 0;
        if (r < 0) {
            return;
        }
        /* beyond any run of the coins, and of round trips: one for each 400 bytes that are refused */
        if (idle > (GR_SYNC_NONE == w->sync ? 100000 : 400000) * (uint64_t) w->params.p) {
            for (r = 0; r < w->params.p; r++) {
                if (w->ranks[r].running) {
                    explain_wait(&w->ranks[r]);
                }
            }
            return;
        }
    }
}

/* Now and then sleep, so that the others get ahead. */
static void dawdle(struct ex_rank *r)
{
    uint64_t x = rng_below(&r->random, 2048);

    if (x < 2) {
        usleep(50 * (unsigned) x + 1);
    } else if (x < 64) {
        sched_yield();
    }
}

static void *rank_thread(void *arg)
{
    struct ex_rank *r = arg;
    struct ex_world *w = r->world;
    time_t end = time(NULL) + PATIENCE_S;
    size_t k;
    int rc = 0;

    for (k = 0; k < w->ncases && 0 == rc; k++) {
        int use = use_of(w, &w->cases[k]);

        if (GR_LINKS_THERE !=
            gr_team_links(r->team, use, w->cases[k].root, w->cases[k].nchannels)) {
            ex_link_rank(r, use, w->cases[k].root);
            rc = w->agreed.host.status;
        }
    }
    while (0 == rc && !rank_through(r) && !atomic_load_explicit(&w->stop, memory_order_relaxed)) {
        int moved = rank_poll(r);

        if (moved < 0) {
            break;
        }
        if (0 == moved) {
            sched_yield();
        }
        dawdle(r);
        if (1023 == r->idle % 1024 && time(NULL) > end) {
            explain_wait(r);
            break;
        }
    }
    if ('\0' != r->why[0]) {
        atomic_store(&w->stop, 1);
    }
    return NULL;
}

static void run_threads(struct ex_world *w)
{
    pthread_t threads[EX_MAX_RANKS];
    int r;

    for (r = 0; r < w->params.p; r++) {
        if (0 != pthread_create(&threads[r], NULL, rank_thread, &w->ranks[r])) {
            abort();
        }
    }
    for (r = 0; r < w->params.p; r++) {
        pthread_join(threads[r], NULL);
    }
}

static int link_all(struct ex_world *w)
{
    size_t k;

    for (k = 0; k < w->ncases && 0 == w->agreed.host.status; k++) {
        int use = use_of(w, &w->cases[k]);

        if (GR_LINKS_THERE !=
            gr_team_links(w->ranks[0].team, use, w->cases[k].root, w->cases[k].nchannels)) {
            ex_link(w, use, w->cases[k].root);
        }
    }
    return w->agreed.host.status;
}

/* Collect what went wrong, first of all of those who did not only wait. */
static int report(struct ex_world *w, enum ex_mode mode)
{
    char text[200];
    int r, at = 0;

    if (0 != w->agreed.host.status) {
        snprintf(w->why, sizeof(w->why), "set-up: %d", (int) w->agreed.host.status);
        return -1;
    }
    for (r = 0; r < w->params.p && at < (int) sizeof(w->why) - 400; r++) {
        struct ex_rank *rank = &w->ranks[r];

        if ('\0' != rank->why[0]) {
            at += snprintf(
                w->why + at, sizeof(w->why) - (size_t) at, "%s seed %llu, %s: rank %d %s\n",
                EX_STEPPED == mode ? "stepped" : "threads", (unsigned long long) w->seed,
                ex_describe(&w->cases[rank->at], w->params.p, text, sizeof(text)), r, rank->why);
        }
    }
    return at > 0 ? -1 : 0;
}

int ex_run(struct ex_world *w, const struct ex_case *cases, size_t n, enum ex_mode mode)
{
    size_t k;
    int r, rc;

    w->cases = cases;
    w->ncases = n;
    w->agreed.host.status = 0;
    atomic_store(&w->stop, 0);
    w->want = calloc(n, sizeof(*w->want));
    if (NULL == w->want) {
        abort();
    }
    for (k = 0; k < n; k++) {
        w->want[k] = ex_want(&cases[k], w->params.p);
    }
    for (r = 0; r < w->params.p; r++) {
        w->ranks[r].at = 0;
        w->ranks[r].idle = 0;
        w->ranks[r].random = w->seed + 1000003 * (uint64_t) (r + 1);
    }
    if (EX_THREADS == mode) {
        run_threads(w);
    } else if (0 == link_all(w)) {
        run_stepped(w);
    }
    rc = report(w, mode);
    for (r = 0; r < w->params.p; r++) {
        ex_buffers_free(&w->ranks[r].buffers); /* of those that were stopped */
        w->ranks[r].running = 0;
    }
    for (k = 0; k < n; k++) {
        free(w->want[k]);
    }
    free(w->want);
    return rc;
}
