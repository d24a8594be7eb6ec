/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the steps of a program on a rank, and checks the results of completed calls. */
#include "steps.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "quick.h"
#include "rng.h"
#include "tap.h"

enum plant run_plant = PLANT_NONE;

void step_fail(const struct run *r, int step, const char *what)
{
    char text[400];

    printf("FAILED seed %llu thread %d rank %d: %s: step %s\n", (unsigned long long) r->p->seed,
           r->p->thread, test_rank, what, step_text(r->p, step, text, sizeof text));
    fflush(stdout);
    quick_sleep(1000000); /* the line is on its way */
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
        step_fail(r, step, text);
    }
}

void step_wait_failed(void *program, int rc, const char *call)
{
    const struct run *r = program;

    printf("in %s:\n", call);
    must(r, r->step, rc);
}

void step_at(struct run *r, int step, const char *doing)
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
        step_fail(r, t->number, wrong);
    }
    if (MPI_REQUEST_NULL == t->persistent) {
        drop(r, t);
    }
}

/* The request of an idup is noted with its communicator as the task, part -1. */
void step_request_done(void *program, void *task, int part, const MPI_Status *status)
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
        step_fail(r, t->number, wrong);
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
    t->root = comm_root(t->comm, s);
    t->mpi = t->comm->mpi;
    t->input = NO_BLOCK;
    t->checked = INT_MAX;
    t->persistent = MPI_REQUEST_NULL;
    t->rng = rng_key(r->rng, (uint64_t) k, 3);
    return t;
}

/* Whether gpuring carries it out itself, and may be asked for what stock does wrong. */
static bool is_gpurings(const struct run *r, const struct task *t)
{
    return r->p->beyond && t->comm->size > 1 && step_is_of_eight(r->p, t->step);
}

/* The program's handles may be freed as soon as MPI has them. */
static void forget_types(const struct run *r, struct task *t)
{
    if (0 == rng_below(&t->rng, 3) && (PERSISTENT != t->step->form || is_gpurings(r, t))) {
        side_forget_types(&t->send);
        side_forget_types(&t->recv);
        task_forget_op(t);
    }
}

static void do_collective(struct run *r, int k)
{
    const struct step *s = &r->p->steps[k];
    struct task *t = new_task(r, k);
    MPI_Request request = MPI_REQUEST_NULL;

    task_collective(t);
    step_at(r, k, "in the call");
    if (PERSISTENT == s->form) {
        must(r, k, task_call(t, s->form, &t->persistent));
        forget_types(r, t);
        r->tasks[k] = t;
        return;
    }
    task_fill(t);
    while (PLANT_HANG == run_plant && BLOCKING == s->form && 1 == test_rank) {
        quick_sleep(1000);
    }
    must(r, k, task_call(t, s->form, &request));
    forget_types(r, t);
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
    step_at(r, k, "in the call");
    if (BLOCKING == t->step->form) {
        wrong = task_exchange(t);
        if (NULL != wrong) {
            step_fail(r, k, wrong);
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

void step_free_comm(struct run *r, struct comm *c)
{
    struct pending *p = &r->pending;

    for (int k = 0; k < p->n;) {
        const struct task *t = p->part[k] < 0 ? NULL : p->task[k];

        if (NULL != t && t->mpi == c->mpi && STEP_COLLECTIVE == t->step->kind &&
            !is_gpurings(r, t)) {
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

            step_at(r, k, "waiting for what is started again");
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
    step_at(r, k, "starting");
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

void step_release(struct run *r, int target)
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

    step_at(r, k, "in the call");
    must(r, k, comm_start_idup(c, &r->comms[r->p->steps[k].comm]));
    pending_add(&r->pending, c->idup, c, -1);
}

void step_do(struct run *r, int k)
{
    const struct step *s = &r->p->steps[k];
    struct comm *c = &r->comms[s->comm];

    if (r->p->left_out[k] || (STEP_START != s->kind && MPI_COMM_NULL == c->mpi)) {
        return;
    }
    switch (s->kind) {
    case STEP_COLLECTIVE:
        do_collective(r, k);
        break;
    case STEP_MESSAGES:
        do_messages(r, k);
        break;
    case STEP_START:
        do_start(r, k);
        break;
    case STEP_IDUP:
        do_idup(r, k);
        break;
    case STEP_COMM:
        step_at(r, k, "in the call");
        must(r, k, comm_make(&r->comms[k + 1], c, s, k));
        break;
    case STEP_IDUP_WAIT:
        step_at(r, k, "waiting for it");
        pending_finish(&r->pending, &r->comms[s->target + 1]);
        break;
    case STEP_FREE:
        step_at(r, k, "in the call");
        step_free_comm(r, c);
        break;
    case STEP_RELEASE:
        step_at(r, k, "waiting for it");
        step_release(r, s->target);
        break;
    default:
        break;
    }
}
