/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the course of a program on a rank: steps in order, and between them what the rank draws for itself. */
#include "run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comms.h"
#include "pending.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"
#include "task.h"

struct run {
    const struct program *p;
    struct comm comms[MAX_COMMS];
    struct task *tasks[MAX_STEPS]; /* persistent ones, until they are freed */
    struct pending pending;
    struct whereabouts *w;
    uint64_t rng; /* this rank's, for the step that it is at */
    int step;
    int repeat;
    long calls;
};

enum plant run_plant = PLANT_NONE;

static void fail(const struct run *r, int step, const char *what)
{
    char text[400];

    printf("FAILED seed %llu thread %d rank %d: %s: step %s\n", (unsigned long long) r->p->seed, r->p->thread, test_rank,
           what, step_text(r->p, step, text, sizeof text));
    fflush(stdout);
    quick_sleep(200000); /* the line is on its way */
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* An MPI call of this step returned so. */
static void must(const struct run *r, int step, int rc)
{
    char error[MPI_MAX_ERROR_STRING], text[MPI_MAX_ERROR_STRING + 40];
    int length;

    if (MPI_SUCCESS != rc) {
        MPI_Error_string(rc, error, &length);
        snprintf(text, sizeof text, "error %d (%s)", rc, error);
        fail(r, step, text);
    }
}

static void wait_failed(void *program, int rc, const char *call)
{
    const struct run *r = program;

    printf("in %s:\n", call);
    must(r, r->step, rc);
}

static void at(struct run *r, int step, const char *doing)
{
    r->w->step = step;
    r->w->doing = doing;
}

/* ---- tasks ---- */

static void drop(struct run *r, struct task *t)
{
    if (r->tasks[t->number] == t) {
        r->tasks[t->number] = NULL;
    }
    task_free(t);
}

static void finish(struct run *r, struct task *t)
{
    const char *wrong;

    if (PLANT_WRONG == run_plant && t->recv.n > 0 && t->recv.elements[0] > 0) {
        t->recv.mem.data[side_place(&t->recv, 0, 0)] ^= 1;
    }
    wrong = task_check(t);
    t->active = false;
    if (NULL != wrong) {
        fail(r, t->number, wrong);
    }
    if (MPI_REQUEST_NULL == t->persistent) {
        drop(r, t);
    }
}

/* The request of an idup is noted with its communicator as the task, part -1. */
static void request_done(void *program, void *task, int part, const MPI_Status *status)
{
    struct run *r = program;
    struct task *t = task;
    const char *wrong;

    if (part < 0) {
        comm_known(task);
        return;
    }
    wrong = STEP_MESSAGES == t->step->kind ? task_received(t, part, status) : NULL;
    if (NULL != wrong) {
        fail(r, t->number, wrong);
    }
    if (0 == --t->outstanding) {
        finish(r, t);
    }
}

static struct task *new_task(struct run *r, int k)
{
    const struct step *s = &r->p->steps[k];
    struct task *t = calloc(1, sizeof *t);

    if (NULL == t) {
        abort();
    }
    t->step = s;
    t->comm = &r->comms[s->comm];
    t->number = k;
    t->root = s->root % t->comm->size;
    t->mpi = t->comm->mpi;
    t->input = NO_BLOCK;
    t->checked = INT_MAX;
    t->persistent = MPI_REQUEST_NULL;
    t->rng = rng_key(r->rng, (uint64_t) k, 3);
    return t;
}

static void do_collective(struct run *r, int k)
{
    const struct step *s = &r->p->steps[k];
    struct task *t = new_task(r, k);
    MPI_Request request = MPI_REQUEST_NULL;

    task_collective(t);
    at(r, k, "in the call");
    if (PERSISTENT == s->form) {
        must(r, k, task_call(t, s->form, &t->persistent));
        r->tasks[k] = t;
        return;
    }
    task_fill(t);
    while (PLANT_HANG == run_plant && BLOCKING == s->form && 1 == test_rank) {
        quick_sleep(1000);
    }
    must(r, k, task_call(t, s->form, &request));
    r->calls++;
    if (BLOCKING == s->form) {
        finish(r, t);
    } else {
        t->outstanding = 1;
        pending_add(&r->pending, request, t, 0);
    }
}

static void do_messages(struct run *r, int k)
{
    struct task *t = new_task(r, k);
    MPI_Request *requests = calloc((size_t) t->comm->size + 1, sizeof(MPI_Request));
    const char *wrong;

    if (NULL == requests) {
        abort();
    }
    task_messages(t);
    task_fill(t);
    at(r, k, "in the call");
    if (BLOCKING == t->step->form) {
        wrong = task_exchange(t);
        if (NULL != wrong) {
            fail(r, k, wrong);
        }
        finish(r, t);
    } else {
        t->outstanding = task_post(t, requests);
        for (int part = t->outstanding - 1; part >= 0; part--) {
            pending_add(&r->pending, requests[part], t, part);
        }
    }
    free(requests);
}

/* Frees it, when the calls are done that its freeing must not come before. */
static void free_comm(struct run *r, struct comm *c)
{
    struct pending *p = &r->pending;

    for (int k = 0; k < p->n;) {
        const struct task *t = p->part[k] < 0 ? NULL : p->task[k];

        if (NULL != t && t->mpi == c->mpi && STEP_COLLECTIVE == t->step->kind &&
            !(r->p->beyond && c->size > 1 && step_is_of_eight(t->step))) {
            pending_finish(p, t);
            k = 0;
        } else {
            k++;
        }
    }
    must(r, r->step, MPI_Comm_free(&c->mpi));
}

/* In an order of this rank's own. */
static void do_start(struct run *r, int k)
{
    struct task *starting[MAX_STEPS];
    MPI_Request requests[MAX_STEPS];
    const bool together = 0 == rng_below(&r->rng, 3);
    int n = 0;

    for (int j = 0; j < k; j++) {
        if (0 != (r->p->steps[k].starts >> j & 1) && NULL != r->tasks[j]) {
            const int to = rng_below(&r->rng, n + 1);

            at(r, k, "waiting for what is started again");
            pending_finish(&r->pending, r->tasks[j]);
            starting[n++] = starting[to];
            starting[to] = r->tasks[j];
        }
    }
    for (int i = 0; i < n; i++) {
        starting[i]->round++;
        task_fill(starting[i]);
        requests[i] = starting[i]->persistent;
    }
    at(r, k, "starting");
    if (together && n > 0) {
        must(r, k, MPI_Startall(n, requests));
    }
    for (int i = 0; i < n; i++) {
        if (!together) {
            must(r, starting[i]->number, MPI_Start(&starting[i]->persistent));
        }
        starting[i]->active = true;
        starting[i]->outstanding = 1;
        pending_add(&r->pending, starting[i]->persistent, starting[i], 0);
    }
    r->calls += n;
}

static void release(struct run *r, int target)
{
    struct task *t = r->tasks[target];

    if (NULL == t) {
        return; /* this rank is not in its communicator */
    }
    pending_finish(&r->pending, t);
    must(r, target, MPI_Request_free(&t->persistent));
    drop(r, t);
}

static void do_idup(struct run *r, int k)
{
    struct comm *c = &r->comms[k + 1];

    at(r, k, "in the call");
    must(r, k, comm_start_idup(c, &r->comms[r->p->steps[k].comm]));
    pending_add(&r->pending, c->idup, c, -1);
}

static void do_step(struct run *r, int k)
{
    const struct step *s = &r->p->steps[k];
    struct comm *c = &r->comms[s->comm];

    if (r->p->left_out[k] || (STEP_START != s->kind && MPI_COMM_NULL == c->mpi)) {
        return;
    }
    switch (s->kind) {
    case STEP_COLLECTIVE: do_collective(r, k); break;
    case STEP_MESSAGES: do_messages(r, k); break;
    case STEP_START: do_start(r, k); break;
    case STEP_IDUP: do_idup(r, k); break;
    case STEP_COMM:
        at(r, k, "in the call");
        must(r, k, comm_make(&r->comms[k + 1], c, s, k));
        break;
    case STEP_IDUP_WAIT:
        at(r, k, "waiting for it");
        pending_finish(&r->pending, &r->comms[s->target + 1]);
        break;
    case STEP_FREE:
        at(r, k, "in the call");
        free_comm(r, c);
        break;
    case STEP_RELEASE:
        at(r, k, "waiting for it");
        release(r, s->target);
        break;
    default: break;
    }
}

/* ---- between steps ---- */

static void delay(struct run *r)
{
    double end;

    switch (rng_below(&r->rng, 16)) {
    case 0: quick_sleep(rng_below(&r->rng, 1500)); break;
    case 1:
    case 2:
        end = seconds_now() + 1e-6 * rng_below(&r->rng, 200);
        while (seconds_now() < end) {
        }
        break;
    default: break;
    }
}

/* Nothing that MPI does with negative tags is to be seen by the program. */
static void probe(struct run *r, int k)
{
    MPI_Status status;
    int there = 0;

    if (MPI_COMM_NULL != r->comms[0].mpi) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, r->comms[0].mpi, &there, &status);
    }
    if (there && (status.MPI_TAG < 0 || status.MPI_TAG >= MAX_STEPS)) {
        fail(r, k, "MPI_Iprobe finds a message that the program has not sent, before");
    }
}

static void between(struct run *r, int k)
{
    delay(r);
    for (int n = rng_below(&r->rng, 4); n > 1; n--) {
        at(r, k, "waiting for any before");
        pending_poke(&r->pending);
    }
    if (0 == rng_below(&r->rng, 10)) {
        probe(r, k);
    }
}

/* Whether two neighbours may be started in either order: both nonblocking, on different communicators. */
static bool swappable(const struct program *p, int k)
{
    const struct step *s = &p->steps[k];

    return k + 1 < p->n && STEP_COLLECTIVE == s->kind && NONBLOCKING == s->form && STEP_COLLECTIVE == s[1].kind &&
           NONBLOCKING == s[1].form && s->comm != s[1].comm && !p->left_out[k] && !p->left_out[k + 1];
}

/* ---- all of it ---- */

static void clean_up(struct run *r)
{
    uint64_t alike = rng_key(r->p->seed, (uint64_t) r->p->thread, 7); /* MPI_Comm_free is collective */
    const bool some = 0 == rng_below(&alike, 2);

    at(r, r->p->n, "freeing communicators");
    for (int c = 0; c < MAX_COMMS; c++) {
        if (0 != rng_below(&alike, 2) && some && MPI_COMM_NULL != r->comms[c].mpi) {
            free_comm(r, &r->comms[c]);
        }
    }
    at(r, r->p->n, "waiting for all");
    pending_finish(&r->pending, NULL);
    for (int k = 0; k < r->p->n; k++) {
        release(r, k);
    }
    at(r, r->p->n, "freeing communicators");
    for (int c = MAX_COMMS - 1; c >= 0; c--) {
        if (MPI_COMM_NULL != r->comms[c].mpi) {
            free_comm(r, &r->comms[c]);
        }
        free(r->comms[c].world);
    }
}

static void draw_own(struct run *r, int k)
{
    r->step = k;
    r->rng = rng_key(rng_key(r->p->seed, (uint64_t) r->p->thread, 5), (uint64_t) (test_rank * MAX_COMMS + k),
                     (uint64_t) r->repeat);
}

long program_run(const struct program *p, MPI_Comm world, int repeat, struct whereabouts *w)
{
    struct run *r = calloc(1, sizeof *r);
    long calls;

    if (NULL == r) {
        abort();
    }
    r->p = p;
    r->w = w;
    r->repeat = repeat;
    for (int c = 0; c < MAX_COMMS; c++) {
        r->comms[c].mpi = MPI_COMM_NULL;
    }
    r->comms[0].mpi = world;
    comm_known(&r->comms[0]);
    r->pending.program = r;
    r->pending.done = request_done;
    r->pending.failed = wait_failed;
    r->pending.rng = &r->rng;
    for (int k = 0; k < p->n; k++) {
        draw_own(r, k);
        between(r, k);
        if (swappable(p, k) && 0 == rng_below(&r->rng, 2)) {
            do_step(r, k + 1);
            do_step(r, k++);
        } else {
            do_step(r, k);
        }
    }
    draw_own(r, p->n);
    clean_up(r);
    calls = r->calls;
    free(r);
    return calls;
}
